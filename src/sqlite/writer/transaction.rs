//! One transaction on the writable connection, and each command isolated inside it.

use std::any::Any;
use std::cell::Cell;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::command::{StatementCall, WriteClosure, WriteCommand, WriteOutput, WriteTask, WriteValue};
use super::wal_log::has_open_foreign_keys;
use crate::board::Board;
use crate::error::{ClosureError, SqliteError, WriteError};
use crate::handle::Receipt;
use crate::protocol::foreign_code::guarded;
use crate::protocol::storage::Applied;
use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::session::{
    NotAllowed, Session, SessionError, SessionState, StatementFacts, StopLimits, StopReason, Stopped,
    TransactionEnded, Tx,
};

/// The bounds of one write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteLimits {
    /// A write that has run for this long is ended and undone.
    pub(crate) run_limit: Duration,
    /// Bytes of rows that a statement may return.
    pub(crate) result_bytes: usize,
}

/// The writable connection and the engine's statements on it, which are dropped before it.
pub(super) struct Transaction {
    begin: EngineStatement,
    commit: EngineStatement,
    rollback: EngineStatement,
    savepoint: EngineStatement,
    release: EngineStatement,
    rollback_to: EngineStatement,
    data_version: EngineStatement,
    state: SessionState,
    limits: WriteLimits,
    /// A failed command could not be undone: what is in the transaction must not be committed.
    stuck: Cell<bool>,
    pub(super) connection: Connection,
}

/// What one command gave.
struct Done {
    rows_changed: u64,
    value: WriteValue,
}

/// One command's session, and the savepoint that undoes the command alone, if it needs one.
struct Isolation<'t> {
    session: Session<'t>,
    savepoint: &'t EngineStatement,
    is_set: Cell<bool>,
}

impl Isolation<'_> {
    /// Sets the savepoint, once. Inside the session only as the engine.
    fn set_savepoint(&self) -> Result<(), SqliteError> {
        if !self.is_set.replace(true) {
            self.savepoint.run()?;
        }
        Ok(())
    }
}

impl Transaction {
    pub(super) fn new(
        connection: Connection,
        state: SessionState,
        limits: WriteLimits,
    ) -> Result<Self, SqliteError> {
        let prepare = |sql| EngineStatement::prepare(&connection, sql);
        Ok(Self {
            begin: prepare(c"BEGIN IMMEDIATE")?,
            commit: prepare(c"COMMIT")?,
            rollback: prepare(c"ROLLBACK")?,
            savepoint: prepare(c"SAVEPOINT walwright")?,
            release: prepare(c"RELEASE walwright")?,
            rollback_to: prepare(c"ROLLBACK TO walwright")?,
            data_version: prepare(c"PRAGMA main.data_version")?,
            state,
            limits,
            stuck: Cell::new(false),
            connection,
        })
    }

