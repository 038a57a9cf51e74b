//! SQLite as the storage that the writer's loop drives.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ffi};
use tracing::span::EnteredSpan;

use super::checkpoint::{CheckpointAction, CheckpointPolicy};
use super::checkpointing::is_passing;
use super::command::{WriteCommand, WriteTask};
use super::copier::CopyDesk;
use super::growth::{Growth, Reach};
use super::opening;
use super::transaction::Transaction;
use super::wal_log::{self, WalLog};
use crate::error::{SqliteError, StoreFailure, WriteError};
use crate::handle::Engine;
use crate::protocol::level::AckLevel;
use crate::protocol::storage::{
    Applied, CommitError, Committed, GroupReport, Interruption, Joined, Readiness, Storage, TransactionLost,
};
use crate::sqlite::files::identity::FileIdentity;
use crate::sqlite::reason::Reason;
use crate::sync::Arc;
use crate::tick::Tick;

/// Between two looks whether the file is still the one that was opened.
const LOOK_AFTER_FILE: Duration = Duration::from_secs(1);
/// A group that takes longer is worth a warning.
const SLOW_GROUP: Duration = Duration::from_secs(1);

/// The writable connection with all that is known about its file.
pub(super) struct SqliteStorage {
    pub(super) transaction: Transaction,
    pub(super) log: WalLog,
    pub(super) checkpoints: CheckpointPolicy,
    pub(super) engine: Arc<Engine>,
    pub(super) path: PathBuf,
    pub(super) identity: FileIdentity,
    pub(super) busy_budget: Duration,
    pub(super) least_read_age: Duration,
    pub(super) greatest_read_age: Duration,
    pub(super) degraded: bool,
    /// What `PRAGMA synchronous` is set to; `None` if that is not known.
    pub(super) level: Option<AckLevel>,
    pub(super) next_look: Instant,
    pub(super) foreign: bool,
    /// `PRAGMA data_version` as of the last look; it changes when another connection writes.
    pub(super) data_version: i64,
    pub(super) copied_frames: u64,
    /// Where the log's copier is asked. In the degraded mode there is no log.
    pub(super) copies: Arc<CopyDesk>,
    /// Commands of the last group.
    pub(super) last_commands: usize,
    /// The last checkpoint found no room for the database file to grow.
    pub(super) disk_full: Option<Arc<SqliteError>>,
    /// Rows changed by the present group.
    pub(super) rows: u64,
    /// The sequence of the last command that was applied, committed or not.
    pub(super) last_sequence: u64,
    /// Reads that hold the log for longer than they may, and cannot be ended, were last reported then.
    pub(super) reported_pinned: Option<Instant>,
    pub(super) span: Option<EnteredSpan>,
    /// Writes are being held back.
    pub(super) stalled: bool,
    /// The present group has a piece of bulk work in it.
    pub(super) did_piece: bool,
    /// The last group had one, and more is to come.
    pub(super) in_pieces: bool,
    /// Row commands on one key may be carried out as one statement.
    pub(super) coalescing: bool,
    /// What the board's counters of statements and coalesced commands stood at when the group began.
    pub(super) counted: (u64, u64),
    /// Groups of rows that somebody wants to know of.
    pub(super) growth: Growth,
}

impl SqliteStorage {
    pub(super) fn connection(&self) -> &Connection {
        &self.transaction.connection
    }

    /// Before a transaction: SQLite refuses the setting inside one, and a cached one would do nothing.
    fn set_level(&mut self, level: AckLevel) -> Result<(), SqliteError> {
        if self.level == Some(level) || self.degraded {
            return Ok(());
        }
        self.level = None;
        self.connection().execute_batch(match level {
            AckLevel::Durable => "PRAGMA synchronous=FULL",
            AckLevel::Committed => "PRAGMA synchronous=NORMAL",
        })?;
        self.level = Some(level);
        Ok(())
    }

    /// Looks, at most once a second, whether the file is still the one that its path names.
    fn look_after_file(&mut self) -> Result<(), Reason> {
        let now = Instant::now();
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now + LOOK_AFTER_FILE;
        self.check_file()
    }

    /// Notices that the file is not the one that its path names any more.
    pub(super) fn check_file(&self) -> Result<(), Reason> {
        if wal_log::has_moved(self.connection()) || self.identity.moved() {
            return Err(self.failure(StoreFailure::FileMoved { path: self.path.clone() }));
        }
        Ok(())
    }

