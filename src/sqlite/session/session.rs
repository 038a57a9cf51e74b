//! One user's command on a connection: its statements, and what is left when it ends.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{CStr, CString};
use std::ptr;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, ffi};

use super::facts::{SchemaFacts, StatementFacts, TextFacts};
use super::failure::{Failure, NotAllowed, SessionError};
use super::state::{LONGEST_CACHED_TEXT, SessionState};
use super::statement::{Prepared, Statement};
use super::writes::Writes;
use crate::error::SqliteError;
use crate::handle::params::Params;
use crate::handle::rows::ResultRows;
use crate::row::ValueRef;
use crate::sqlite::engine_statement::{Binder, EngineRow, EngineStatement};
use crate::sync::Arc;

/// Runs users' SQL on a connection, inside a transaction that the engine began.
///
/// While it lives, the authorizer takes all SQL on the connection for users': the engine's own BEGIN,
/// COMMIT and savepoints come before and after. Statements, [`Tx`](super::Tx) and [`Db`](super::Db)
/// borrow it and cannot outlive it.
pub struct Session<'c> {
    pub(super) connection: &'c Connection,
    pub(super) state: &'c SessionState,
    deletes: Cell<bool>,
    /// What the statements that ran may have written, while somebody watches.
    writes: RefCell<Vec<Option<Arc<Writes>>>>,
    /// A statement failed, and it is not known whether it left something.
    may_have_left: Cell<bool>,
}

/// What a statement command did.
#[derive(Debug)]
pub struct StatementOutcome {
    /// Rows that it inserted, updated or deleted itself; not those that triggers or foreign keys changed,
    /// as `sqlite3_changes()` counts.
    pub rows_changed: u64,
    /// Its rows, if they were wanted.
    pub rows: Option<ResultRows>,
}

/// What a closure left behind, all of it harmless now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    /// Statements that it forgot without dropping them. Each was reset.
    pub statements: usize,
    /// How many of them could be finalized. The rest hold memory until the connection is closed.
    pub finalized: usize,
}

impl<'c> Session<'c> {
    /// Opens a session. The engine must have begun a transaction.
    pub fn new(connection: &'c Connection, state: &'c SessionState) -> Self {
        state.settle_schema(connection);
        state.guard.set_users(true);
        Self {
            connection,
            state,
            deletes: Cell::new(false),
            writes: RefCell::default(),
            may_have_left: Cell::new(false),
        }
    }

    /// Whether anything that ran in this session may have deleted rows.
    pub fn deletes(&self) -> bool {
        self.deletes.get()
    }

    /// Runs one statement to its end.
    ///
    /// `rows_up_to` asks for its rows and bounds the memory that they take, in bytes; without it they are
    /// dropped.
    pub fn run_statement(
        &self,
        sql: &str,
        params: &Params,
        rows_up_to: Option<usize>,
    ) -> Result<StatementOutcome, SessionError> {
        self.run_statement_after(sql, params, rows_up_to, |_| Ok(()))
    }

    /// The same, but between preparing and running the statement `first` hears what it may do. There the
    /// engine's own statements are allowed: that is the place for a savepoint.
    pub fn run_statement_after(
        &self,
        sql: &str,
        params: &Params,
        rows_up_to: Option<usize>,
        first: impl FnOnce(&StatementFacts) -> Result<(), SqliteError>,
    ) -> Result<StatementOutcome, SessionError> {
        let mut statement = self.prepare(sql).map_err(Failure::into_session)?;
        self.as_engine(|| first(&statement.facts())).map_err(SessionError::Sqlite)?;
        self.run(&mut statement, params, rows_up_to).map_err(Failure::into_session)
    }