    /// Takes the connection back, without any statement on it.
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }

    pub(super) fn begin(&mut self) -> Result<(), SqliteError> {
        self.begin.run()?;
        Ok(self.state.refresh_schema(&self.connection)?)
    }

    pub(super) fn commit(&mut self) -> Result<(), SqliteError> {
        if self.stuck.get() {
            let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
            return Err(rusqlite::Error::SqliteFailure(error, None).into());
        }
        self.commit.run().map(drop)
    }

    /// Leaves the transaction, if SQLite has not done so already.
    pub(super) fn abandon(&mut self) -> Result<(), SqliteError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        let result = self.rollback.run();
        // What counts is the state, not the answer.
        if self.connection.is_autocommit() { Ok(()) } else { result.map(drop) }
    }

    pub(super) fn data_version(&self) -> Result<i64, SqliteError> {
        self.data_version.run()
    }

    /// Carries out one command, so that a failure leaves nothing of it behind.
    pub(super) fn apply(
        &mut self,
        task: &mut WriteTask,
        sequence: u64,
        board: &Board,
    ) -> Applied<WriteCommand> {
        let (mut result, deletes) = match task {
            WriteTask::Statement(call) => self.isolated(|isolation| self.call(call, isolation, board)),
            WriteTask::Batch(calls) => self.isolated(|isolation| self.batch(calls, isolation, board)),
            WriteTask::Closure(closure) => self.isolated(|isolation| self.closure(closure, isolation, board)),
            WriteTask::Flush => (Ok(Done { rows_changed: 0, value: WriteValue::None }), false),
        };
        if self.state.take_met_damage() {
            result = self.give_up_after_damage(result);
        }
        let result = result.map(|done| WriteOutput {
            receipt: Receipt { sequence, rows_changed: done.rows_changed },
            value: done.value,
        });
        match result {
            Ok(_) if self.connection.is_autocommit() => {
                Applied::Lost(WriteError::Closure(TransactionEnded.into()))
            }
            Err(error) if self.connection.is_autocommit() => Applied::Lost(error),
            Ok(output) => Applied::Done { output, deletes },
            Err(error) => Applied::Failed(error),
        }
    }

    /// SQLite lets nothing be written or committed any more in a transaction that met a damaged page. So that
    /// the others of the group do not suffer for it, the whole transaction goes: they are carried out again.
    fn give_up_after_damage(&mut self, result: Result<Done, WriteError>) -> Result<Done, WriteError> {
        if let Err(error) = self.abandon() {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
        // A closure may have taken no notice: what it did is undone all the same.
        result.and_then(|_| {
            let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            Err(WriteError::Corrupt(rusqlite::Error::SqliteFailure(error, None).into()))
        })
    }

    fn call(
        &self,
        call: &StatementCall,
        isolation: &Isolation<'_>,
        board: &Board,
    ) -> Result<Done, WriteError> {
        board.statements.add(1);
        let rows_up_to = call.wants_rows.then_some(self.limits.result_bytes);
        let first = |facts: StatementFacts| {
            if facts.needs_savepoint { isolation.set_savepoint() } else { Ok(()) }
        };
        let outcome = isolation
            .session
            .run_statement_after(&call.sql, &call.params, rows_up_to, first)
            .map_err(|error| self.statement_error(error))?;
        let value = outcome.rows.map_or(WriteValue::None, WriteValue::Rows);
        Ok(Done { rows_changed: outcome.rows_changed, value })
    }

    fn batch(
        &self,
        calls: &[StatementCall],
        isolation: &Isolation<'_>,
        board: &Board,
    ) -> Result<Done, WriteError> {
        let mut rows_changed = 0;
        for (index, call) in calls.iter().enumerate() {
            if index == 0 && calls.len() > 1 {
                isolation.session.as_engine(|| isolation.set_savepoint())?;
            }
            rows_changed += self.call(call, isolation, board)?.rows_changed;
        }
        Ok(Done { rows_changed, value: WriteValue::None })
    }

    fn closure(
        &self,
        closure: &mut WriteClosure,
        isolation: &Isolation<'_>,
        board: &Board,
    ) -> Result<Done, WriteError> {
        board.statements.add(1);
        isolation.session.as_engine(|| isolation.set_savepoint())?;
        let before = self.connection.total_changes();
        let ended = guarded(|| closure(&Tx::new(&isolation.session)));
        let value = self.closure_value(ended, board)?;
        let rows_changed = self.connection.total_changes() - before;
        Ok(Done { rows_changed, value: WriteValue::Closure(value) })
    }

    fn closure_value(
        &self,
        ended: Result<Result<Box<dyn Any + Send>, ClosureError>, String>,
        board: &Board,
    ) -> Result<Box<dyn Any + Send>, WriteError> {
        match ended {
            Ok(result) => result.map_err(|error| self.closure_error(error)),
            Err(message) => {
                board.panics.add(1);
                Err(WriteError::Panic { message })
            }
        }
    }

    /// Runs `work` so that a failure leaves nothing of it behind, if needed with a savepoint. Tells whether
    /// it deleted anything. The transaction may be gone afterwards: callers ask.
    fn isolated(
        &self,
        work: impl FnOnce(&Isolation<'_>) -> Result<Done, WriteError>,
    ) -> (Result<Done, WriteError>, bool) {
        let stop = self.state.stop_check();
        stop.arm(StopLimits {
            run_limit_at: Instant::now().checked_add(self.limits.run_limit),
            ..StopLimits::default()
        });
        let (mut result, deletes, savepoint) = {
            let session = Session::new(&self.connection, &self.state);
            let isolation = Isolation { session, savepoint: &self.savepoint, is_set: Cell::new(false) };
            let result = work(&isolation);
            (result, isolation.session.deletes(), isolation.is_set.get())
        };
        // Before any statement of the engine's own, which must not be stopped.
        if let Some(reason) = stop.disarm() {
            result = Err(self.stopped(reason));
        }
        if savepoint && !self.connection.is_autocommit() {
            if result.is_ok() && has_open_foreign_keys(&self.connection) {
                result = Err(open_foreign_key());
            }
            let ended = match &result {
                Ok(_) => self.release.run().map(drop),
                Err(_) => self.rollback_to.run().and_then(|_| self.release.run()).map(drop),
            };
            if let Err(error) = ended {
                // Without its savepoint the command can only be undone together with the whole group.
                let _ = self.rollback.run();
                self.stuck.set(!self.connection.is_autocommit());
                result = result.and(Err(error.into()));
            }
        }
        (result, deletes)
    }

    fn statement_error(&self, error: SessionError) -> WriteError {
        match error {
            SessionError::Sqlite(error) => error.into(),
            SessionError::NotAllowed { what } => WriteError::NotAllowed { what },
            SessionError::MultipleStatements => WriteError::Sql(rusqlite::Error::MultipleStatement.into()),
            SessionError::Stopped(reason) => self.stopped(reason),
            SessionError::ResultTooLarge { limit } => WriteError::ResultTooLarge { limit },
            error @ SessionError::TransactionEnded => WriteError::Closure(error.into()),
        }
    }

    fn closure_error(&self, error: ClosureError) -> WriteError {
        let error = match error.downcast::<rusqlite::Error>() {
            Ok(error) => return SqliteError::from(error).into(),
            Err(error) => error,
        };
        if let Some(NotAllowed { what }) = error.downcast_ref() {
            return WriteError::NotAllowed { what: what.clone() };
        }
        if let Some(Stopped { reason }) = error.downcast_ref() {
            return self.stopped(*reason);
        }
        WriteError::Closure(error)
    }

    fn stopped(&self, reason: StopReason) -> WriteError {
        match reason {
            StopReason::Closing => WriteError::CloseTimedOut,
            _ => WriteError::RunLimit { limit: self.limits.run_limit },
        }
    }
}

fn open_foreign_key() -> WriteError {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
    let text = "FOREIGN KEY constraint failed".to_owned();
    WriteError::Constraint(rusqlite::Error::SqliteFailure(error, Some(text)).into())
}
