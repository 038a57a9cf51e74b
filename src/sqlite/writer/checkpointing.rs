//! Carrying out checkpoints: what the policy asks for, by the writer itself or with the copier's help.

use std::time::{Duration, Instant};

use rusqlite::ffi;

use super::checkpoint::CheckpointAction;
use super::copier::{self, CheckpointProgress};
use super::storage::SqliteStorage;
use crate::error::{SqliteError, StoreFailure};
use crate::sqlite::reason::Reason;
use crate::sqlite::session::StopReason;
use crate::sync::Arc;

/// Between two reports of reads that cannot be ended.
const REPORT_STUCK_READS: Duration = Duration::from_secs(10);
/// How long a forced checkpoint waits for readers.
const FORCED_WAIT: Duration = Duration::from_millis(20);
/// With so many commands in the last group many are likely to wait for a checkpoint: then the copier makes it (64
/// clients, a sync of 0.4 ms: p99 2.6 ms instead of 4.1, at the same throughput). For fewer the writer alone is quicker.
const MANY_COMMANDS: usize = 4;

impl SqliteStorage {
    pub(super) fn checkpoint(&mut self, action: CheckpointAction) -> Result<(), Reason> {
        let wait = if action == CheckpointAction::Force {
            self.engine.roster.stop_older_than(self.least_read_age, StopReason::WalPressure);
            FORCED_WAIT
        } else {
            Duration::ZERO
        };
        let mode = if action == CheckpointAction::Truncate { "TRUNCATE" } else { "RESTART" };
        let began = Instant::now();
        let result = self.run_checkpoint(mode, wait);
        if let Ok(progress) = &result {
            self.log.set_frames(progress.frames);
            tracing::debug!(mode, ?progress, time = ?began.elapsed(), "checkpoint");
        }
        self.settle_checkpoint(action, result)
    }

    /// Leaves the checkpoint to the copier, if it is there for it or at work already.
    pub(super) fn leave_to_copier(&self, action: CheckpointAction, idle: bool) -> bool {
        let is_worth_it = action == CheckpointAction::Copy && !idle && self.last_commands >= MANY_COMMANDS;
        (is_worth_it && self.copies.ask()) || self.copies.is_busy()
    }

    /// Hears what the copier did, and does the last step: few frames are left, and the log starts over.
    pub(super) fn take_copied(&mut self) -> Result<(), Reason> {
        let Some(result) = self.copies.take_copied() else { return Ok(()) };
        let frames = self.log.frames();
        let result = match result {
            // Everything was copied, and a commit since then let the log start over.
            Ok(progress) if frames < progress.copied => {
                Ok(CheckpointProgress { frames, copied: 0, pinned: false })
            }
            Ok(progress) if !progress.pinned => return self.checkpoint(CheckpointAction::Copy),
            result => result.map(|progress| CheckpointProgress { frames, ..progress }),
        };
        self.settle_checkpoint(CheckpointAction::Copy, result)
    }

    fn settle_checkpoint(
        &mut self,
        action: CheckpointAction,
        result: Result<CheckpointProgress, SqliteError>,
    ) -> Result<(), Reason> {
        match result {
            Ok(progress) => {
                self.copied_frames = progress.copied;
                self.disk_full = None;
                self.checkpoints.finished(action, progress.frames, progress.pinned);
                self.engine.board.checkpoints.add(1);
                self.show_log();
                if progress.pinned {
                    self.report_stuck_reads();
                }
                Ok(())
            }
            Err(error) if is_passing(error.code()) => {
                tracing::warn!(%error, "a checkpoint could not be made; it is tried again");
                self.checkpoints.finished(action, self.log.frames(), true);
                self.disk_full = (error.code() == ffi::SQLITE_FULL).then(|| Arc::new(error));
                Ok(())
            }
            Err(source) => Err(self.failure(StoreFailure::Checkpoint { path: self.path.clone(), source })),
        }
    }

    /// A closure that holds its rows and runs no SQL cannot be ended: then somebody should hear of it.
    fn report_stuck_reads(&mut self) {
        let Some(age) = self.engine.roster.oldest_snapshot() else { return };
        let recently = self.reported_pinned.is_some_and(|at| at.elapsed() < REPORT_STUCK_READS);
        if age > self.greatest_read_age && !recently {
            self.reported_pinned = Some(Instant::now());
            tracing::warn!(?age, "a read that cannot be ended keeps the write-ahead log from starting over");
        }
    }

    /// Why nothing may be written now, if the log is at its hard limit because the disk is full.
    ///
    /// Readers that hold the log end some time, and writes wait for that. Room on the disk may never come:
    /// callers are told. Every group tries again.
    pub(super) fn refused_for_room(&self) -> Option<Arc<SqliteError>> {
        self.checkpoints.stall(self.log.frames()).and(self.disk_full.clone())
    }

    /// Tells once, when it begins, that writes are held back, and what by.
    pub(super) fn report_stall(&mut self) {
        self.engine.board.stalls.add(1);
        if !std::mem::replace(&mut self.stalled, true) {
            tracing::warn!(
                path = %self.path.display(), wal_bytes = self.log.bytes_of(self.log.frames()),
                oldest_read = ?self.engine.roster.oldest_snapshot(),
                "writes wait: the log is at its hard limit, and a reader, here or in another program, or another \
                 program's checkpoint keeps it"
            );
        }
    }

    fn run_checkpoint(&self, mode: &str, wait: Duration) -> Result<CheckpointProgress, SqliteError> {
        let connection = self.connection();
        connection.busy_timeout(wait)?;
        let result = copier::checkpoint(connection, mode, self.log.frames());
        connection.busy_timeout(self.busy_budget)?;
        result
    }
}

/// Errors that leave the log as it was: the disk is full, or someone else holds a lock.
pub(super) fn is_passing(code: i32) -> bool {
    matches!(code, ffi::SQLITE_FULL | ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED)
}
