//! A prepared statement of a closure, and its rows.

use std::cell::{Cell, Ref, RefCell};
use std::ops::{Deref, DerefMut};

use rusqlite::CachedStatement;

use super::facts::{StatementFacts, TextFacts};
use super::failure::Failure;
use super::session::Session;
use crate::error::ClosureError;
use crate::handle::rows::{ResultRows, RowsError};
use crate::sync::Arc;

/// A statement of rusqlite, from its cache or not.
pub(super) enum Prepared<'s> {
    Cached(CachedStatement<'s>),
    Own(rusqlite::Statement<'s>),
}

impl<'s> Deref for Prepared<'s> {
    type Target = rusqlite::Statement<'s>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Cached(statement) => statement,
            Self::Own(statement) => statement,
        }
    }
}

impl DerefMut for Prepared<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Cached(statement) => statement,
            Self::Own(statement) => statement,
        }
    }
}

/// Gives a statement its parameters.
pub(super) trait Bind: FnOnce(&mut rusqlite::Statement<'_>) -> rusqlite::Result<()> {}

impl<F: FnOnce(&mut rusqlite::Statement<'_>) -> rusqlite::Result<()>> Bind for F {}

fn bind<P: rusqlite::Params>(statement: &mut rusqlite::Statement<'_>, params: P) -> rusqlite::Result<()> {
    // Nothing steps yet: the rows only bind, and what is bound outlives their drop.
    statement.query(params).map(drop)
}

/// A statement that a closure prepared, to be run many times with different parameters.
///
/// Parameters are anything that implements [`rusqlite::Params`]. SQLite stores NULL for a NaN. Every
/// method fails with [`Stopped`](super::Stopped) once the store has told the closure to end.
pub struct Statement<'s> {
    session: &'s Session<'s>,
    prepared: Prepared<'s>,
    text: Arc<str>,
    handle: usize,
    facts: RefCell<StatementFacts>,
    /// Rows of it were made and not dropped: it has to be reset before it is used again.
    unfinished: Cell<bool>,
}

impl<'s> Statement<'s> {
    pub(super) fn new(
        session: &'s Session<'s>,
        prepared: Prepared<'s>,
        text: Arc<str>,
        facts: StatementFacts,
    ) -> Self {
        let handle = session.state.take_handle(&text);
        Self { session, prepared, text, handle, facts: RefCell::new(facts), unfinished: Cell::new(false) }
    }

    /// Runs the statement to its end and returns the number of rows that it inserted, updated or deleted
    /// itself. Rows that it returns are dropped.
    pub fn execute<P: rusqlite::Params>(&mut self, params: P) -> Result<u64, ClosureError> {
        self.run(|statement| bind(statement, params)).map_err(Failure::into_closure)
    }

    /// Starts the statement and returns its rows, to be taken one after the other.
    pub fn query<P: rusqlite::Params>(&mut self, params: P) -> Result<Rows<'_>, ClosureError> {
        self.start(|statement| bind(statement, params)).map_err(Failure::into_closure)
    }

    /// The first row of the statement, through `f`.
    ///
    /// Fails with [`rusqlite::Error::QueryReturnedNoRows`] if there is none; further rows are dropped.
    pub fn query_row<T, P, F>(&mut self, params: P, f: F) -> Result<T, ClosureError>
    where
        P: rusqlite::Params,
        F: FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        self.query_optional(params, f)?.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }

    /// The first row of the statement, through `f`, or `None` if there is none; further rows are dropped.
    pub fn query_optional<T, P, F>(&mut self, params: P, f: F) -> Result<Option<T>, ClosureError>
    where
        P: rusqlite::Params,
        F: FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        let mut rows = self.query(params)?;
        Ok(rows.next()?.map(f).transpose()?)
    }

    /// All rows of the statement, each through `f`.
    pub fn query_map<T, P, F>(&mut self, params: P, mut f: F) -> Result<Vec<T>, ClosureError>
    where
        P: rusqlite::Params,
        F: FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        let mut rows = self.query(params)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(f(row)?);
        }
        Ok(all)
    }

    /// How many parameters the statement takes.
    pub fn parameter_count(&self) -> usize {
        self.prepared.parameter_count()
    }

    /// The names of the columns that the statement returns; empty if it returns no rows.
    pub fn column_names(&self) -> Vec<&str> {
        self.prepared.column_names().collect()
    }

    pub(super) fn facts(&self) -> Ref<'_, StatementFacts> {
        self.facts.borrow()
    }

    pub(super) fn run(&mut self, bind: impl Bind) -> Result<u64, Failure> {
        let before = self.session.connection.total_changes();
        let mut rows = self.start(bind)?;
        while rows.advance()?.is_some() {}
        drop(rows);
        Ok(self.rows_changed_since(before))
    }

    pub(super) fn run_for_rows(
        &mut self,
        bind: impl Bind,
        limit: usize,
    ) -> Result<(u64, ResultRows), Failure> {
        let before = self.session.connection.total_changes();
        let mut rows = self.start(bind)?;
        let mut taken: Option<ResultRows> = None;
        while let Some(row) = rows.advance()? {
            let taken = taken.get_or_insert_with(|| ResultRows::new(row.as_ref().column_names()));
            taken.push(row, limit).map_err(|error| match error {
                RowsError::Sqlite(error) => Failure::Sqlite(error),
                RowsError::TooLarge => Failure::ResultTooLarge { limit },
            })?;
        }
        drop(rows);
        let taken = taken.unwrap_or_else(|| ResultRows::new(self.prepared.column_names()));
        Ok((self.rows_changed_since(before), taken))
    }

    fn start(&mut self, bind: impl Bind) -> Result<Rows<'_>, Failure> {
        self.reset_if_unfinished();
        self.session.check()?;
        self.session.clear_notes();
        self.session.starts(&self.facts.borrow());
        let run = Run {
            session: self.session,
            text: &self.text,
            facts: &self.facts,
            unfinished: &self.unfinished,
            read_only: self.prepared.readonly(),
            returns_rows: self.prepared.column_count() > 0,
        };
        bind(&mut self.prepared).map_err(Failure::Sqlite)?;
        run.unfinished.set(true);
        Ok(Rows { rows: self.prepared.raw_query(), run })
    }

    /// `sqlite3_changes()` keeps the count of the last statement that changed rows, so it says nothing about
    /// one that did not.
    fn rows_changed_since(&self, total: u64) -> u64 {
        let connection = self.session.connection;
        if connection.total_changes() == total || self.facts.borrow().changes_schema {
            0
        } else {
            connection.changes()
        }
    }

    fn reset_if_unfinished(&mut self) {
        if self.unfinished.replace(false) {
            // Rows reset their statement when they are dropped.
            drop(self.prepared.raw_query());
        }
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        self.reset_if_unfinished();
        self.session.state.give_back_handle(self.handle);
    }
}

