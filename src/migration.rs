//! A step from one version of a program's schema to the next.

use std::fmt;

use rusqlite::Transaction;

use crate::error::ClosureError;

/// One step from one version of a schema to the next: SQL text, or a function.
///
/// A store is opened with a list of them. `PRAGMA user_version` counts those that were applied, so the
/// list may only grow at its end. Each runs in a transaction of its own, durably, with foreign keys off
/// (so that a table can be rebuilt without cascading its children away) and
/// `PRAGMA foreign_key_check` before the COMMIT. It must not begin or end a transaction itself. Nothing is written
/// when the file is up to date.
///
/// A migration that fails is rolled back and opening fails with
/// [`OpenError::Migration`](crate::OpenError::Migration); those before it stay applied, and the next opening goes on
/// with the one that failed.
///
/// A database that was in use before may have a `user_version` already: so many migrations of the list count as
/// applied.
///
/// ```
/// use walwright::{Migration, Store};
///
/// const MIGRATIONS: &[Migration] = &[
///     Migration::sql("CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
///                     CREATE INDEX note_body ON note (body);"),
///     Migration::run(|tx| {
///         tx.execute("UPDATE note SET body = trim(body)", [])?;
///         Ok(())
///     }),
/// ];
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::temporary().migrations(MIGRATIONS).open().wait()?;
/// assert_eq!(store.settings().user_version, 2);
/// assert_eq!(store.settings().migrations_applied, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Migration {
    pub(crate) step: Step,
}

/// What a migration does.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Sql(&'static str),
    Run(MigrationFn),
}

/// The function of a migration that computes.
pub(crate) type MigrationFn = fn(&Transaction<'_>) -> Result<(), ClosureError>;

impl Migration {
    /// A migration made of SQL text, which may hold many statements.
    pub const fn sql(text: &'static str) -> Self {
        Self { step: Step::Sql(text) }
    }

    /// A migration that computes.
    ///
    /// What else the function changes on the connection (settings, temporary objects, attached
    /// databases) does not outlive the migrations.
    pub const fn run(function: fn(&Transaction<'_>) -> Result<(), ClosureError>) -> Self {
        Self { step: Step::Run(function) }
    }
}

impl fmt::Debug for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Step::Sql(text) => f.debug_tuple("Migration::sql").field(&text).finish(),
            Step::Run(_) => f.write_str("Migration::run(..)"),
        }
    }
}
