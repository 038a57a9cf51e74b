//! What a read closure gets.

use super::failure::Failure;
use super::session::Session;
use super::statement::Statement;
use crate::error::ClosureError;

/// The snapshot of a read closure: every query sees the same state of the database, fixed at the first of them.
///
/// Parameters are anything that implements [`rusqlite::Params`]. The connection cannot write. A closure
/// cannot begin or end transactions, attach, create temporary objects or change settings: those fail with
/// [`NotAllowed`](super::NotAllowed). Every method fails with [`Stopped`](super::Stopped) once the store
/// has told the closure to end.
#[derive(Clone, Copy)]
pub struct Db<'s> {
    session: &'s Session<'s>,
}

impl<'s> Db<'s> {
    pub(crate) fn new(session: &'s Session<'s>) -> Self {
        Self { session }
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

    /// Prepares one statement, to be run many times.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'s>, ClosureError> {
        self.session.prepare(sql).map_err(Failure::into_closure)
    }

    /// Runs `body`. SQLite interrupts a statement in it that goes beyond so many steps of its virtual machine, all
    /// that ran in `body` counted together.
    pub(crate) fn within<T>(&self, steps: u64, body: impl FnOnce() -> T) -> T {
        let stop = self.session.state().stop_check();
        stop.allow(Some(steps));
        let result = body();
        stop.allow(None);
        result
    }
}
