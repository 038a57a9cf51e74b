//! What was asked of a store, what it answered, and whether a file agrees.

use std::collections::{BTreeMap, BTreeSet};

use walwright::{AckLevel, Outcome};

/// The content of the table `item`, by id.
pub type Rows = BTreeMap<i64, String>;

/// What one command does to a row that no other command touches.
#[derive(Clone, Debug)]
pub struct Change {
    pub id: i64,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// One command: what it changes if it is carried out, and what became of it.
#[derive(Clone, Debug)]
pub struct Deed {
    pub what: &'static str,
    pub changes: Vec<Change>,
    pub level: AckLevel,
    /// Its changes are carried out in their order, some together: the first of them may be there without the rest.
    pub in_pieces: bool,
    pub answer: Answer,
}

/// What the store said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done { sequence: u64 },
    Failed(Outcome),
}

/// Where a file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is the one that the store wrote to.
    Lived,
    /// It is what a power cut left of it: what was promised at `Committed` may be gone.
    PowerCut,
}

/// Every command sent to one file, in order, on top of the rows that were there before.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub rows: Rows,
    deeds: Vec<Deed>,
    last_sequence: u64,
}

impl Deed {
    /// Whether it must not be acknowledged before it is durable.
    fn is_durable(&self) -> bool {
        let deletes = self.changes.iter().any(|change| change.before.is_some() && change.after.is_none());
        self.level == AckLevel::Durable || deletes
    }
}

impl Ledger {
    pub fn new(rows: Rows) -> Self {
        Self { rows, ..Self::default() }
    }

    /// Enters a command with its answer.
    pub fn enter(&mut self, deed: Deed) -> Result<(), String> {
        if let Answer::Done { sequence } = deed.answer {
            let last = std::mem::replace(&mut self.last_sequence, sequence);
            if sequence <= last {
                return Err(format!("{}: sequence {sequence} after {last}", deed.what));
            }
        }
        self.deeds.push(deed);
        Ok(())
    }

    /// Whether the answer to any command left it open what is on disk.
    pub fn has_unknown(&self) -> bool {
        self.deeds.iter().any(|deed| deed.answer == Answer::Failed(Outcome::Unknown))
    }

    /// How many commands have failed.
    pub fn failures(&self) -> usize {
        self.deeds.iter().filter(|deed| !is_done(deed)).count()
    }

    /// Compares all answers with what is found.
    pub fn compare(&self, found: &Rows, origin: Origin) -> Result<(), String> {
        let covered = self.deeds.iter().rposition(|deed| deed.is_durable() && is_done(deed));
        for (at, deed) in self.deeds.iter().enumerate() {
            let all = deed.changes.len();
            let may_be_lost = origin == Origin::PowerCut && covered.is_none_or(|covered| at > covered);
            let promised = match deed.answer {
                Answer::Done { .. } => all..=all,
                Answer::Failed(Outcome::NotStarted | Outcome::NotApplied) => 0..=0,
                Answer::Failed(Outcome::Partial { rows }) => rows as usize..=rows as usize,
                Answer::Failed(_) => 0..=all,
            };
            let possible = if may_be_lost { 0..=*promised.end() } else { promised };
            let is_whole = |done: &usize| deed.in_pieces || *done == 0 || *done == all;
            let agrees = possible.filter(is_whole).any(|done| is_like(deed, found, done));
            if !agrees {
                let rows: Vec<_> =
                    deed.changes.iter().map(|change| (change.id, short(found, change.id))).collect();
                return Err(format!(
                    "{origin:?}: {} was answered {:?}, found {rows:?}",
                    deed.what, deed.answer
                ));
            }
        }
        self.nothing_else_changed(found)
    }

