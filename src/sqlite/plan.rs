//! What a store is to be opened with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::files::schema_look::SchemaLook;
use crate::error::ClosureError;
use crate::fixup::Fixup;
use crate::migration::Migration;
use crate::retention::Retention;
use crate::sync::Arc;

/// The user's own preparation of every connection: functions, collations, settings.
pub(crate) type ConnectionHook = Arc<dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync>;

/// The user's own look at a schema that has no version.
pub(crate) type Recogniser = Arc<dyn Fn(&SchemaLook<'_>) -> Result<Option<u32>, ClosureError> + Send + Sync>;

/// What a store is to be opened with.
#[derive(Clone)]
pub(crate) struct OpenPlan {
    pub path: PathBuf,
    /// Whether a missing database is created.
    pub create: bool,
    /// Whether the missing folders above it are made.
    pub create_parents: bool,
    /// The SQLite VFS; `None` is SQLite's default.
    pub vfs: Option<String>,
    /// How long a connection waits for the locks of other programs, once the store is open.
    pub busy_budget: Duration,
    /// How long opening may wait for the locks of other programs.
    pub open_timeout: Duration,
    pub page_cache_bytes: u64,
    /// Whether a database that cannot be switched to WAL is refused; else the store degrades and says so.
    pub require_wal: bool,
    pub application_id: Option<i32>,
    pub hook: Option<ConnectionHook>,
    pub migrations: Vec<Migration>,
    pub retention: Vec<Retention>,
    /// Says how many migrations a schema without a version has already.
    pub recogniser: Option<Recogniser>,
    pub fixups: Vec<Fixup>,
    pub reclaim: Reclaim,
}

/// Whether the file is to give freed space back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reclaim {
    Off,
    /// If it can: it was made for it.
    IfPossible,
    /// A file that was not is rebuilt.
    Rebuild,
}

impl OpenPlan {
    /// Adds a fix-up, in the place of one of the same name if there is one.
    pub fn add_fixup(&mut self, fixup: Fixup) {
        match self.fixups.iter_mut().find(|other| other.name() == fixup.name()) {
            Some(other) => *other = fixup,
            None => self.fixups.push(fixup),
        }
    }
}

impl OpenPlan {
    /// A connection to the file at `path`, through the VFS that was asked for. What it may do is up to `flags`.
    pub(crate) fn connect(&self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs.as_str()),
            None => Connection::open_with_flags(path, flags),
        }
    }
}
