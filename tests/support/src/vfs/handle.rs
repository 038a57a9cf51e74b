//! What the VFS does around each call on an open file.

use super::FaultVfs;
use super::kind::FileKind;
use super::plan::{Fault, Operation};
use super::trace::{Event, FileId, SyncEffect};
use rusqlite::ffi;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// One open file. Its methods take the real call as a closure and return SQLite's result code.
pub(super) struct Handle {
    pub(super) vfs: &'static FaultVfs,
    kind: FileKind,
    /// Where it is and which one; a temporary file, which no crash survives, has neither.
    recorded: Option<(PathBuf, FileId)>,
    /// SQLite's next successful sync of this file syncs its directory too.
    directory_sync_due: AtomicBool,
}

impl Handle {
    /// Opens a file: `open` does it and says whether there is a file object to be closed.
    ///
    /// Returns the code, and the handle when there is such an object.
    pub(super) fn open(
        vfs: &'static FaultVfs,
        path: Option<PathBuf>,
        flags: c_int,
        open: impl FnOnce() -> (c_int, bool),
    ) -> (c_int, Option<Self>) {
        let kind = FileKind::from_flags(flags);
        if let Some(code) = vfs.faults.code(Operation::Open, kind) {
            return (code, None);
        }
        let persistent = kind != FileKind::Other || flags & ffi::SQLITE_OPEN_SUPER_JOURNAL != 0;
        let path = path.filter(|_| persistent && flags & ffi::SQLITE_OPEN_DELETEONCLOSE == 0);

        let _alone = vfs.recorder.alone();
        let existed = path.as_deref().is_some_and(Path::exists);
        let (code, object) = open();
        if !object {
            return (code, None);
        }
        vfs.counters.opened(kind);
        let recorded = path.map(|path| {
            let id = vfs.recorder.opened(&path, kind, existed, &vfs.base);
            (path, id)
        });
        // As SQLite's unix VFS: a journal or WAL that is opened so that it may be made.
        let journal = recorded.is_some() && kind != FileKind::Database;
        let directory_sync_due = AtomicBool::new(journal && flags & ffi::SQLITE_OPEN_CREATE != 0);
        (code, Some(Self { vfs, kind, recorded, directory_sync_due }))
    }

    /// After the file was closed.
    pub(super) fn closed(&self) {
        self.vfs.counters.closed();
        if let Some((_, id)) = &self.recorded {
            self.vfs.recorder.closed(*id);
        }
    }

    pub(super) fn read(&self, buffer: &mut [u8], read: impl FnOnce(&mut [u8]) -> c_int) -> c_int {
        let fault = self.vfs.faults.strike(Operation::Read, self.kind);
        if let Some(Fault::Code(code)) = fault {
            return code;
        }
        let code = read(buffer);
        if code == ffi::SQLITE_OK || code == ffi::SQLITE_IOERR_SHORT_READ {
            self.vfs.counters.read(self.kind);
            if fault.is_some() {
                let half = buffer.len() / 2;
                buffer[half..].fill(0);
                return ffi::SQLITE_IOERR_SHORT_READ;
            }
        }
        code
    }

    pub(super) fn write(
        &self,
        data: &[u8],
        offset: u64,
        size: impl FnOnce() -> u64,
        write: impl FnOnce() -> c_int,
    ) -> c_int {
        if let Some(code) = self.vfs.faults.code(Operation::Write, self.kind) {
            return code;
        }
        let _changing = self.vfs.recorder.changing();
        let code = self.vfs.space.write(offset + data.len() as u64, size, write);
        if code == ffi::SQLITE_OK {
            self.vfs.counters.wrote(self.kind, data.len());
            self.record(|file| Event::Write { file, offset, data: data.into() });
        }
        code
    }

    pub(super) fn truncate(
        &self,
        size: u64,
        size_before: impl FnOnce() -> u64,
        truncate: impl FnOnce() -> c_int,
    ) -> c_int {
        if let Some(code) = self.vfs.faults.code(Operation::Truncate, self.kind) {
            return code;
        }
        let _changing = self.vfs.recorder.changing();
        let before = size_before();
        let code = truncate();
        if code == ffi::SQLITE_OK {
            self.vfs.counters.truncated(self.kind);
            self.vfs.space.give_back(before.saturating_sub(size));
            self.record(|file| Event::Truncate { file, size });
        }
        code
    }

    pub(super) fn sync(&self, sync: impl FnOnce() -> c_int) -> c_int {
        // Whatever is written while this call is held or delayed, by others, it does not cover.
        let begun = self.vfs.recorder.begin_sync();
        self.vfs.sync_gate.pass(self.kind);
        self.vfs.sleep_before_sync();
        match self.vfs.faults.strike(Operation::Sync, self.kind) {
            Some(Fault::Code(code)) => return code,
            Some(Fault::DropPages | Fault::ShortRead) => {
                if let Some((_, file)) = self.recorded {
                    let effect = SyncEffect::DroppedPages;
                    self.vfs.recorder.end_sync(begun, |covers| [Event::Sync { file, covers, effect }]);
                }
                return ffi::SQLITE_IOERR_FSYNC;
            }
            None => {}
        }
        let _changing = self.vfs.recorder.changing();
        let skipped = self.vfs.syncs_are_skipped.load(SeqCst);
        let code = if skipped { ffi::SQLITE_OK } else { sync() };
        if code == ffi::SQLITE_OK {
            self.vfs.counters.synced(self.kind);
            self.record_sync(begun);
        }
        code
    }

    fn record_sync(&self, begun: super::recorder::Begun) {
        let Some((path, file)) = &self.recorded else {
            return;
        };
        let recorder = &self.vfs.recorder;
        let directory_too = self.directory_sync_due.swap(false, SeqCst);
        let lie = self.vfs.lies();
        let effect = if lie { SyncEffect::Nothing } else { SyncEffect::Durable };
        let sync = |covers| Event::Sync { file: *file, covers, effect };
        match path.parent() {
            Some(directory) if directory_too && !lie => recorder.end_sync(begun, |covers| {
                let path = directory.to_owned();
                [sync(covers), Event::SyncDirectory { path, covers }]
            }),
            _ => recorder.end_sync(begun, |covers| [sync(covers)]),
        }
    }

    pub(super) fn lock(&self, lock: impl FnOnce() -> c_int) -> c_int {
        self.vfs.faults.code(Operation::Lock, self.kind).unwrap_or_else(lock)
    }

    pub(super) fn lock_shared_memory(&self, lock: impl FnOnce() -> c_int) -> c_int {
        self.vfs.faults.code(Operation::SharedMemoryLock, self.kind).unwrap_or_else(lock)
    }

    fn record(&self, event: impl FnOnce(FileId) -> Event) {
        if let Some((_, file)) = self.recorded {
            self.vfs.recorder.record(|| event(file));
        }
    }
}