    fn nothing_else_changed(&self, found: &Rows) -> Result<(), String> {
        let touched: BTreeSet<i64> =
            self.deeds.iter().flat_map(|deed| deed.changes.iter().map(|change| change.id)).collect();
        let others = |rows: &Rows| -> Rows {
            rows.iter()
                .filter(|(id, _)| !touched.contains(id))
                .map(|(id, text)| (*id, text.clone()))
                .collect()
        };
        if others(found) == others(&self.rows) {
            return Ok(());
        }
        let ids = |rows: Rows| rows.into_keys().collect::<Vec<_>>();
        Err(format!("untouched rows: {:?}, found {:?}", ids(others(&self.rows)), ids(others(found))))
    }

    /// Goes on from what was found, as a program does that has opened its store again.
    pub fn settle(&mut self, found: Rows) {
        self.rows = found;
        self.deeds.clear();
    }
}

fn is_done(deed: &Deed) -> bool {
    matches!(deed.answer, Answer::Done { .. })
}

/// Whether the first `done` of its changes are there, and the others are not.
fn is_like(deed: &Deed, found: &Rows, done: usize) -> bool {
    let mut wanted = deed.changes.iter().enumerate();
    wanted.all(|(at, change)| {
        let wanted = if at < done { &change.after } else { &change.before };
        found.get(&change.id) == wanted.as_ref()
    })
}

/// The beginning of a row's text.
fn short(rows: &Rows, id: i64) -> Option<String> {
    rows.get(&id).map(|text| text.chars().take(12).collect())
}

#[test]
fn a_wrong_answer_is_seen() {
    let deed = |what, before: Option<&str>, after: Option<&str>, level, answer| Deed {
        what,
        changes: vec![Change { id: 1, before: before.map(str::to_owned), after: after.map(str::to_owned) }],
        level,
        in_pieces: false,
        answer,
    };
    let there = Rows::from([(1, "text".to_owned())]);
    let check = |deed: Deed, rows: &Rows, found: &Rows, origin| {
        let mut ledger = Ledger::new(rows.clone());
        ledger.enter(deed).and_then(|()| ledger.compare(found, origin)).is_ok()
    };
    let done = Answer::Done { sequence: 1 };
    let none = Rows::new();
    let insert = |level, answer| deed("insert", None, Some("text"), level, answer);
    let delete = |answer| deed("delete", Some("text"), None, AckLevel::Committed, answer);
    for (level, origin, may_be_lost) in [
        (AckLevel::Durable, Origin::Lived, false),
        (AckLevel::Durable, Origin::PowerCut, false),
        (AckLevel::Committed, Origin::Lived, false),
        (AckLevel::Committed, Origin::PowerCut, true),
    ] {
        assert!(check(insert(level, done), &none, &there, origin));
        assert_eq!(check(insert(level, done), &none, &none, origin), may_be_lost);
        assert!(!check(insert(level, Answer::Failed(Outcome::NotApplied)), &none, &there, origin));
        assert!(!check(insert(level, Answer::Failed(Outcome::NotStarted)), &none, &there, origin));
        assert!(check(insert(level, Answer::Failed(Outcome::Unknown)), &none, &there, origin));
        assert!(check(insert(level, Answer::Failed(Outcome::Unknown)), &none, &none, origin));
        assert!(!check(delete(done), &there, &there, origin), "a delete is durable at every level");
        let halves = |in_pieces, rows| {
            let gone = |id| Change { id, before: Some("text".to_owned()), after: None };
            let answer = Answer::Failed(Outcome::Partial { rows });
            Deed { what: "halves", changes: vec![gone(1), gone(2)], level, in_pieces, answer }
        };
        let both = Rows::from([(1, "text".to_owned()), (2, "text".to_owned())]);
        let second = Rows::from([(2, "text".to_owned())]);
        assert!(check(halves(true, 1), &both, &second, origin));
        assert!(!check(halves(true, 1), &both, &there, origin), "the other half");
        assert!(!check(halves(true, 1), &both, &none, origin), "more than was said");
        assert!(!check(halves(false, 1), &both, &second, origin), "half of what is one");
        assert!(!check(deed("other", None, None, level, done), &none, &there, origin), "an unexplained row");
    }
}
