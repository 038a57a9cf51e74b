//! Which call fails, and how.

use super::FileKind;
use crate::lock;
use rusqlite::ffi;
use std::ffi::c_int;
use std::sync::Mutex;

/// A call of SQLite that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening a file. Default code: `SQLITE_CANTOPEN`.
    Open,
    /// Reading. Default code: `SQLITE_IOERR_READ`.
    Read,
    /// Writing. Default code: `SQLITE_IOERR_WRITE`; `SQLITE_FULL` is the other likely one.
    Write,
    /// Truncating. Default code: `SQLITE_IOERR_TRUNCATE`.
    Truncate,
    /// Syncing a file. Default code: `SQLITE_IOERR_FSYNC`.
    Sync,
    /// Locking the database file. Default code: `SQLITE_IOERR_LOCK`.
    Lock,
    /// Taking a lock in the shared memory of a WAL. Default code: `SQLITE_IOERR_SHMLOCK`.
    SharedMemoryLock,
    /// Deleting a file. Default code: `SQLITE_IOERR_DELETE`.
    Delete,
}

impl Operation {
    /// What SQLite's own VFS would most likely answer.
    fn default_code(self) -> c_int {
        match self {
            Self::Open => ffi::SQLITE_CANTOPEN,
            Self::Read => ffi::SQLITE_IOERR_READ,
            Self::Write => ffi::SQLITE_IOERR_WRITE,
            Self::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Self::Sync => ffi::SQLITE_IOERR_FSYNC,
            Self::Lock => ffi::SQLITE_IOERR_LOCK,
            Self::SharedMemoryLock => ffi::SQLITE_IOERR_SHMLOCK,
            Self::Delete => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

/// A plan: the n-th call that matches fails, once or from then on.
///
/// ```
/// use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};
///
/// // The second sync of a WAL fails, and every one after it.
/// let plan = FaultPlan::fail(Operation::Sync).on(FileKind::Wal).nth(2).from_then_on();
/// ```
#[derive(Clone, Debug)]
pub struct FaultPlan {
    operations: Vec<Operation>,
    kinds: Vec<FileKind>,
    nth: u64,
    sticky: bool,
    manner: Manner,
}

/// How a planned call fails.
#[derive(Clone, Copy, Debug)]
enum Manner {
    DefaultCode,
    Code(c_int),
    ShortRead,
    DropPages,
}

/// How one particular call has to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing is done, and this is answered.
    Code(c_int),
    /// The second half of what was asked for is missing.
    ShortRead,
    /// The sync fails, and what was to be synced will never reach the disk.
    DropPages,
}

impl FaultPlan {
    /// The first call of `operation` on any kind of file fails, once, with the operation's default
    /// code and without any effect.
    pub fn fail(operation: Operation) -> Self {
        Self {
            operations: vec![operation],
            kinds: Vec::new(),
            nth: 1,
            sticky: false,
            manner: Manner::DefaultCode,
        }
    }

    /// The first read delivers only the first half of what it was asked for, zeros for the rest, and
    /// answers `SQLITE_IOERR_SHORT_READ`.
    pub fn short_read() -> Self {
        Self { manner: Manner::ShortRead, ..Self::fail(Operation::Read) }
    }

    /// The first sync answers `SQLITE_IOERR_FSYNC`, and what was written to that file since its last
    /// sync is gone from the disk's point of view: reads still deliver it, and no later sync makes
    /// it durable. Only bytes that are written again can become durable.
    ///
    /// That is what Linux does: after a failed writeback the pages stay in the cache, marked clean.
    /// The model is exact to the byte, which is harsher than a kernel that writes whole pages.
    pub fn fail_sync_dropping_pages() -> Self {
        Self { manner: Manner::DropPages, ..Self::fail(Operation::Sync) }
    }

    /// Counts and fails calls of `operation` as well.
    ///
    /// # Panics
    /// On [`FaultPlan::short_read`] and [`FaultPlan::fail_sync_dropping_pages`], which make sense
    /// for one operation only.
    pub fn or(mut self, operation: Operation) -> Self {
        assert!(
            !matches!(self.manner, Manner::ShortRead | Manner::DropPages),
            "this manner of failing belongs to one operation"
        );
        self.operations.push(operation);
        self
    }

    /// Counts and fails only calls on files of `kind`; more calls of this method add more kinds.
    pub fn on(mut self, kind: FileKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// The `n`-th matching call after arming fails, counted from 1.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn nth(mut self, n: u64) -> Self {
        assert!(n > 0, "calls are counted from 1");
        self.nth = n;
        self
    }

    /// Every matching call after the first that fails also fails, until the plan is disarmed.
    pub fn from_then_on(mut self) -> Self {
        self.sticky = true;
        self
    }

    /// Answers `code` instead of the operation's default.
    ///
    /// # Panics
    /// When `code` is `SQLITE_OK`, or like [`FaultPlan::or`].
    pub fn with_code(mut self, code: c_int) -> Self {
        assert_ne!(code, ffi::SQLITE_OK, "a fault needs an error code");
        assert!(
            !matches!(self.manner, Manner::ShortRead | Manner::DropPages),
            "this manner of failing has a code of its own"
        );
        self.manner = Manner::Code(code);
        self
    }

    fn matches(&self, operation: Operation, kind: FileKind) -> bool {
        self.operations.contains(&operation) && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }
}

/// The plan that is armed, if any, and how far it is.
#[derive(Default)]
pub(super) struct Faults {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    plan: Option<FaultPlan>,
    matched: u64,
    fired: u64,
}

impl Faults {
    pub(super) fn arm(&self, plan: FaultPlan) {
        *lock(&self.state) = State { plan: Some(plan), matched: 0, fired: 0 };
    }

    pub(super) fn disarm(&self) {
        lock(&self.state).plan = None;
    }

    pub(super) fn fired(&self) -> u64 {
        lock(&self.state).fired
    }

    pub(super) fn matched(&self) -> u64 {
        lock(&self.state).matched
    }

    /// How this call has to fail, if it has to.
    pub(super) fn strike(&self, operation: Operation, kind: FileKind) -> Option<Fault> {
        let state = &mut *lock(&self.state);
        let plan = state.plan.as_ref().filter(|plan| plan.matches(operation, kind))?;
        state.matched += 1;
        let due = state.matched == plan.nth || (plan.sticky && state.matched > plan.nth);
        due.then(|| {
            state.fired += 1;
            match plan.manner {
                Manner::DefaultCode => Fault::Code(operation.default_code()),
                Manner::Code(code) => Fault::Code(code),
                Manner::ShortRead => Fault::ShortRead,
                Manner::DropPages => Fault::DropPages,
            }
        })
    }

    /// The code that this call has to answer, for operations that know no other way to fail.
    pub(super) fn code(&self, operation: Operation, kind: FileKind) -> Option<c_int> {
        match self.strike(operation, kind)? {
            Fault::Code(code) => Some(code),
            Fault::ShortRead | Fault::DropPages => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_matching_call_fails_once() {
        let faults = Faults::default();
        faults.arm(FaultPlan::fail(Operation::Write).or(Operation::Sync).on(FileKind::Wal).nth(2));
        assert_eq!(faults.code(Operation::Write, FileKind::Database), None);
        assert_eq!(faults.code(Operation::Read, FileKind::Wal), None);
        assert_eq!(faults.code(Operation::Write, FileKind::Wal), None);
        assert_eq!(faults.code(Operation::Sync, FileKind::Wal), Some(ffi::SQLITE_IOERR_FSYNC));
        assert_eq!(faults.code(Operation::Write, FileKind::Wal), None);
        assert_eq!(faults.fired(), 1);
        assert_eq!(faults.matched(), 3);
    }

    #[test]
    fn a_lasting_fault_ends_when_disarmed() {
        let faults = Faults::default();
        faults.arm(FaultPlan::fail(Operation::Write).from_then_on().with_code(ffi::SQLITE_FULL));
        for _ in 0..3 {
            assert_eq!(faults.code(Operation::Write, FileKind::Database), Some(ffi::SQLITE_FULL));
        }
        faults.disarm();
        assert_eq!(faults.code(Operation::Write, FileKind::Database), None);
        assert_eq!(faults.fired(), 3);
    }
}
