//! Copying the log into the database file on a thread of its own, while the writer goes on.
//!
//! A checkpoint of a log at its soft limit takes some milliseconds, and everybody who writes meanwhile would wait for it.
//! So under load the copier does the long part of it, and the writer the last step: the few frames that came meanwhile,
//! after which the log starts over. The copier's connection cannot change rows (`query_only`).
//!
//! The writer asks and hears the answer at its own upkeep; the copier decides nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::error::{OpenError, SqliteError};
use crate::protocol::foreign_code::guarded;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::settings::{self, SYNCHRONOUS_FULL};
use crate::sync::{Arc, Condvar, Mutex};

const DOING: &str = "opening the connection that copies the log";

/// What a checkpoint left in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CheckpointProgress {
    /// Frames in the log, as far as SQLite told.
    pub(super) frames: u64,
    /// Those of them that are in the database file.
    pub(super) copied: u64,
    /// The log cannot start over yet: not all is copied, or a reader still needs it.
    pub(super) pinned: bool,
}

/// Where the writer leaves its wish and the copier its answer.
pub(super) struct CopyDesk {
    state: Mutex<CopyState>,
    changed: Condvar,
}

enum CopyState {
    Idle,
    Asked,
    Copying,
    Copied(Result<CheckpointProgress, SqliteError>),
    /// The store closes, or the copier has ended.
    Over,
}

impl CopyDesk {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(CopyState::Idle), changed: Condvar::new() })
    }

    /// Asks for a copy. Whether the copier takes it.
    pub(super) fn ask(&self) -> bool {
        let mut state = self.state.lock();
        if !matches!(*state, CopyState::Idle) {
            return false;
        }
        *state = CopyState::Asked;
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Whether a copy is under way.
    pub(super) fn is_busy(&self) -> bool {
        matches!(*self.state.lock(), CopyState::Asked | CopyState::Copying)
    }

    /// Takes what became of the copy that was asked for, if it is done.
    pub(super) fn take_copied(&self) -> Option<Result<CheckpointProgress, SqliteError>> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, CopyState::Idle) {
            CopyState::Copied(result) => Some(result),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Ends the copier, after the copy that is under way.
    pub(super) fn finish(&self) {
        *self.state.lock() = CopyState::Over;
        self.changed.notify_one();
    }

    /// Waits for a wish. `false`: there will be none.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            match *state {
                CopyState::Asked => {
                    *state = CopyState::Copying;
                    return true;
                }
                CopyState::Over => return false,
                _ => self.changed.wait(&mut state),
            }
        }
    }

    fn answer(&self, result: Result<CheckpointProgress, SqliteError>) {
        let mut state = self.state.lock();
        if matches!(*state, CopyState::Copying) {
            *state = CopyState::Copied(result);
        }
    }
}

/// The copier, on its own thread.
pub(crate) struct Copier {
    desk: Arc<CopyDesk>,
    connection: Connection,
}

impl Copier {
    /// Opens its connection to the file at `path` (canonical), which the writer has opened.
    pub(super) fn open(plan: &OpenPlan, path: &Path, desk: Arc<CopyDesk>) -> Result<Self, OpenError> {
        let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = plan.connect(path, flags).map_err(sqlite)?;
        settings::apply(plan, path, &connection, SYNCHRONOUS_FULL)?;
        connection.pragma_update(None, "query_only", 1).map_err(sqlite)?;
        settings::expect(path, "query_only", 1, settings::read(&connection, "query_only").map_err(sqlite)?)?;
        // Who finds the log in use comes again later.
        connection.busy_timeout(Duration::ZERO).map_err(sqlite)?;
        Ok(Self { desk, connection })
    }

    /// Copies whenever it is asked to, until the store closes.
    pub(crate) fn serve(self) {
        while self.desk.wait() {
            let began = Instant::now();
            // The writer itself knows how long the log is.
            let copied = guarded(|| checkpoint(&self.connection, "PASSIVE", 0));
            let copied = copied.unwrap_or_else(|message| Err(panicked(message)));
            tracing::debug!(?copied, time = ?began.elapsed(), "copied the log beside the writer");
            self.desk.answer(copied);
        }
    }
}

/// Runs one checkpoint in one of SQLite's modes. `frames` are in the log as far as is known: while another connection
/// copies it, SQLite does not say.
pub(super) fn checkpoint(
    connection: &Connection,
    mode: &str,
    frames: u64,
) -> Result<CheckpointProgress, SqliteError> {
    let known = frames;
    let progress = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        let (busy, frames, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // -1: another connection copies the log; or it has never been read in this process, which means that it is
        // empty.
        let count = |frames: i64| u64::try_from(frames).unwrap_or(0);
        Ok(if busy != 0 && frames < 0 {
            CheckpointProgress { frames: known, copied: 0, pinned: true }
        } else if busy == 0 && mode != "PASSIVE" {
            CheckpointProgress { frames: 0, copied: 0, pinned: false }
        } else {
            // PASSIVE is never busy, also if it could not copy all.
            let (frames, copied) = (count(frames), count(copied));
            CheckpointProgress { frames, copied, pinned: busy != 0 || copied < frames }
        })
    })?;
    Ok(progress)
}

fn panicked(message: String) -> SqliteError {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERNAL);
    rusqlite::Error::SqliteFailure(error, Some(message)).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Migration, Store};

    #[test]
    fn its_connection_changes_no_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let create = Migration::sql("CREATE TABLE t (id INTEGER PRIMARY KEY)");
        let store = Store::builder(&path).migrations(&[create]).open().wait().unwrap();
        store.execute("INSERT INTO t VALUES (1)", ()).wait().unwrap();
        let plan = crate::sqlite::writer::opening::tests::plan(&path);
        let copier = Copier::open(&plan, &store.settings().path, CopyDesk::new()).unwrap();
        for sql in ["INSERT INTO t VALUES (2)", "DELETE FROM t", "DROP TABLE t", "PRAGMA user_version = 7"] {
            assert!(copier.connection.execute_batch(sql).is_err(), "{sql}");
        }
        let progress = checkpoint(&copier.connection, "PASSIVE", 0).unwrap();
        assert!(progress.frames > 0 && progress.copied == progress.frames && !progress.pinned);
        drop(copier);
        store.execute("INSERT INTO t VALUES (3)", ()).wait().unwrap();
        store.close().wait().unwrap();
    }

    #[test]
    fn it_is_asked_for_one_copy_at_a_time_and_ends_when_it_is_told() {
        let desk = CopyDesk::new();
        assert!(desk.ask() && !desk.ask() && desk.is_busy());
        assert!(desk.wait());
        assert!(!desk.ask() && desk.take_copied().is_none());
        let progress = CheckpointProgress { frames: 3, copied: 3, pinned: false };
        desk.answer(Ok(progress));
        assert!(!desk.is_busy());
        assert_eq!(desk.take_copied().unwrap().unwrap(), progress);
        assert!(desk.take_copied().is_none() && desk.ask());
        desk.finish();
        assert!(!desk.wait() && !desk.ask());
        desk.answer(Ok(progress));
        assert!(desk.take_copied().is_none());
    }
}
