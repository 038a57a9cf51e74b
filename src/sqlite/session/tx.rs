//! What a write closure gets.

use super::failure::Failure;
use super::session::Session;
use super::statement::Statement;
use crate::error::ClosureError;

/// The transaction of a write closure: runs SQL inside the group that the store will commit.
///
/// Parameters are anything that implements [`rusqlite::Params`]; SQLite stores NULL for a NaN. A closure
/// cannot begin, commit or roll back, attach, create temporary objects or change settings: those fail with
/// [`NotAllowed`](super::NotAllowed). Every method fails with [`Stopped`](super::Stopped) once the store
/// has told the closure to end, and with [`TransactionEnded`](super::TransactionEnded) after an error that
/// made SQLite roll back everything.
#[derive(Clone, Copy)]
pub struct Tx<'s> {
    session: &'s Session<'s>,
}

impl<'s> Tx<'s> {
    pub(crate) fn new(session: &'s Session<'s>) -> Self {
        Self { session }
    }

    /// Runs one statement to its end and returns the number of rows that it inserted, updated or deleted
    /// itself. Rows that it returns are dropped. More than one statement in `sql` is an error, and none of
    /// them is run.
    pub fn execute<P: rusqlite::Params>(&self, sql: &str, params: P) -> Result<u64, ClosureError> {
        self.prepare(sql)?.execute(params)
    }

    /// The first row of a query, through `f`.
    ///
    /// Fails with [`rusqlite::Error::QueryReturnedNoRows`] if there is none; further rows are dropped.
    pub fn query_row<T, P, F>(&self, sql: &str, params: P, f: F) -> Result<T, ClosureError>
    where
        P: rusqlite::Params,
        F: FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        self.prepare(sql)?.query_row(params, f)
    }

    /// The first row of a query, through `f`, or `None` if there is none; further rows are dropped.
    pub fn query_optional<T, P, F>(&self, sql: &str, params: P, f: F) -> Result<Option<T>, ClosureError>
    where
        P: rusqlite::Params,
        F: FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        self.prepare(sql)?.query_optional(params, f)
    }

    /// All rows of a query, each through `f`.
    pub fn query<T, P, F>(&self, sql: &str, params: P, f: F) -> Result<Vec<T>, ClosureError>
    where
        P: rusqlite::Params,
        F: FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        self.prepare(sql)?.query_map(params, f)
    }

    /// Runs the statements in `sql` one after the other, without parameters, and drops their rows. Stops at
    /// the first that fails; those before it stay done unless the closure returns an error.
    pub fn execute_batch(&self, sql: &str) -> Result<(), ClosureError> {
        self.session.execute_batch(sql).map_err(Failure::into_closure)
    }

    /// Prepares one statement, to be run many times.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'s>, ClosureError> {
        self.session.prepare(sql).map_err(Failure::into_closure)
    }

    /// Runs SQL that may also change the engine's own tables. All else is as in a user's closure: what it deletes or
    /// changes of the schema is noticed.
    pub(crate) fn with_engine_tables<T>(&self, body: impl FnOnce() -> T) -> T {
        /// The next SQL is a user's again, also after a panic.
        struct Back<'a>(&'a Session<'a>);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.allow_engine_tables(false);
            }
        }
        let _back = Back(self.session);
        self.session.allow_engine_tables(true);
        body()
    }

    /// The rowid of the row that was inserted last, also by an earlier command of the group.
    pub fn last_insert_rowid(&self) -> i64 {
        self.session.connection.last_insert_rowid()
    }
}
