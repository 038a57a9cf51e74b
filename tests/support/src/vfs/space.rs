//! A disk with little room.

use crate::lock;
use rusqlite::ffi;
use std::ffi::c_int;
use std::sync::Mutex;

/// The bytes by which files may still grow; `None` is without end.
#[derive(Default)]
pub(super) struct Space {
    free: Mutex<Option<u64>>,
}

impl Space {
    pub(super) fn set_free(&self, bytes: Option<u64>) {
        *lock(&self.free) = bytes;
    }

    pub(super) fn free(&self) -> Option<u64> {
        *lock(&self.free)
    }

    /// Carries out a write that leaves its file at least `end` bytes long, if there is room.
    pub(super) fn write(&self, end: u64, size: impl FnOnce() -> u64, write: impl FnOnce() -> c_int) -> c_int {
        let mut free = lock(&self.free);
        let Some(bytes) = *free else {
            // Without a limit, writes need not wait for each other.
            drop(free);
            return write();
        };
        let growth = end.saturating_sub(size());
        if growth > bytes {
            return ffi::SQLITE_FULL;
        }
        let code = write();
        if code == ffi::SQLITE_OK {
            *free = Some(bytes - growth);
        }
        code
    }

    /// A file has become shorter by `bytes`.
    pub(super) fn give_back(&self, bytes: u64) {
        let mut free = lock(&self.free);
        *free = free.map(|room| room.saturating_add(bytes));
    }
}
