//! A plain SQLite in memory that carries out the same commands one after the other.

use super::command::{Command, Shape};
use super::content;
use super::schema::Step;
use rusqlite::{Connection, params_from_iter};

/// What was there before the store was opened for the first time.
pub type Seed = fn(&Connection) -> rusqlite::Result<()>;

/// The reference, and how it came to be what it is.
pub struct Reference {
    connection: Connection,
    seed: Seed,
    deeds: Vec<Deed>,
    version: usize,
}

#[derive(Clone)]
enum Deed {
    Migrate(Step),
    Command(Command),
}

impl Reference {
    pub fn new(seed: Seed) -> Self {
        let connection = Connection::open_in_memory().expect("a database in memory");
        connection.pragma_update(None, "foreign_keys", true).expect("a setting");
        seed(&connection).expect("the content of the beginning");
        Self { connection, seed, deeds: Vec::new(), version: 0 }
    }

    /// Another one in the same state.
    pub fn fork(&self) -> Self {
        let mut fork = Self::new(self.seed);
        self.deeds.iter().for_each(|deed| fork.carry_out(deed.clone()));
        fork
    }

    /// Applies those of the migrations that it does not have yet.
    pub fn migrate(&mut self, steps: &[Step]) {
        steps.iter().skip(self.version).for_each(|step| self.carry_out(Deed::Migrate(*step)));
    }

    pub fn apply(&mut self, command: &Command) {
        self.carry_out(Deed::Command(command.clone()));
    }

    /// Undoes the last commands.
    pub fn take_back(&mut self, commands: usize) {
        let kept = self.deeds.len() - commands;
        let mut shorter = Self::new(self.seed);
        self.deeds[..kept].iter().for_each(|deed| shorter.carry_out(deed.clone()));
        *self = shorter;
    }

    /// The content that a store with these migrations would show.
    pub fn digest_with(&self, steps: &[Step]) -> u64 {
        if self.version < steps.len() {
            let mut fork = self.fork();
            fork.migrate(steps);
            return fork.digest_with(steps);
        }
        content::digest(&self.connection).expect("the reference is sound")
    }

    fn carry_out(&mut self, deed: Deed) {
        match &deed {
            Deed::Migrate(step) => {
                step.apply(&mut self.connection).expect("a migration that works");
                self.version += 1;
            }
            Deed::Command(command) => self.carry_out_command(command),
        }
        self.deeds.push(deed);
    }

    /// All or nothing, as the engine promises.
    fn carry_out_command(&self, command: &Command) {
        let batch = |sql| self.connection.execute_batch(sql).expect("a transaction of its own");
        batch("BEGIN");
        let run = || {
            command.calls.iter().try_for_each(|call| {
                let run = self.connection.execute(call.sql, params_from_iter(&call.values));
                run.map(drop)
            })
        };
        let keep = run().is_ok() && command.shape != Shape::FailingClosure;
        batch(if keep { "COMMIT" } else { "ROLLBACK" });
    }
}
