//! A look at the engine from outside.

use std::time::Duration;

use super::engine::Engine;
use crate::error::StoreFailure;
use crate::keeper::ChoreStats;
use crate::sync::{Arc, now};

/// How a store is doing. See [`Store::stats`](crate::Store::stats).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Whether the store works, and if not, why.
    pub state: StoreState,
    /// Commands admitted and not yet taken by the writer.
    pub queued_commands: usize,
    /// Bytes that they hold.
    pub queued_bytes: usize,
    /// Callers whose writes wait for room in the queue.
    pub waiting_writers: usize,
    /// Reads that no reader has taken yet.
    pub queued_reads: usize,
    /// Groups that the writer has carried out.
    pub groups: u64,
    /// Commands in them, failed ones included.
    pub commands: u64,
    /// SQL statements that were run for them to change rows. A closure counts as one, and so does a piece of work
    /// on many rows.
    pub statements: u64,
    /// Row commands that needed no statement of their own, because that of another one on the same key carried them
    /// out too.
    pub coalesced: u64,
    /// Commands that failed.
    pub failed_commands: u64,
    /// Reads that were carried out, failed ones included.
    pub reads: u64,
    /// Closures that panicked, in writes and reads.
    pub panics: u64,
    /// Syncs of the write-ahead log that answers waited for: those of durable commits, and those between groups. The
    /// syncs of checkpoints are not among them.
    pub syncs: u64,
    /// Checkpoints that the writer made.
    pub checkpoints: u64,
    /// How often another program was found to have written to the file.
    pub foreign_writes: u64,
    /// How often the writer held writes back because the write-ahead log was at its hard limit.
    pub stalls: u64,
    /// Bytes of the part of the write-ahead log that is in use.
    pub wal_bytes: u64,
    /// Frames of it that were not yet copied into the database file, as of the last group or checkpoint.
    pub wal_pending_frames: u64,
    /// How long the write that is in progress has been running.
    pub running_write: Option<Duration>,
    /// How long ago the oldest read in progress was sent.
    pub oldest_read: Option<Duration>,
    /// How long the oldest snapshot in use has been held: what keeps the log from starting over.
    pub oldest_snapshot: Option<Duration>,
    /// The commit sequence of the last command that was carried out, 0 if there was none.
    pub last_sequence: u64,
    /// Work that the store does by itself beside that of its callers, a line for each.
    pub chores: Vec<ChoreStats>,
}

/// Whether a store works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreState {
    /// It takes commands.
    Running,
    /// It takes commands, but the file is not in WAL mode: reads and writes wait for each other.
    Degraded,
    /// It acknowledges nothing more until it is opened again. Reads go on.
    Failed(Arc<StoreFailure>),
    /// It is closed.
    Closed,
    /// It was opened before this process was forked, and belongs to the parent. Nothing else is known here.
    Forked,
}

impl Stats {
    pub(crate) fn of(engine: &Engine) -> Self {
        if engine.is_forked() {
            return Self::in_a_fork();
        }
        let (board, writes) = (&engine.board, engine.writes.depth());
        let state = match board.state() {
            (true, _, _) => StoreState::Closed,
            (_, _, Some(failure)) => StoreState::Failed(failure),
            (_, true, None) => StoreState::Degraded,
            (_, false, None) => StoreState::Running,
        };
        Self {
            state,
            queued_commands: writes.commands,
            queued_bytes: writes.bytes,
            waiting_writers: writes.waiting,
            queued_reads: engine.reads.depth().commands,
            groups: board.groups.get(),
            commands: board.commands.get(),
            statements: board.statements.get(),
            coalesced: board.coalesced.get(),
            failed_commands: board.failed_commands.get(),
            reads: board.reads.get(),
            panics: board.panics.get(),
            syncs: board.syncs.get(),
            checkpoints: board.checkpoints.get(),
            foreign_writes: board.foreign_writes.get(),
            stalls: board.stalls.get(),
            wal_bytes: board.wal_bytes.get(),
            wal_pending_frames: board.wal_pending_frames.get(),
            running_write: board.write_started.age(),
            oldest_read: engine.roster.oldest(),
            oldest_snapshot: engine.roster.oldest_snapshot(),
            last_sequence: board.last_sequence.get(),
            chores: engine.keeper.reports.stats(now()),
        }
    }

    /// What a forked child can tell without touching a lock.
    fn in_a_fork() -> Self {
        Self {
            state: StoreState::Forked,
            queued_commands: 0,
            queued_bytes: 0,
            waiting_writers: 0,
            queued_reads: 0,
            groups: 0,
            commands: 0,
            statements: 0,
            coalesced: 0,
            failed_commands: 0,
            reads: 0,
            panics: 0,
            syncs: 0,
            checkpoints: 0,
            foreign_writes: 0,
            stalls: 0,
            wal_bytes: 0,
            wal_pending_frames: 0,
            running_write: None,
            oldest_read: None,
            oldest_snapshot: None,
            last_sequence: 0,
            chores: Vec::new(),
        }
    }
}