    /// Whether another program has written since the last look. Inside a transaction the answer holds.
    fn look_for_foreign_writes(&mut self) -> Result<(), SqliteError> {
        let version = self.transaction.data_version()?;
        if std::mem::replace(&mut self.data_version, version) != version {
            self.foreign = true;
            self.growth.note_any(&self.engine.keeper);
            self.engine.board.foreign_writes.add(1);
            tracing::warn!(path = %self.path.display(), "another program has written to the database");
        }
        Ok(())
    }

    pub(super) fn failure(&self, failure: StoreFailure) -> Reason {
        let failure = Arc::new(failure);
        self.engine.board.set_failure(failure.clone());
        Reason::Failure(failure)
    }

    fn follow_log(&mut self) -> bool {
        let wrote = self.log.take_written();
        if wrote {
            if self.log.frames() < self.copied_frames {
                self.copied_frames = 0;
            }
            self.show_log();
        }
        wrote
    }

    pub(super) fn show_log(&self) {
        let board = &self.engine.board;
        board.wal_bytes.set(self.log.bytes_of(self.log.frames()));
        board.wal_pending_frames.set(self.log.frames().saturating_sub(self.copied_frames));
    }
}

impl Storage for SqliteStorage {
    type Command = WriteCommand;

    fn begin(&mut self, level: AckLevel) -> Result<(), Interruption<Reason>> {
        self.look_after_file().map_err(Interruption::Fatal)?;
        if self.refused_for_room().is_some() {
            // There may be room by now: the last try can be as old as the writer was idle.
            self.checkpoint(CheckpointAction::Force).map_err(Interruption::Fatal)?;
            if let Some(error) = self.refused_for_room() {
                return Err(Interruption::Refused(Reason::Begin(error)));
            }
        }
        let begun = self
            .set_level(level)
            .and_then(|()| self.transaction.begin())
            .and_then(|()| self.look_for_foreign_writes());
        match begun {
            Ok(()) => {
                if self.span.is_none() {
                    let span = tracing::debug_span!(
                        "group",
                        commands = tracing::field::Empty,
                        statements = tracing::field::Empty,
                        coalesced = tracing::field::Empty,
                        failed = tracing::field::Empty,
                        rows = tracing::field::Empty,
                        bytes = tracing::field::Empty,
                        level = tracing::field::Empty,
                        apply = tracing::field::Empty,
                        commit = tracing::field::Empty,
                    );
                    self.span = Some(span.entered());
                }
                Ok(())
            }
            Err(error) => {
                self.transaction.abandon().map_err(|source| {
                    Interruption::Fatal(
                        self.failure(StoreFailure::Rollback { path: self.path.clone(), source }),
                    )
                })?;
                Err(Interruption::Refused(Reason::Begin(Arc::new(error))))
            }
        }
    }

    fn apply(&mut self, command: &mut WriteCommand, sequence: u64, now: Instant) -> Applied<WriteCommand> {
        let board = &self.engine.board;
        let now = Tick::of(now);
        board.write_started.set_tick(now);
        self.transaction.note_start(now);
        let applied = self.transaction.apply(&mut command.task, sequence, board);
        board.write_started.clear();
        if !command.is_slice && !self.growth.is_empty() && !matches!(applied, Applied::Failed(_)) {
            let reach = |table: &_| self.transaction.reach(table);
            self.growth.note(&command.task, reach, &self.engine.keeper);
        }
        match &applied {
            Applied::Done { output, .. } => {
                if let WriteTask::GiveBack(_) = command.task {
                    self.checkpoints.will_shrink(output.receipt.rows_changed > 0);
                } else {
                    self.rows += output.receipt.rows_changed;
                }
                self.last_sequence = sequence;
            }
            Applied::Piece { .. } => {
                self.last_sequence = sequence;
                self.did_piece = true;
            }
            Applied::Failed(_) | Applied::Lost(_) => {}
        }
        applied
    }

    fn joins(&self, command: &WriteCommand) -> bool {
        self.coalescing && self.transaction.joins(&command.task)
    }

    fn apply_together(
        &mut self,
        commands: &mut [&mut WriteCommand],
        first_sequence: u64,
        now: Instant,
    ) -> Result<Vec<Joined<WriteCommand>>, TransactionLost> {
        let board = &self.engine.board;
        let now = Tick::of(now);
        board.write_started.set_tick(now);
        self.transaction.note_start(now);
        let joined = self.transaction.apply_together(commands, first_sequence, board);
        board.write_started.clear();
        let joined = joined?;
        if !self.growth.is_empty() {
            let keeper = &self.engine.keeper;
            commands.iter().for_each(|command| self.growth.note(&command.task, |_| Reach::Named, keeper));
        }
        for (sequence, one) in (first_sequence..).zip(&joined) {
            if let Joined::Done { output, .. } = one {
                self.rows += output.receipt.rows_changed;
                self.last_sequence = sequence;
            }
        }
        Ok(joined)
    }

