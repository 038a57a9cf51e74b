//! What a file is to SQLite.

use rusqlite::ffi;
use std::ffi::c_int;
use std::path::Path;

/// The role of a file, so that counters and faults can be aimed at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// The database file itself.
    Database,
    /// The write-ahead log (`-wal`).
    Wal,
    /// The rollback journal (`-journal`).
    Journal,
    /// Everything else: super-journals, statement journals, temporary databases.
    Other,
}

impl FileKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Database, Self::Wal, Self::Journal, Self::Other];

    /// The kind that SQLite names in the flags of an open.
    pub(super) fn from_flags(flags: c_int) -> Self {
        if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            Self::Database
        } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
            Self::Wal
        } else if flags & ffi::SQLITE_OPEN_MAIN_JOURNAL != 0 {
            Self::Journal
        } else {
            Self::Other
        }
    }

    /// The kind that a name suggests. A delete says no more than the name.
    pub(super) fn from_path(path: &Path) -> Self {
        let name = path.as_os_str().as_encoded_bytes();
        if name.ends_with(b"-wal") {
            Self::Wal
        } else if name.ends_with(b"-journal") {
            Self::Journal
        } else {
            Self::Other
        }
    }
}
