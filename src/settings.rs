//! What was settled when a store was opened.

use std::path::PathBuf;
use std::time::Duration;

/// What was settled when a store was opened, as SQLite reported it afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The database file, with symbolic links resolved.
    pub path: PathBuf,
    /// The journal mode: `wal`, or `delete` in the degraded mode.
    pub journal_mode: String,
    /// The writer's `synchronous` level at rest: `full`, or `extra` in the degraded mode.
    pub synchronous: String,
    /// Bytes in a page of the database; left as it was found.
    pub page_size: u32,
    /// What each connection may keep of the database in memory, in bytes.
    pub page_cache_bytes: u64,
    /// Whether foreign keys are enforced.
    pub foreign_keys: bool,
    /// How long a connection waits for the locks of other programs.
    pub busy_timeout: Duration,
    /// The version of the SQLite that is linked into the program.
    pub sqlite_version: String,
    /// `PRAGMA user_version`: how many migrations have been applied.
    pub user_version: u32,
    /// `PRAGMA application_id`.
    pub application_id: i32,
    /// Whether the database file was created by this opening.
    pub created: bool,
    /// Whether an existing file was switched to WAL mode by this opening.
    pub converted: bool,
    /// Whether a WAL or a rollback journal had been left behind and was brought into the file.
    pub recovered: bool,
    /// The length of the WAL that was brought into the file, in bytes; 0 if there was none.
    pub wal_bytes_recovered: u64,
    /// How many migrations this opening applied.
    pub migrations_applied: u32,
    /// Whether the file can give freed space back: `PRAGMA auto_vacuum` is incremental. See
    /// [`StoreBuilder::reclaim_space`](crate::StoreBuilder::reclaim_space).
    pub reclaims_space: bool,
    /// Whether this opening rebuilt the file so that it can.
    pub rebuilt: bool,
}