    /// Runs a statement that is prepared already, with parameters by position, as many as it takes. Its rows are
    /// dropped. The transaction is there: whatever ended it has failed, and the command with it.
    #[inline]
    pub fn run_prepared<'v>(
        &self,
        statement: &EngineStatement,
        facts: &StatementFacts,
        values: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> Result<StatementOutcome, SessionError> {
        // Many short ones in a batch are stopped as many rows are.
        self.check_row().map_err(Failure::into_session)?;
        // SQLite's count is that of the last statement that counts, which every INSERT does.
        let before = (!facts.inserts_one_row).then(|| self.connection.total_changes());
        self.run_for_rows(statement, facts, values, |_| {})?;
        let has_changed = before.is_none_or(|before| self.connection.total_changes() != before);
        let rows_changed = if has_changed { self.connection.changes() } else { 0 };
        Ok(StatementOutcome { rows_changed, rows: None })
    }

    /// Whether a statement of this text has run, and nothing has changed since that counts.
    pub fn has_run(&self, sql: &str) -> bool {
        self.state.recall(sql.trim()).is_some()
    }

    fn run(
        &self,
        statement: &mut Statement<'_>,
        params: &Params,
        rows_up_to: Option<usize>,
    ) -> Result<StatementOutcome, Failure> {
        let (rows_changed, rows) = match rows_up_to {
            None => (statement.run(|statement| params.bind(statement))?, None),
            Some(limit) => {
                let (rows_changed, rows) =
                    statement.run_for_rows(|statement| params.bind(statement), limit)?;
                (rows_changed, Some(rows))
            }
        };
        Ok(StatementOutcome { rows_changed, rows })
    }

    /// Prepares a statement of the engine's over tables of users, with what it may do. Like users' SQL it is
    /// asked about, since their triggers run with it.
    pub fn prepare_for_rows(&self, sql: &str) -> Result<(EngineStatement, StatementFacts), SessionError> {
        self.clear_notes();
        let statement = EngineStatement::prepare_text(self.connection, sql)
            .map_err(|error| self.failure_of_rows(error))?;
        let facts = self
            .facts_of_notes(|| TextFacts::of(sql), statement.is_read_only(), statement.returns_rows())
            .map_err(Failure::into_session)?;
        Ok((statement, facts))
    }

    /// Runs such a statement. It may turn out to delete when SQLite prepares it anew as it starts.
    pub fn run_for_rows<'v>(
        &self,
        statement: &EngineStatement,
        facts: &StatementFacts,
        values: impl IntoIterator<Item = ValueRef<'v>>,
        on_row: impl FnMut(&EngineRow<'_>),
    ) -> Result<(), SessionError> {
        self.run_bound(
            statement,
            facts,
            |binder| values.into_iter().for_each(|value| binder.value(value)),
            on_row,
        )
    }

