//! What the handle and the engine's threads share.

use std::time::Instant;

use super::close::Closers;
use super::process::Process;
use crate::board::Board;
use crate::changes::ChangeFeed;
use crate::fixup::FixupBoard;
use crate::keeper::KeeperInbox;
use crate::protocol::alarm::Alarm;
use crate::protocol::feed::FeedLimits;
use crate::protocol::limits::QueueLimits;
use crate::protocol::queue::CommandQueue;
use crate::search::SearchIndexes;
use crate::sqlite::reader::{ReadCommand, ReadRoster};
use crate::sqlite::session::{StopCheck, StopReason};
use crate::sqlite::writer::WriteCommand;
use crate::sync::Arc;

/// The shared middle: two queues, the clock, and what the threads tell.
pub(crate) struct Engine {
    pub(crate) writes: CommandQueue<WriteCommand>,
    pub(crate) reads: CommandQueue<ReadCommand>,
    pub(crate) alarm: Alarm,
    pub(crate) board: Board,
    pub(crate) roster: ReadRoster,
    /// Ends the SQL that the writer runs.
    pub(crate) write_stop: StopCheck,
    pub(crate) closers: Closers,
    pub(crate) keeper: KeeperInbox,
    pub(crate) searches: SearchIndexes,
    /// What was committed, for those who watch.
    pub(crate) changes: Arc<ChangeFeed>,
    pub(crate) fixups: FixupBoard,
    process: Process,
}

impl Engine {
    pub(crate) fn new(writes: QueueLimits, reads: QueueLimits, readers: usize, changes: FeedLimits) -> Self {
        Self {
            writes: CommandQueue::new(writes),
            reads: CommandQueue::new(reads),
            alarm: Alarm::new(),
            board: Board::default(),
            roster: ReadRoster::new(readers),
            write_stop: StopCheck::new(),
            closers: Closers::new(),
            keeper: KeeperInbox::new(),
            searches: SearchIndexes::default(),
            changes: Arc::new(ChangeFeed::new(changes)),
            fixups: FixupBoard::default(),
            process: Process::current(),
        }
    }

    /// The process that opened the store.
    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Whether this process is a fork of the one that opened the store. Asked before any lock is touched.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.process.was_forked()
    }

    /// Refuses new calls. What is admitted is still carried out. Never blocks.
    pub(crate) fn close(&self) {
        self.writes.close();
        self.reads.close();
    }

    /// Closes, and at the given moment gives up what was not started by then.
    pub(crate) fn close_until(&self, at: Instant) {
        self.close();
        self.closers.abandon_at(at);
        self.alarm.set(at);
    }

    /// What the alarm does: ends what has expired by `now`, and gives the next moment to look.
    pub(crate) fn ring(&self, now: Instant) -> Option<Instant> {
        if self.closers.must_abandon(now) {
            self.writes.abandon();
            self.reads.abandon();
            self.roster.stop_all(StopReason::Closing);
            if let Some(running) = self.write_stop.running() {
                self.write_stop.stop(running, StopReason::Closing);
            }
        }
        let closing = self.closers.expire(now, || self.still_running());
        [self.writes.expire(now), self.reads.expire(now), closing].into_iter().flatten().min()
    }

    /// Names what keeps a close from ending.
    fn still_running(&self) -> String {
        let write = self.board.write_started.age();
        let read = self.roster.oldest_snapshot();
        match (write, read) {
            (Some(age), _) => format!("a write (for {age:?})"),
            (None, Some(age)) => format!("a read (for {age:?})"),
            (None, None) => "the final checkpoint".to_owned(),
        }
    }
}
