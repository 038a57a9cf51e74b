//! The database as a stranger sees it, whatever the store says.

use crate::Result;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;
use tokio::task::block_in_place;

/// How long it waits for a lock of the store.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection of its own, to be dropped before the store is closed. It reads only.
///
/// Its I/O goes through the platform's own VFS, where nothing is delayed.
pub struct Observer(Connection);

impl Observer {
    pub fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self(connection))
    }

    pub fn journal_mode(&self) -> Result<String> {
        Ok(block_in_place(|| self.0.pragma_query_value(None, "journal_mode", |row| row.get(0)))?)
    }

    /// How many sessions the sandbox has.
    pub fn sessions_of(&self, sandbox_id: &str) -> Result<i64> {
        self.count("SELECT count(*) FROM ssh_session WHERE sandbox_id = ?1", sandbox_id)
    }

    /// How many of the sandbox's sessions are revoked.
    pub fn revoked_sessions_of(&self, sandbox_id: &str) -> Result<i64> {
        self.count("SELECT count(*) FROM ssh_session WHERE sandbox_id = ?1 AND revoked", sandbox_id)
    }

    fn count(&self, sql: &str, sandbox_id: &str) -> Result<i64> {
        Ok(block_in_place(|| self.0.query_row(sql, [sandbox_id], |row| row.get(0)))?)
    }
}
