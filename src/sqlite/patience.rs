//! How long opening waits for the locks of other programs.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Error, ffi};

use crate::error::OpenError;

/// What one call of SQLite may wait by itself while a store is being opened. Short, because not every
/// lock makes SQLite wait and opening has a time limit of its own: the loop below does the waiting.
const SINGLE_WAIT: Duration = Duration::from_millis(50);

/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Opening's time limit, shared by all its steps.
pub(crate) struct Patience {
    begun: Instant,
    limit: Duration,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { begun: Instant::now(), limit }
    }

    /// Lets `connection` wait only briefly by itself.
    pub(crate) fn lend(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(SINGLE_WAIT.min(self.limit))
    }

    /// Repeats `attempt` while it meets somebody's lock (SQLite's errors or `None`), until the limit.
    pub(crate) fn wait_for<T>(
        &self,
        path: &Path,
        doing: &'static str,
        mut attempt: impl FnMut() -> rusqlite::Result<Option<T>>,
    ) -> Result<T, OpenError> {
        let mut pause = Duration::from_millis(1);
        loop {
            match attempt() {
                Ok(Some(value)) => return Ok(value),
                Ok(None) => {}
                Err(error) if is_lock(&error) => {}
                Err(error) => return Err(OpenError::from_sqlite(path, doing, error)),
            }
            let waited = self.begun.elapsed();
            if waited >= self.limit {
                return Err(OpenError::Busy { path: path.to_path_buf(), doing, waited });
            }
            thread::sleep(pause.min(self.limit - waited));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Whether the error says that somebody else holds a lock just now.
fn is_lock(error: &Error) -> bool {
    // PROTOCOL is what SQLite says after it lost the race for a WAL's locks too many times.
    error.sqlite_error().is_some_and(|e| {
        let primary = e.extended_code & 0xff;
        primary == ffi::SQLITE_BUSY || primary == ffi::SQLITE_PROTOCOL
    })
}