    /// The same with the values that `bind` binds.
    pub fn run_bound<'v>(
        &self,
        statement: &EngineStatement,
        facts: &StatementFacts,
        bind: impl FnOnce(&mut Binder<'v>),
        on_row: impl FnMut(&EngineRow<'_>),
    ) -> Result<(), SessionError> {
        self.starts(facts);
        statement.run_bound(bind, on_row).map_err(|error| self.failure_of_rows(error))?;
        // Mostly SQLite has asked nothing.
        if !self.state.guard.has_asked() && !facts.changes_schema {
            return Ok(());
        }
        let text = || TextFacts::default();
        self.stepped(text, facts, facts.read_only, facts.returns_rows).map_err(Failure::into_session)?;
        Ok(())
    }

    #[cold]
    fn failure_of_rows(&self, error: SqliteError) -> SessionError {
        if let Some(what) = self.state.guard.take_denied() {
            return SessionError::NotAllowed { what };
        }
        match (error.code(), self.state.stop.fired()) {
            (ffi::SQLITE_INTERRUPT, Some(reason)) => return SessionError::Stopped(reason),
            (ffi::SQLITE_CORRUPT, _) => self.state.note_damage(),
            _ => {}
        }
        SessionError::Sqlite(error)
    }

    /// Notes that what runs in this session deletes, whatever it finds: for a delete that needs no statement, since
    /// there is no row for one. That, too, is told only when it is durable.
    pub fn note_delete(&self) {
        self.deletes.set(true);
    }

    /// The same as [`deletes`](Self::deletes), for what ran since this was last called.
    pub fn take_deletes(&self) -> bool {
        self.deletes.take()
    }

    /// The schema as it is now. The value is another one after every change.
    pub fn schema(&self) -> Result<Arc<SchemaFacts>, SessionError> {
        self.schema_for(false).map_err(Failure::into_session)
    }

    /// Whether the schema is this one. False as well if it is not known.
    pub fn has_schema(&self, schema: &Arc<SchemaFacts>) -> bool {
        self.state.has_schema(schema)
    }

    /// The connection, for the engine's own questions about the schema.
    pub fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Lets the engine's own statements run in between.
    pub fn as_engine<T>(&self, body: impl FnOnce() -> T) -> T {
        /// Users' SQL comes next again, also after a panic.
        struct Back<'a>(&'a SessionState);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.guard.set_users(true);
            }
        }
        let _back = Back(self.state);
        self.state.guard.set_users(false);
        body()
    }

    pub(super) fn allow_engine_tables(&self, allow: bool) {
        self.state.guard.set_engines(allow);
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'_>, Failure> {
        self.check()?;
        let text = sql.trim();
        refuse_nul(text)?;
        self.clear_notes();
        let prepared = if text.len() <= LONGEST_CACHED_TEXT {
            self.connection.prepare_cached(text).map(Prepared::Cached)
        } else {
            self.connection.prepare(text).map(Prepared::Own)
        };
        let prepared = prepared.map_err(|error| self.failure(of_text(error, text)))?;
        let (text, facts) = self.facts_of(text, &prepared)?;
        Ok(Statement::new(self, prepared, text, facts))
    }

    /// Runs each statement of the text to its end and drops the rows.
    pub(super) fn execute_batch(&self, sql: &str) -> Result<(), Failure> {
        refuse_nul(sql)?;
        let mut batch = Batch::new(self.connection, sql);
        // Once for all: a scan of the whole text for each statement would take the square of its length.
        let scanned = OnceCell::new();
        let text = || *scanned.get_or_init(|| TextFacts::of_script(sql));
        loop {
            self.check()?;
            self.clear_notes();
            let Some(mut statement) = batch.next().map_err(|error| self.failure(error))? else {
                return Ok(());
            };
            let facts = self.facts_of_notes(text, statement.readonly(), statement.column_count() > 0)?;
            self.starts(&facts);
            let mut rows = statement.raw_query();
            while self.step(|| rows.next()).map_err(|error| self.failure(error))?.is_some() {
                self.check_row()?;
            }
            drop(rows);
            self.stepped(text, &facts, statement.readonly(), statement.column_count() > 0)?;
        }
    }

    /// Ends the session's statements: a cursor that a closure forgot would make COMMIT fail or pin a
    /// reader's snapshot.
    ///
    /// No statement that a closure got can be used any more: each borrows the session's `Tx` or `Db`, so
    /// it was dropped or forgotten.
    #[inline]
    pub fn finish(&self) -> LeftBehind {
        if self.state.holds_none() { LeftBehind::default() } else { self.end(&self.state.take_leaked()) }
    }

    fn end(&self, leaked: &[Arc<str>]) -> LeftBehind {
        // What the cache holds is not lost; without it, a leaked text is easier to tell apart.
        self.connection.flush_prepared_statement_cache();
        // SAFETY: the handle is used on the connection's own thread, while the borrow lives.
        let db = unsafe { self.connection.handle() };
        let strays: Vec<_> = statements(db).filter(|statement| is_one_of(*statement, leaked)).collect();
        for statement in &strays {
            // SAFETY: the statement is on the connection's list, so it has not been finalized.
            unsafe { ffi::sqlite3_reset(*statement) };
        }
        // The list also holds statements of the engine and of virtual tables (FTS5 keeps its own). Only if
        // the texts match nothing else are these the leaked ones for certain.
        let certain = strays.len() == leaked.len();
        if certain {
            for statement in &strays {
                // SAFETY: every leaked statement is on the list and matches its own text; there are as many
                // matches as leaked statements, so these are they, and nothing can reach them any more.
                unsafe { ffi::sqlite3_finalize(*statement) };
            }
        }
        LeftBehind { statements: leaked.len(), finalized: if certain { strays.len() } else { 0 } }
    }

    /// Asked before every statement.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.state.stop.look() {
            Some(reason) => Err(Failure::Stopped(reason)),
            None => self.check_transaction(),
        }
    }

    fn check_transaction(&self) -> Result<(), Failure> {
        if self.connection.is_autocommit() {
            return Err(Failure::TransactionEnded);
        }
        Ok(())
    }

    /// Asked before every step of rows.
    pub(super) fn check_row(&self) -> Result<(), Failure> {
        self.state.stop.look_at_row().map_or(Ok(()), |reason| Err(Failure::Stopped(reason)))
    }

    /// A statement with these facts is about to run.
    #[inline]
    pub(super) fn starts(&self, facts: &StatementFacts) {
        if facts.deletes {
            self.deletes.set(true);
        }
        if self.state.is_watched() && !facts.read_only {
            self.note_writes(&facts.writes);
        }
    }

    fn note_writes(&self, writes: &Option<Arc<Writes>>) {
        let mut all = self.writes.borrow_mut();
        let is_same = |one: &Option<Arc<Writes>>| match (one, writes) {
            (Some(one), Some(writes)) => Arc::ptr_eq(one, writes),
            (one, writes) => one.is_none() && writes.is_none(),
        };
        // A loop runs one statement many times.
        if !all.last().is_some_and(is_same) {
            all.push(writes.clone());
        }
    }

    /// What ran since this was last called may have written, while somebody watches; `None` if that is not known.
    pub fn take_writes(&self) -> Option<Writes> {
        let mut sum = Writes::default();
        for writes in self.writes.take() {
            sum.add(&*writes?);
        }
        Some(sum)
    }

    /// Whether since this was last called a statement failed that may have left something, while somebody watches.
    pub fn take_may_have_left(&self) -> bool {
        self.may_have_left.take()
    }

    /// The part that stays with the connection.
    pub fn state(&self) -> &'c SessionState {
        self.state
    }

    /// Runs a step of a statement. What the update hook heard of it is forgotten if it failed. Where SQLite has counted
    /// changes all the same it may have left them (`OR FAIL`), or taken them back (those of triggers stay counted).
    pub(super) fn step<T, E>(&self, step: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if !self.state.is_watched() {
            return step();
        }
        let (mark, before) = (self.state.hook.mark(), self.connection.total_changes());
        let result = step();
        if result.is_err() {
            self.state.hook.cut(mark);
            if self.connection.total_changes() != before {
                self.may_have_left.set(true);
            }
        }
        result
    }

    /// Collects what SQLite asked while it stepped and answers the facts that hold now, if they are others.
    ///
    /// It asks when it prepares the statement anew, and also about statements that a virtual table prepares
    /// for itself: so nothing that is known is taken back.
    pub(super) fn stepped(
        &self,
        text: impl FnOnce() -> TextFacts,
        facts: &StatementFacts,
        read_only: bool,
        returns_rows: bool,
    ) -> Result<Option<StatementFacts>, Failure> {
        let mut now = None;
        if self.state.guard.has_asked() {
            let notes = self.state.guard.take_notes();
            let schema = self.schema_for(read_only && !notes.deletes && notes.written.is_empty())?;
            let asked = StatementFacts::of(text, &schema, &notes, read_only, returns_rows);
            now = Some(facts.or(asked)).inspect(|now| self.starts(now));
        }
        if now.as_ref().unwrap_or(facts).changes_schema {
            self.state.schema_changed(self.connection);
        }
        Ok(now)
    }

    pub(super) fn clear_notes(&self) {
        self.state.guard.take_notes();
        self.state.guard.take_denied();
    }

    pub(super) fn failure(&self, error: rusqlite::Error) -> Failure {
        if let Some(what) = self.state.guard.take_denied() {
            return Failure::NotAllowed(NotAllowed { what });
        }
        // The one thing that SQLite itself refuses in a transaction without asking the authorizer.
        if matches!(&error, rusqlite::Error::SqliteFailure(_, Some(text)) if text.starts_with("cannot VACUUM"))
        {
            return Failure::NotAllowed(NotAllowed { what: "VACUUM".to_owned() });
        }
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) {
            self.state.note_damage();
        }
        match (error.sqlite_error_code(), self.state.stop.fired()) {
            (Some(rusqlite::ErrorCode::OperationInterrupted), Some(reason)) => Failure::Stopped(reason),
            _ => Failure::Sqlite(error),
        }
    }

    fn facts_of(&self, text: &str, prepared: &Prepared<'_>) -> Result<(Arc<str>, StatementFacts), Failure> {
        let (read_only, returns_rows) = (prepared.readonly(), prepared.column_count() > 0);
        let known = self.state.recall(text);
        let notes = self.state.guard.take_notes();
        if !notes.asked {
            // Prepared before, in the cache.
            return Ok(
                known.unwrap_or_else(|| (Arc::from(text), StatementFacts::unknown(read_only, returns_rows)))
            );
        }
        let schema = self.schema_for(read_only && !notes.deletes && notes.written.is_empty())?;
        let facts = StatementFacts::of(|| TextFacts::of(text), &schema, &notes, read_only, returns_rows);
        let text = known.map_or_else(|| Arc::from(text), |(text, _)| text);
        self.state.remember(self.connection, &text, facts.clone());
        Ok((text, facts))
    }

    fn facts_of_notes(
        &self,
        text: impl FnOnce() -> TextFacts,
        read_only: bool,
        returns_rows: bool,
    ) -> Result<StatementFacts, Failure> {
        let notes = self.state.guard.take_notes();
        let schema = self.schema_for(read_only && !notes.deletes && notes.written.is_empty())?;
        Ok(StatementFacts::of(text, &schema, &notes, read_only, returns_rows))
    }

    /// The facts of the schema, which a statement that only reads does without.
    fn schema_for(&self, read_only: bool) -> Result<Arc<SchemaFacts>, Failure> {
        if read_only {
            return Ok(Arc::default());
        }
        self.state.schema_facts(self.connection).map_err(|error| self.failure(error))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.finish();
        self.state.guard.set_users(false);
    }
}

