//! What the writer must remember from group to group: what is synced, and which sequences are free.

use std::ops::Range;

use super::level::AckLevel;
use super::storage::Committed;

/// Whether something may have been written since the last sync.
///
/// A durable group that writes nothing syncs nothing by itself. If an earlier commit at the weaker level is
/// still unsynced then, the answer would promise more than the disk holds.
#[derive(Debug)]
pub(crate) struct SyncLedger {
    dirty: bool,
}

impl SyncLedger {
    /// Starts dirty: what was there before this run is nobody's promise yet.
    pub(crate) fn new() -> Self {
        Self { dirty: true }
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty
    }

    pub(crate) fn committed(&mut self, level: AckLevel, committed: Committed) {
        self.dirty |= committed.foreign;
        match (committed.wrote, level) {
            (false, _) => {}
            // The sync of a durable COMMIT covers the whole log, also what others wrote before.
            (true, AckLevel::Durable) => self.dirty = false,
            (true, AckLevel::Committed) => self.dirty = true,
        }
    }

    pub(crate) fn synced(&mut self) {
        self.dirty = false;
    }
}

/// Gives out commit sequences from a range that was reserved durably.
#[derive(Debug)]
pub(crate) struct Sequencer {
    free: Range<u64>,
}

impl Sequencer {
    pub(crate) fn new(free: Range<u64>) -> Self {
        Self { free }
    }

    /// Whether `count` more can be given out.
    pub(crate) fn has(&self, count: usize) -> bool {
        self.free.end.saturating_sub(self.free.start) >= count as u64
    }

    /// Goes on in a new range; what is left of the old one is never used.
    pub(crate) fn refill(&mut self, range: Range<u64>) {
        self.free = range;
    }

    /// The next sequence. Callers ask [`has`](Self::has) first.
    pub(crate) fn next(&mut self) -> u64 {
        self.next_block(1)
    }

    /// The first of the next `count` sequences. Callers ask [`has`](Self::has) first.
    pub(crate) fn next_block(&mut self, count: usize) -> u64 {
        debug_assert!(self.has(count), "sequences are reserved before a group begins");
        let first = self.free.start;
        self.free.start += count as u64;
        first
    }
}
