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
    /// The database as it was found, and what opening it took.
    pub opening: OpenReport,
}

/// What an opening found, and how long each of its steps took.
///
/// With [`Settings`] it says what was changed in a file that another program, or an older version of this one, has
/// written: `journal_mode_before` and [`Settings::journal_mode`], `user_version_before` and
/// [`Settings::user_version`]. The opening of a file that needs nothing writes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The journal mode; `None` if there was no database.
    pub journal_mode_before: Option<String>,
    /// The size of the database, in pages of [`Settings::page_size`] bytes.
    pub pages_before: u64,
    /// `PRAGMA user_version`.
    pub user_version_before: u32,
    /// How many migrations the program recognised in a schema without a version: see
    /// [`StoreBuilder::recognise`](crate::StoreBuilder::recognise).
    pub recognised: Option<u32>,
    /// The [`Fixup`](crate::Fixup)s that were done in this file before, whether the program still has them or not.
    pub fixups_done: Vec<String>,
    /// The steps in their order. The opening of the readers is not among them.
    pub steps: Vec<OpenStep>,
}

/// A step of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenStep {
    /// What was done, in words for people, such as `switch to WAL mode`: they may change.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}
