//! One transaction on the writable connection, and the commands that are carried out in it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use rusqlite::{Connection, ffi};

use super::command::{
    BatchItem, BulkCall, ModifyCall, StatementCall, WriteClosure, WriteCommand, WriteOutput, WriteTask,
    WriteValue,
};
use super::failure::ModifyFailure;
use super::isolation::Isolation;
use super::recording::{Own, OwnChanges, Recorder};
use super::rows::{self, Piece, PieceEnd, RowEffect, TableDesks};
use super::shelf::{ShelvedStatement, StatementShelf};
use crate::board::Board;
use crate::changes::ChangeFeed;
use crate::error::{SqliteError, WriteError};
use crate::handle::Receipt;
use crate::protocol::foreign_code::guarded;
use crate::protocol::storage::Applied;
use crate::row::{RowCommand, ValueRef, Values};
use crate::sqlite::ENGINE_TABLE;
use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::session::{
    Session, SessionError, SessionState, StatementFacts, StatementOutcome, StopCheck, StopReason,
    TransactionEnded, Tx,
};
use crate::sync::Arc;
use crate::tick::Tick;

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
    pub(super) rollback: EngineStatement,
    pub(super) savepoint: EngineStatement,
    pub(super) release: EngineStatement,
    pub(super) rollback_to: EngineStatement,
    data_version: EngineStatement,
    /// Prepared when it is first wanted.
    place: Option<EngineStatement>,
    pub(super) desks: RefCell<TableDesks>,
    shelf: RefCell<StatementShelf>,
    pub(super) state: SessionState,
    /// What is changed, while somebody watches.
    pub(super) recorder: Recorder,
    /// How long a piece of bulk work may take.
    piece_time: Duration,
    /// When the present command was started.
    started_at: Tick,
    pub(super) limits: WriteLimits,
    /// A failed command could not be undone: what is in the transaction must not be committed.
    pub(super) stuck: Cell<bool>,
    pub(super) connection: Connection,
}

/// What one command gave.
pub(super) struct Done {
    pub(super) rows_changed: u64,
    pub(super) value: WriteValue,
}

impl Transaction {
    pub(super) fn new(
        connection: Connection,
        state: SessionState,
        limits: WriteLimits,
        feed: Arc<ChangeFeed>,
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
            place: None,
            desks: RefCell::default(),
            shelf: RefCell::default(),
            state,
            recorder: Recorder::new(feed),
            piece_time: rows::piece_time(Duration::ZERO, Duration::ZERO),
            started_at: Tick::now(),
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
        self.state.refresh_schema(&self.connection)?;
        if self.recorder.begin(&mut self.connection, &self.state)? {
            *self.desks.get_mut() = TableDesks::default();
            *self.shelf.get_mut() = StatementShelf::default();
        }
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), SqliteError> {
        if self.stuck.get() {
            let error = ffi::Error::new(ffi::SQLITE_IOERR);
            return Err(rusqlite::Error::SqliteFailure(error, None).into());
        }
        self.commit.run().map(drop)
    }

    /// Says in the transaction itself that `sequence` is its last one, so that a snapshot can tell where it stands.
    ///
    /// If the engine's table is not as it was, which only another program can bring about, nothing is said: whoever
    /// wanted to know finds an older sequence than it waited for.
    pub(super) fn place(&mut self, sequence: u64) -> Result<(), SqliteError> {
        let placed = self.write_place(sequence);
        match placed {
            Err(error) if is_of_the_schema(&error) && !self.connection.is_autocommit() => {
                tracing::warn!(%error, "the engine's own table was changed by another program");
                Ok(())
            }
            other => other,
        }
    }

    fn write_place(&mut self, sequence: u64) -> Result<(), SqliteError> {
        let place = match self.place.take() {
            Some(place) => place,
            None => {
                let sql = format!("UPDATE main.{ENGINE_TABLE} SET last = ?");
                EngineStatement::prepare_text(&self.connection, &sql)?
            }
        };
        let sequence = ValueRef::Integer(i64::try_from(sequence).unwrap_or(i64::MAX));
        self.place.insert(place).run_with([sequence], |_| {})
    }

