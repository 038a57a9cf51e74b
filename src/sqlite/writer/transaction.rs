//! One transaction on the writable connection, and each command isolated inside it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::command::{StatementCall, WriteClosure, WriteCommand, WriteOutput, WriteTask, WriteValue};
use super::wal_log::has_open_foreign_keys;
use crate::board::Board;
use crate::error::{ClosureError, SqliteError, WriteError};
use crate::handle::Receipt;
use crate::protocol::storage::Applied;
use crate::protocol::writer_loop::panic_message;
use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::session::{
    NotAllowed, Session, SessionError, SessionState, StopLimits, StopReason, Stopped, TransactionEnded, Tx,
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
    pub(super) connection: Connection,
}

/// What one command gave.
struct Done {
    rows_changed: u64,
    value: WriteValue,
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
            WriteTask::Statement(call) => self.statement(call, board),
            WriteTask::Batch(calls) => self.isolated(true, |this, session| this.batch(calls, session, board)),
            WriteTask::Closure(closure) => self.closure(closure, board),
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
            _ if self.connection.is_autocommit() => {
                Applied::Lost(result.err().unwrap_or_else(|| WriteError::Closure(TransactionEnded.into())))
            }
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

    fn statement(&mut self, call: &StatementCall, board: &Board) -> (Result<Done, WriteError>, bool) {
        // Looked up before it runs, since a savepoint has to come first.
        let facts = Session::new(&self.connection, &self.state).facts(&call.sql);
        let savepoint = match facts {
            Ok(facts) => facts.needs_savepoint,
            Err(error) => return (Err(self.statement_error(error)), false),
        };
        self.isolated(savepoint, |this, session| this.run_call(call, session, board))
    }

    fn run_call(
        &self,
        call: &StatementCall,
        session: &Session<'_>,
        board: &Board,
    ) -> Result<Done, WriteError> {
        board.statements.add(1);
        let rows_up_to = call.wants_rows.then_some(self.limits.result_bytes);
        let outcome = session
            .run_statement(&call.sql, &call.params, rows_up_to)
            .map_err(|error| self.statement_error(error))?;
        let value = outcome.rows.map_or(WriteValue::None, WriteValue::Rows);
        Ok(Done { rows_changed: outcome.rows_changed, value })
    }

    fn batch(
        &self,
        calls: &[StatementCall],
        session: &Session<'_>,
        board: &Board,
    ) -> Result<Done, WriteError> {
        let mut rows_changed = 0;
        for call in calls {
            rows_changed += self.run_call(call, session, board)?.rows_changed;
        }
        Ok(Done { rows_changed, value: WriteValue::None })
    }

    fn closure(&mut self, closure: &mut WriteClosure, board: &Board) -> (Result<Done, WriteError>, bool) {
        board.statements.add(1);
        self.isolated(true, |this, session| {
            let before = this.connection.total_changes();
            // Unwind safe: all that the closure did in the database is undone, and the rest is its own.
            let ended = catch_unwind(AssertUnwindSafe(|| closure(&Tx::new(session))));
            let value = this.closure_value(ended, board)?;
            let rows_changed = this.connection.total_changes() - before;
            Ok(Done { rows_changed, value: WriteValue::Closure(value) })
        })
    }

    fn closure_value(
        &self,
        ended: Result<Result<Box<dyn Any + Send>, ClosureError>, Box<dyn Any + Send>>,
        board: &Board,
    ) -> Result<Box<dyn Any + Send>, WriteError> {
        match ended {
            Ok(result) => result.map_err(|error| self.closure_error(error)),
            Err(payload) => {
                board.panics.add(1);
                Err(WriteError::Panic { message: panic_message(payload.as_ref()).to_owned() })
            }
        }
    }

    /// Runs `work` so that a failure leaves nothing behind, if needed with a savepoint. Tells whether it
    /// deleted anything. The transaction may be gone afterwards: callers ask.
    fn isolated(
        &self,
        savepoint: bool,
        work: impl FnOnce(&Self, &Session<'_>) -> Result<Done, WriteError>,
    ) -> (Result<Done, WriteError>, bool) {
        if savepoint && let Err(error) = self.savepoint.run() {
            return (Err(error.into()), false);
        }
        let stop = self.state.stop_check();
        stop.arm(StopLimits {
            run_limit_at: Instant::now().checked_add(self.limits.run_limit),
            ..StopLimits::default()
        });
        let (mut result, deletes) = {
            let session = Session::new(&self.connection, &self.state);
            let result = work(self, &session);
            (result, session.deletes())
        };
        if let Some(reason) = stop.disarm() {
            result = Err(self.stopped(reason));
        }
        if self.connection.is_autocommit() {
            return (result, deletes);
        }
        if savepoint {
            if result.is_ok() && has_open_foreign_keys(&self.connection) {
                result = Err(open_foreign_key());
            }
            let ended = match &result {
                Ok(_) => self.release.run().map(drop),
                Err(_) => self.rollback_to.run().and_then(|_| self.release.run()).map(drop),
            };
            if let Err(error) = ended {
                // Without its savepoint the command can only be undone with the whole group.
                if self.rollback.run().is_err() && !self.connection.is_autocommit() {
                    tracing::error!("a transaction could not be rolled back");
                }
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
