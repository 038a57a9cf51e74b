//! The write-ahead log as the writer sees it: how long it is, and how to sync it.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ffi};

use crate::error::SqliteError;

/// Bytes of a frame's header in the WAL file.
const FRAME_HEADER_BYTES: u64 = 24;
/// Bytes of the header of the WAL file.
const WAL_HEADER_BYTES: u64 = 32;
/// The hook has not been called since the last look.
const NOTHING_WRITTEN: i64 = -1;

/// Follows the length of the log through SQLite's hook.
pub(super) struct WalLog {
    /// Frames in the log after the last commit, or [`NOTHING_WRITTEN`]. Shared with the hook.
    reported: Arc<AtomicI64>,
    frames: u64,
    page_size: u64,
}

impl WalLog {
    /// Installs the hook, which also keeps SQLite from checkpointing by itself inside a COMMIT.
    pub(super) fn install(connection: &mut Connection, page_size: u32) -> Result<Self, SqliteError> {
        let reported = Arc::new(AtomicI64::new(NOTHING_WRITTEN));
        let hook = reported.clone();
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, frames: c_int| {
            hook.store(i64::from(frames), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { reported, frames: 0, page_size: u64::from(page_size) })
    }

    /// Whether a commit wrote frames since the last call.
    pub(super) fn take_written(&mut self) -> bool {
        let frames = self.reported.swap(NOTHING_WRITTEN, Ordering::Relaxed);
        if let Ok(frames) = u64::try_from(frames) {
            self.frames = frames;
        }
        frames != NOTHING_WRITTEN
    }

    /// Frames in the log that a reader or a checkpoint has to go through.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Says how many frames a checkpoint left.
    pub(super) fn set_frames(&mut self, frames: u64) {
        self.frames = frames;
    }

    /// The bytes that this many frames take in the file.
    pub(super) fn bytes_of(&self, frames: u64) -> u64 {
        if frames == 0 { 0 } else { WAL_HEADER_BYTES + frames * (self.page_size + FRAME_HEADER_BYTES) }
    }

    /// The frames that fit into this many bytes.
    pub(super) fn frames_in(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(WAL_HEADER_BYTES) / (self.page_size + FRAME_HEADER_BYTES)
    }
}

/// Syncs the log through SQLite's own file object, so that no descriptor of ours is ever opened on it.
///
/// Only outside a transaction, on the connection's own thread, after the connection has read once.
pub(super) fn sync(connection: &Connection) -> Result<(), SqliteError> {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is alive and used on its own thread; SQLite stores a pointer to its own file
    // object of the log, which lives as long as the connection. An object that is not open has no methods.
    let code = unsafe {
        let operation = ffi::SQLITE_FCNTL_JOURNAL_POINTER;
        let code = ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            operation,
            (&raw mut file).cast(),
        );
        if code != ffi::SQLITE_OK {
            code
        } else if file.is_null() || (*file).pMethods.is_null() {
            ffi::SQLITE_NOTFOUND
        } else {
            match (*(*file).pMethods).xSync {
                Some(sync) => sync(file, sync_flags()),
                None => ffi::SQLITE_NOTFOUND,
            }
        }
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()),
    }
}

/// macOS needs a stronger call than fsync to get past the drive's cache.
fn sync_flags() -> c_int {
    if cfg!(target_os = "macos") { ffi::SQLITE_SYNC_FULL } else { ffi::SQLITE_SYNC_NORMAL }
}

/// Whether a foreign key is still open in the present transaction.
pub(super) fn has_open_foreign_keys(connection: &Connection) -> bool {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the connection is alive and used on its own thread; both integers outlive the call.
    let code = unsafe {
        let status = ffi::SQLITE_DBSTATUS_DEFERRED_FKS;
        ffi::sqlite3_db_status(connection.handle(), status, &mut current, &mut highest, 0)
    };
    code != ffi::SQLITE_OK || current != 0
}

/// Whether the database file has lost its name or the name another file.
pub(super) fn has_moved(connection: &Connection) -> bool {
    let mut moved: c_int = 0;
    // SAFETY: the connection is alive and used on its own thread; the integer outlives the call.
    let code = unsafe {
        let operation = ffi::SQLITE_FCNTL_HAS_MOVED;
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), operation, (&raw mut moved).cast())
    };
    code == ffi::SQLITE_OK && moved != 0
}

/// Copies the whole log into the database file and cuts it, waiting for others at most this long.
pub(super) fn truncate(connection: &Connection, wait: Duration) -> Result<(), SqliteError> {
    connection.busy_timeout(wait)?;
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 {
        return Ok(());
    }
    let text = "another connection keeps the log in use".to_owned();
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), Some(text)).into())
}
