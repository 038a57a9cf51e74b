//! The writer: owner of the only connection that can change rows.

use std::ops::Range;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;

use super::checkpoint::CheckpointPolicy;
use super::copier::{Copier, CopyDesk};
use super::growth::Growth;
use super::opening;
use super::storage::SqliteStorage;
use super::transaction::{Transaction, WriteLimits};
use super::wal_log::{self, WalLog};
use crate::error::{CloseError, OpenError, SqliteError};
use crate::handle::Engine;
use crate::protocol::ledger::Sequencer;
use crate::protocol::limits::GroupLimits;
use crate::protocol::writer_loop;
use crate::retention::SweepPlan;
use crate::settings::Settings;
use crate::sqlite::files::owner_lock::OwnerLock;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::reason::Reason;
use crate::sqlite::session::SessionState;
use crate::sync::Arc;

/// How long the last checkpoint waits for other programs.
const LAST_CHECKPOINT_WAIT: Duration = Duration::from_millis(500);

/// The bounds of the write-ahead log, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalLimits {
    pub(crate) soft_bytes: u64,
    pub(crate) hard_bytes: u64,
}

/// What the writer needs to know beside the plan of opening.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriterLimits {
    pub(crate) group: GroupLimits,
    pub(crate) write: WriteLimits,
    pub(crate) wal: WalLimits,
    /// Row commands on one key may be carried out as one statement.
    pub(crate) coalescing: bool,
    /// A read is granted this age also when it keeps the log from shrinking.
    pub(crate) least_read_age: Duration,
    /// A read that is older and still there cannot be ended.
    pub(crate) greatest_read_age: Duration,
}

/// The writer, on its own thread.
pub(crate) struct Writer {
    storage: SqliteStorage,
    limits: WriterLimits,
    sequences: Range<u64>,
    // Dropped last: nobody may open the file before everything else is released.
    lock: OwnerLock,
}

impl Writer {
    /// Opens the file and settles everything, see [`opening`].
    pub(crate) fn open(
        plan: &OpenPlan,
        limits: WriterLimits,
        engine: Arc<Engine>,
    ) -> Result<(Self, Settings, Vec<SweepPlan>), OpenError> {
        let opened = opening::open(plan)?;
        let mut connection = opened.connection;
        let settings = opened.settings;
        let set_up =
            |source: SqliteError| OpenError::from_sqlite(&opened.path, "preparing the connection", source);
        let log = WalLog::install(&mut connection, settings.page_size).map_err(set_up)?;
        let state = SessionState::install(&mut connection, engine.write_stop.clone())
            .map_err(|source| set_up(source.into()))?;
        let transaction =
            Transaction::new(connection, state, limits.write, engine.changes.clone()).map_err(set_up)?;
        // From here on a change of it is somebody else's: also one before the first group.
        let data_version = transaction.data_version().map_err(set_up)?;
        let checkpoints = CheckpointPolicy::new(
            log.frames_in(limits.wal.soft_bytes).max(1),
            log.frames_in(limits.wal.hard_bytes).max(2),
        );
        if opened.degraded {
            engine.board.set_degraded();
        }
        let storage = SqliteStorage {
            transaction,
            log,
            checkpoints,
            engine,
            path: opened.path,
            identity: opened.identity,
            busy_budget: settings.busy_timeout,
            least_read_age: limits.least_read_age,
            greatest_read_age: limits.greatest_read_age,
            degraded: opened.degraded,
            level: None,
            next_look: Instant::now(),
            foreign: false,
            data_version,
            copied_frames: 0,
            copies: CopyDesk::new(),
            last_commands: 0,
            disk_full: None,
            rows: 0,
            last_sequence: 0,
            reported_pinned: None,
            span: None,
            stalled: false,
            did_piece: false,
            in_pieces: false,
            coalescing: limits.coalescing,
            counted: (0, 0),
            growth: Growth::new(&opened.sweeps),
        };
        let writer = Self { storage, limits, sequences: opened.sequences, lock: opened.lock };
        Ok((writer, settings, opened.sweeps))
    }

    /// Who copies the log beside the writer, for a thread of its own. `None`: there is no log.
    pub(crate) fn open_copier(&self, plan: &OpenPlan) -> Result<Option<Copier>, OpenError> {
        let SqliteStorage { degraded, path, copies, .. } = &self.storage;
        (!degraded).then(|| Copier::open(plan, path, copies.clone())).transpose()
    }

    /// Lets the copier's thread end.
    pub(crate) fn stop_copier(&self) {
        self.storage.copies.finish();
    }

    /// Serves the queue until it is closed and empty, or until the engine must stop.
    pub(crate) fn run(&mut self) -> Result<(), Reason> {
        let engine = self.storage.engine.clone();
        let sequencer = Sequencer::new(self.sequences.clone());
        let end = writer_loop::run(&engine.writes, &mut self.storage, self.limits.group, sequencer);
        self.storage.span = None;
        if end.is_err()
            && let Err(error) = self.storage.transaction.abandon()
        {
            // A panic may have come in the middle of a transaction, whose lock others would wait for until the
            // store is closed.
            tracing::error!(%error, "the last transaction could not be rolled back");
        }
        end
    }

    /// Copies the log into the file, closes the connection and gives up the file. After a failure nothing
    /// is copied: the next open settles what is on disk.
    pub(crate) fn close(self) -> Result<(), CloseError> {
        let Self { storage, lock, .. } = self;
        // Writes since the last look may have gone to a file without a name, and a log in the place of ours is
        // not ours to delete.
        if storage.engine.board.failure().is_none() && storage.check_file().is_err() {
            tracing::error!(path = %storage.path.display(), "the database was deleted or replaced");
        }
        let failure = storage.engine.board.failure();
        let degraded = storage.degraded;
        let connection = storage.transaction.into_connection();
        let mut copied = Ok(());
        if failure.is_none() && !degraded {
            copied = wal_log::truncate(&connection, LAST_CHECKPOINT_WAIT);
            if copied.is_ok() {
                // Nothing is left in the log: let SQLite remove the sidecars as it closes.
                let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
            }
        }
        // If its name is gone already, the file ends with this connection, and its inode may be another's
        // before the lock is given up.
        lock.uncover();
        let closed = connection.close().map_err(|(_, error)| SqliteError::from(error));
        drop(lock);
        match failure {
            Some(failure) => Err(CloseError::Stopped(failure)),
            None => closed
                .map_err(|error| CloseError::StatementsLeft(Arc::new(error)))
                .and(copied.map_err(|error| CloseError::Checkpoint(Arc::new(error)))),
        }
    }
}