    fn commit(&mut self) -> Result<Committed, CommitError<WriteError, Reason>> {
        let placed = if self.engine.changes.is_placing() {
            self.transaction.place(self.last_sequence)
        } else {
            Ok(())
        };
        let result = placed.and_then(|()| self.transaction.commit());
        let wrote = self.follow_log();
        match result {
            // In the degraded mode there is no log, and every commit is durable.
            Ok(()) => {
                let board = &self.engine.board;
                self.transaction.recorder.commit(self.foreign.then(|| board.last_sequence.get()));
                board.last_sequence.set(self.last_sequence);
                if wrote && self.level == Some(AckLevel::Durable) {
                    board.syncs.add(1);
                }
                Ok(Committed { wrote: wrote || self.degraded, foreign: std::mem::take(&mut self.foreign) })
            }
            Err(source) => {
                let path = self.path.clone();
                if let Err(source) = self.transaction.abandon() {
                    return Err(CommitError::Unknown(self.failure(StoreFailure::Rollback { path, source })));
                }
                if is_passing(source.code()) || source.is_constraint() {
                    return Err(CommitError::NotApplied(source.into()));
                }
                Err(CommitError::Unknown(self.failure(StoreFailure::Commit { path, source })))
            }
        }
    }

    fn sync(&mut self) -> Result<(), Reason> {
        if self.degraded {
            return Ok(());
        }
        self.engine.board.syncs.add(1);
        wal_log::sync(self.connection())
            .map_err(|source| self.failure(StoreFailure::Sync { path: self.path.clone(), source }))
    }

    fn reserve(&mut self) -> Result<Range<u64>, Interruption<Reason>> {
        self.level = None;
        let reserved = opening::reserve(self.connection(), self.last_sequence + 1);
        self.follow_log();
        reserved.map_err(|error| {
            let source = SqliteError::from(error);
            if source.code() == ffi::SQLITE_IOERR {
                return Interruption::Fatal(
                    self.failure(StoreFailure::Commit { path: self.path.clone(), source }),
                );
            }
            Interruption::Refused(Reason::Begin(Arc::new(source)))
        })
    }

    fn upkeep(&mut self, idle: bool) -> Result<Readiness, Reason> {
        if self.degraded {
            return Ok(Readiness::Ready { patience: None });
        }
        self.take_copied()?;
        let action = self.checkpoints.action(self.log.frames(), idle, self.in_pieces);
        if action != CheckpointAction::None && !self.leave_to_copier(action, idle) {
            self.checkpoint(action)?;
        }
        if let Some(time) = self.checkpoints.stall(self.log.frames())
            && self.disk_full.is_none()
        {
            self.report_stall();
            return Ok(Readiness::Stalled(time));
        }
        self.stalled = false;
        Ok(Readiness::Ready { patience: self.checkpoints.patience(self.log.frames()) })
    }

    fn report(&mut self, report: &GroupReport) {
        let board = &self.engine.board;
        self.transaction.recorder.tell();
        board.groups.add(1);
        board.commands.add(report.commands as u64);
        board.failed_commands.add(report.failed as u64);
        let rows = std::mem::take(&mut self.rows);
        self.in_pieces = std::mem::take(&mut self.did_piece);
        self.last_commands = report.commands;
        let piece_time = self.transaction.note_commit(report.commit);
        // At most milliseconds.
        board.piece_nanos.set(piece_time.as_nanos() as u64);
        if report.apply + report.commit > SLOW_GROUP {
            tracing::warn!(
                commands = report.commands, bytes = report.bytes, apply = ?report.apply,
                commit = ?report.commit, "slow group"
            );
        }
        let counted = (board.statements.get(), board.coalesced.get());
        let before = std::mem::replace(&mut self.counted, counted);
        if let Some(span) = self.span.take() {
            span.record("commands", report.commands);
            span.record("statements", counted.0 - before.0);
            span.record("coalesced", counted.1 - before.1);
            span.record("failed", report.failed);
            span.record("rows", rows);
            span.record("bytes", report.bytes);
            span.record("level", tracing::field::debug(report.level));
            span.record("apply", tracing::field::debug(report.apply));
            span.record("commit", tracing::field::debug(report.commit));
        }
    }

    fn panicked(message: &str) -> Reason {
        Reason::Failure(Arc::new(StoreFailure::WriterPanicked { message: message.to_owned() }))
    }
}
