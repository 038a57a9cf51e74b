//! Draws random programs: a schema with a few hazards, rows, and commands that are likely to meet them.

mod calls;
mod commands;
mod hazard;
mod others;
mod table;
mod values;

use walwright::Value;
use walwright_test_support::Rng;

use crate::program::Program;
use hazard::Hazard;

/// A program while it is drawn.
struct Draw {
    rng: Rng,
    hazards: Vec<Hazard>,
    key: KeyKind,
    is_compound: bool,
    is_strict: bool,
    /// The values that keys are made of.
    keys: Vec<Value>,
    program: Program,
}

/// How the key of the table `t` is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Text,
    Integer,
    AutoIncrement,
    /// Not the rowid, in spite of its type.
    Int,
    Blob,
    /// Without a type.
    None,
    Real,
    Numeric,
    Any,
    NoCase,
    RTrim,
    /// A collation of the application's.
    First,
    /// UNIQUE and no primary key.
    Unique,
}

/// Programs that share a schema: making a new one costs more than all the rest.
pub const PROGRAMS_OF_SCHEMA: u64 = 8;

impl Program {
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed / PROGRAMS_OF_SCHEMA);
        let hazards = Hazard::some(&mut rng);
        let mut draw = Draw {
            rng,
            hazards,
            key: KeyKind::Text,
            is_compound: false,
            is_strict: false,
            keys: Vec::new(),
            program: Self::default(),
        };
        draw.program.hazards = draw.hazards.iter().map(|hazard| hazard.name()).collect();
        draw.key();
        draw.table();
        draw.other_tables();
        draw.indexes();
        draw.triggers();
        draw.handles();
        draw.rng = Rng::new(!seed);
        draw.program.is_warm = !draw.rng.once_in(20);
        draw.program.is_run_one_by_one = draw.rng.once_in(10);
        draw.program.is_checked = draw.rng.once_in(4);
        draw.rows();
        draw.commands();
        draw.program
    }
}

impl Draw {
    fn has(&self, hazard: Hazard) -> bool {
        self.hazards.contains(&hazard)
    }

    fn has_any(&self, hazards: &[Hazard]) -> bool {
        hazards.iter().any(|hazard| self.has(*hazard))
    }

    /// True with this probability, in percent.
    fn chance(&mut self, percent: usize) -> bool {
        self.rng.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        self.rng.pick(choices).clone()
    }

    /// One of the choices, each as often as its weight says.
    fn weighted<T: Clone>(&mut self, choices: &[(T, usize)]) -> T {
        let total = choices.iter().map(|(_, weight)| weight).sum();
        let mut at = self.rng.below(total);
        for (choice, weight) in choices {
            if at < *weight {
                return choice.clone();
            }
            at -= weight;
        }
        unreachable!("the number is below the sum of the weights")
    }
}