/// What SQLite says while it prepares a statement is about its text, also where it names no place in it.
fn of_text(error: rusqlite::Error, sql: &str) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(error, Some(msg)) if error.extended_code == ffi::SQLITE_ERROR => {
            rusqlite::Error::SqlInputError { error, msg, sql: sql.to_owned(), offset: -1 }
        }
        other => other,
    }
}

/// SQLite stops reading at a NUL, and what follows it would be dropped in silence.
fn refuse_nul(sql: &str) -> Result<(), Failure> {
    if !sql.as_bytes().contains(&0) {
        return Ok(());
    }
    match CString::new(sql) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Sqlite(rusqlite::Error::NulError(error))),
    }
}

/// The statements on a connection.
fn statements(db: *mut ffi::sqlite3) -> impl Iterator<Item = *mut ffi::sqlite3_stmt> {
    let next = move |statement: *mut ffi::sqlite3_stmt| {
        // SAFETY: `db` is open, and `statement` is null or on its list: nothing is finalized meanwhile.
        let next = unsafe { ffi::sqlite3_next_stmt(db, statement) };
        (!next.is_null()).then_some(next)
    };
    std::iter::successors(next(ptr::null_mut()), move |statement| next(*statement))
}

/// Whether a statement was prepared from one of the texts. SQLite keeps a text up to its semicolon.
fn is_one_of(statement: *mut ffi::sqlite3_stmt, texts: &[Arc<str>]) -> bool {
    // SAFETY: the statement is on its connection's list.
    let sql = unsafe { ffi::sqlite3_sql(statement) };
    if sql.is_null() {
        return false;
    }
    // SAFETY: SQLite's text ends with NUL and lives as long as the statement.
    let sql = unsafe { CStr::from_ptr(sql) }.to_bytes();
    texts.iter().any(|text| text.as_bytes().starts_with(sql))
}
