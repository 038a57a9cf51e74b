//! What can make coalescing visible.

use walwright_test_support::Rng;

macro_rules! hazards {
    ($($hazard:ident)+) => {
        /// Something in a schema or a program that can make coalescing visible.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Hazard {
            $($hazard),+
        }

        const ALL: &[(Hazard, &str)] = &[$((Hazard::$hazard, stringify!($hazard))),+];
    };
}

hazards! {
    ApplicationFunction AutoIncrement ChangesFunction Check CheckOfRow CheckOfRevision ColumnCase ColumnCollation
    CompoundKey Conflict DefaultExpression DefaultLiteral ExpressionIndex ForeignKeyOfOthers ForeignKeyOfUnique
    ForeignKeySelf ForeignKeyToParent Generated GeneratedNotNull GeneratedUnique HurtingValues KeyKind KeyByUnique
    NotNull PartialIndex PlainIndex RevisionDeclared RevisionPlanted RevisionSequence SameValues SecondHandle
    Statements Strict Trigger TriggerElsewhere Unique UniqueExpression UniqueNoCase UniquePartial UniqueWithRevision
    WithoutRowid
}

impl Hazard {
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(hazard, _)| *hazard == self).map_or("", |(_, name)| name)
    }

    /// A few of them, mostly one or two: more would stop each other from being met.
    pub fn some(rng: &mut Rng) -> Vec<Self> {
        let count = *rng.pick(&[0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3]);
        let mut hazards: Vec<Self> = (0..count).map(|_| rng.pick(ALL).0).collect();
        hazards.dedup();
        hazards
    }
}