    /// Hears how long a COMMIT took, and gives how long a piece of bulk work may take by that.
    pub(super) fn note_commit(&mut self, took: Duration) -> Duration {
        self.piece_time = rows::piece_time(self.piece_time, took);
        self.piece_time
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
    #[inline]
    pub(super) fn apply(
        &mut self,
        task: &mut WriteTask,
        sequence: u64,
        board: &Board,
    ) -> Applied<WriteCommand> {
        self.recorder.begin_command(sequence);
        let applied = self.carry_out(task, sequence, board);
        self.recorder.end_command(matches!(applied, Applied::Done { .. } | Applied::Piece { .. }));
        applied
    }

    fn carry_out(&mut self, task: &mut WriteTask, sequence: u64, board: &Board) -> Applied<WriteCommand> {
        if let WriteTask::Bulk(call) = task {
            return self.apply_piece(call, sequence, board);
        }
        let (result, deletes) = match task {
            WriteTask::Statement(call) => self.isolated(|isolation| self.call(call, isolation, board)),
            WriteTask::Row(command) => {
                self.isolated(|isolation| self.row(command, isolation, sequence, board))
            }
            WriteTask::Modify(call) => {
                self.isolated(|isolation| self.modify(call, isolation, sequence, board))
            }
            WriteTask::Batch(items) => {
                self.isolated(|isolation| self.batch(items, isolation, sequence, board))
            }
            WriteTask::Closure(closure) => self.isolated(|isolation| self.closure(closure, isolation, board)),
            WriteTask::GiveBack(pages) => self.isolated(|isolation| self.give_back(*pages, isolation, board)),
            WriteTask::Bulk(_) | WriteTask::Flush => {
                (Ok(Done { rows_changed: 0, value: WriteValue::None }), false)
            }
        };
        let result = self.after_damage(result);
        let result = result.map(|done| done.output(sequence));
        self.applied(result, |output| Applied::Done { output, deletes })
    }

    /// Carries out the next piece of work on many rows.
    fn apply_piece(&mut self, call: &mut BulkCall, sequence: u64, board: &Board) -> Applied<WriteCommand> {
        let mut progress = call.begin_piece();
        let (result, deletes) = self.isolated(|isolation| {
            board.statements.add(1);
            isolation.set_savepoint()?;
            let watch = self.recorder.watch(isolation);
            let mut changes = watch.is_some().then(OwnChanges::default);
            let table = &call.command.table;
            let piece = isolation.on_desk(table, |desk| {
                let time = self.piece_time;
                let piece = Piece { session: isolation.session, sequence, time, told: changes.as_mut() };
                let end = rows::carry_out_piece(desk, &call.command, &mut progress, piece)?;
                Ok((end, desk.is_quiet()))
            });
            let (end, is_quiet) = piece.map_err(|failure| self.row_error(failure))?;
            let own = changes.map(|changes| Own { table, changes, is_quiet });
            self.recorder.record(watch, isolation, own);
            Ok(end)
        });
        let result = self.after_damage(result);
        let rows = progress.rows;
        if let Ok(PieceEnd::More) = result {
            call.end_piece(progress);
        }
        self.applied(result, |end| match end {
            PieceEnd::More => Applied::Piece { deletes },
            PieceEnd::Finished => {
                let done = Done { rows_changed: rows, value: WriteValue::None };
                Applied::Done { output: done.output(sequence), deletes }
            }
        })
    }

    /// What became of a command, by its result and by whether the transaction is still there.
    fn applied<T>(
        &self,
        result: Result<T, WriteError>,
        done: impl FnOnce(T) -> Applied<WriteCommand>,
    ) -> Applied<WriteCommand> {
        match result {
            Ok(_) if self.connection.is_autocommit() => {
                Applied::Lost(WriteError::Closure(TransactionEnded.into()))
            }
            Err(error) if self.connection.is_autocommit() => Applied::Lost(error),
            Ok(value) => done(value),
            Err(error) => Applied::Failed(error),
        }
    }

    /// SQLite lets nothing be written or committed any more in a transaction that met a damaged page. So that
    /// the others of the group do not suffer for it, the whole transaction goes: they are carried out again.
    fn after_damage<T>(&mut self, result: Result<T, WriteError>) -> Result<T, WriteError> {
        if !self.state.take_met_damage() {
            return result;
        }
        if let Err(error) = self.abandon() {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
        // A closure may have taken no notice: what it did is undone all the same.
        result.and_then(|_| {
            let error = ffi::Error::new(ffi::SQLITE_CORRUPT);
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
        let watch = self.recorder.watch(isolation);
        let outcome = self.run_call(call, isolation).map_err(|error| self.statement_error(error))?;
        if watch.is_some() {
            self.recorder.record(watch, isolation, None);
        }
        let value = outcome.rows.map_or(WriteValue::None, WriteValue::Rows);
        Ok(Done { rows_changed: outcome.rows_changed, value })
    }

    fn run_call(
        &self,
        call: &StatementCall,
        isolation: &Isolation<'_>,
    ) -> Result<StatementOutcome, SessionError> {
        let first = |facts: &StatementFacts| {
            if facts.needs_savepoint { isolation.set_savepoint() } else { Ok(()) }
        };
        let StatementCall { sql, params, wants_rows } = call;
        let session = isolation.session;
        if *wants_rows || !params.are_positional() {
            let rows_up_to = wants_rows.then_some(self.limits.result_bytes);
            return session.run_statement_after(sql, params, rows_up_to, first);
        }
        let mut shelf = self.shelf.borrow_mut();
        if let Some(ShelvedStatement { statement, facts, .. }) = shelf.find(session, sql)?
            && let Some(values) = params.values_for(statement.parameters())
        {
            first(facts).map_err(SessionError::Sqlite)?;
            return session.run_prepared(statement, facts, values);
        }
        let comes_again = session.has_run(sql);
        let outcome = session.run_statement_after(sql, params, None, first)?;
        if comes_again {
            shelf.keep(session, sql.clone());
        }
        Ok(outcome)
    }

    fn row(
        &self,
        command: &RowCommand,
        isolation: &Isolation<'_>,
        sequence: u64,
        board: &Board,
    ) -> Result<Done, WriteError> {
        board.statements.add(1);
        let watch = self.recorder.watch(isolation);
        let table = &command.table;
        let done = isolation.on_desk(table, |desk| {
            let effect = rows::carry_out(desk, isolation.session, command, sequence)?;
            Ok((effect, desk.is_quiet()))
        });
        let (effect, is_quiet) = done.map_err(|failure| self.row_error(failure))?;
        if watch.is_some() {
            let changes = OwnChanges::of(command, &effect);
            self.recorder.record(watch, isolation, Some(Own { table, changes, is_quiet }));
        }
        Ok(Done::row(effect))
    }

    fn modify(
        &self,
        call: &mut ModifyCall,
        isolation: &Isolation<'_>,
        sequence: u64,
        board: &Board,
    ) -> Result<Done, WriteError> {
        board.statements.add(1);
        let ModifyCall { table, key, columns, change } = call;
        let (mut returned, mut changes) = (None, OwnChanges::default());
        let watch = self.recorder.watch(isolation);
        let changed = isolation.on_desk(table, |desk| {
            let key = key.key();
            let effect =
                rows::modify::<ModifyFailure>(desk, isolation.session, key, columns, sequence, |values| {
                    let ended = guarded(|| change(values));
                    let (set, value) = self.closure_value(ended, board)?;
                    returned = Some(value);
                    Ok(set)
                })?;
            // The key is not among what it sets.
            if let Some(effect) = effect.as_ref().filter(|_| watch.is_some()) {
                changes.update(table, key, Values::NONE, effect);
            }
            Ok((effect, desk.is_quiet()))
        });
        let (effect, is_quiet) = changed.map_err(|failure| match failure {
            ModifyFailure::Row(failure) => self.row_error(failure),
            ModifyFailure::Closure(error) => error,
        })?;
        self.recorder.record(watch, isolation, Some(Own { table, changes, is_quiet }));
        let rows_changed = effect.as_ref().map_or(0, |effect| effect.rows_changed);
        let value = match (effect, returned) {
            (Some(effect), Some(value)) => WriteValue::Modified(Box::new((effect, value))),
            _ => WriteValue::None,
        };
        Ok(Done { rows_changed, value })
    }

    fn batch(
        &self,
        items: &[BatchItem],
        isolation: &Isolation<'_>,
        sequence: u64,
        board: &Board,
    ) -> Result<Done, WriteError> {
        if items.len() > 1 {
            isolation.set_savepoint()?;
        }
        let mut rows_changed = 0;
        for (at, item) in items.iter().enumerate() {
            // Short ones take too few steps for SQLite to look by itself, whatever functions of the program they call.
            if at > 0
                && let Some(reason) = self.state.stop_check().look()
            {
                return Err(self.stopped(reason));
            }
            rows_changed += match item {
                BatchItem::Statement(call) => self.call(call, isolation, board)?.rows_changed,
                BatchItem::Row(command) => self.row(command, isolation, sequence, board)?.rows_changed,
            };
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
        isolation.set_savepoint()?;
        let watch = self.recorder.watch(isolation);
        let before = self.connection.total_changes();
        let ended = guarded(|| closure(&Tx::new(isolation.session)));
        let value = self.closure_value(ended, board)?;
        self.recorder.record(watch, isolation, None);
        let rows_changed = self.connection.total_changes() - before;
        Ok(Done { rows_changed, value: WriteValue::Closure(value) })
    }

    /// Runs `work` so that a failure leaves nothing of it behind, if needed with a savepoint. Tells whether
    /// it deleted anything. The transaction may be gone afterwards: callers ask.
    fn isolated<T>(
        &self,
        work: impl FnOnce(&Isolation<'_>) -> Result<T, WriteError>,
    ) -> (Result<T, WriteError>, bool) {
        let stop = self.start_clock();
        let session = Session::new(&self.connection, &self.state);
        let isolation = Isolation::new(&session, self);
        let mut result = work(&isolation);
        session.finish();
        // Before any statement of the engine's own, which must not be stopped.
        if let Some(reason) = stop.disarm() {
            result = Err(self.stopped(reason));
        }
        let result = isolation.settle(result);
        (result, session.deletes())
    }

    /// A command starts now, or several that are carried out together.
    pub(super) fn note_start(&mut self, now: Tick) {
        self.started_at = now;
    }

    /// Starts the run limit of what was started.
    pub(super) fn start_clock(&self) -> &StopCheck {
        let stop = self.state.stop_check();
        stop.arm_until(self.started_at.after(self.limits.run_limit), StopReason::RunLimit);
        stop
    }
}

fn is_of_the_schema(error: &SqliteError) -> bool {
    matches!(error.code(), ffi::SQLITE_ERROR | ffi::SQLITE_SCHEMA | ffi::SQLITE_CONSTRAINT)
}

impl Done {
    pub(super) fn row(effect: RowEffect) -> Self {
        Self { rows_changed: effect.rows_changed, value: WriteValue::Row(effect) }
    }

    pub(super) fn output(self, sequence: u64) -> WriteOutput {
        let receipt = Receipt { sequence, rows_changed: self.rows_changed };
        WriteOutput { receipt, value: self.value }
    }
}