/// The rows of a running [`Statement`]. Dropping them ends it.
pub struct Rows<'a> {
    rows: rusqlite::Rows<'a>,
    run: Run<'a>,
}

/// What a run of a statement has to report while it steps.
struct Run<'a> {
    session: &'a Session<'a>,
    text: &'a Arc<str>,
    facts: &'a RefCell<StatementFacts>,
    unfinished: &'a Cell<bool>,
    read_only: bool,
    returns_rows: bool,
}

impl<'a> Rows<'a> {
    /// The next row, or `None` after the last.
    #[expect(clippy::should_implement_trait, reason = "a row borrows the rows")]
    pub fn next(&mut self) -> Result<Option<&rusqlite::Row<'a>>, ClosureError> {
        self.advance().map_err(Failure::into_closure)
    }

    fn advance(&mut self) -> Result<Option<&rusqlite::Row<'a>>, Failure> {
        self.run.session.check_row()?;
        match self.run.session.step(|| self.rows.next()) {
            Ok(row) => {
                self.run.stepped()?;
                Ok(row)
            }
            Err(error) => Err(self.run.session.failure(error)),
        }
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        // The rows' own drop, right after this, resets the statement.
        self.run.unfinished.set(false);
    }
}

impl Run<'_> {
    fn stepped(&self) -> Result<(), Failure> {
        let text = || TextFacts::of(self.text);
        let now = self.session.stepped(text, &self.facts.borrow(), self.read_only, self.returns_rows)?;
        if let Some(now) = now {
            self.facts.replace(now);
        }
        Ok(())
    }
}
