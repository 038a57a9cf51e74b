//! How often SQLite called.

use super::FileKind;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

/// Calls that have succeeded. A call that is held, delayed or failed is not (yet) in here, so a sync
/// that shows up has taken effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files opened.
    pub opens: u64,
    /// Reads, also those beyond the end of the file.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes in those writes.
    pub bytes_written: u64,
    /// Truncations.
    pub truncates: u64,
    /// Syncs of the file, also those that [`super::FaultVfs::lie_about_syncs`] made ineffective.
    pub syncs: u64,
    /// Deletions.
    pub deletes: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            opens: self.opens + other.opens,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            bytes_written: self.bytes_written + other.bytes_written,
            truncates: self.truncates + other.truncates,
            syncs: self.syncs + other.syncs,
            deletes: self.deletes + other.deletes,
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    /// What happened between `earlier` and now.
    fn sub(self, earlier: Self) -> Self {
        Self {
            opens: self.opens - earlier.opens,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            bytes_written: self.bytes_written - earlier.bytes_written,
            truncates: self.truncates - earlier.truncates,
            syncs: self.syncs - earlier.syncs,
            deletes: self.deletes - earlier.deletes,
        }
    }
}

/// The live counters of one VFS.
#[derive(Default)]
pub(super) struct Counters {
    by_kind: [Tally; FileKind::ALL.len()],
    open_files: AtomicUsize,
}

/// The live counters of one kind of file.
#[derive(Default)]
struct Tally {
    opens: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    truncates: AtomicU64,
    syncs: AtomicU64,
    deletes: AtomicU64,
}

impl Counters {
    fn of(&self, kind: FileKind) -> &Tally {
        &self.by_kind[kind as usize]
    }

    pub(super) fn opened(&self, kind: FileKind) {
        self.of(kind).opens.fetch_add(1, SeqCst);
        self.open_files.fetch_add(1, SeqCst);
    }

    pub(super) fn closed(&self) {
        self.open_files.fetch_sub(1, SeqCst);
    }

    pub(super) fn read(&self, kind: FileKind) {
        self.of(kind).reads.fetch_add(1, SeqCst);
    }

    pub(super) fn wrote(&self, kind: FileKind, bytes: usize) {
        self.of(kind).writes.fetch_add(1, SeqCst);
        self.of(kind).bytes_written.fetch_add(bytes as u64, SeqCst);
    }

    pub(super) fn truncated(&self, kind: FileKind) {
        self.of(kind).truncates.fetch_add(1, SeqCst);
    }

    pub(super) fn synced(&self, kind: FileKind) {
        self.of(kind).syncs.fetch_add(1, SeqCst);
    }

    pub(super) fn deleted(&self, kind: FileKind) {
        self.of(kind).deletes.fetch_add(1, SeqCst);
    }

    pub(super) fn open_files(&self) -> usize {
        self.open_files.load(SeqCst)
    }

    pub(super) fn counts(&self, kind: FileKind) -> Counts {
        let tally = self.of(kind);
        Counts {
            opens: tally.opens.load(SeqCst),
            reads: tally.reads.load(SeqCst),
            writes: tally.writes.load(SeqCst),
            bytes_written: tally.bytes_written.load(SeqCst),
            truncates: tally.truncates.load(SeqCst),
            syncs: tally.syncs.load(SeqCst),
            deletes: tally.deletes.load(SeqCst),
        }
    }
}
