//! The writable connection itself.

use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::OpenError;
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::settings;

const DOING: &str = "opening the writable connection";

/// The first SQLite in which a WAL that is reset while it is checkpointed cannot be corrupted.
const FIRST_SAFE: i32 = 3_051_003;

/// Whether the SQLite of this version number may be used.
pub(super) const fn is_safe(version_number: i32) -> bool {
    version_number >= FIRST_SAFE
}

/// Refuses a linked SQLite that can corrupt a WAL.
pub(super) fn check_version(path: &Path, version_number: i32) -> Result<(), OpenError> {
    if is_safe(version_number) {
        return Ok(());
    }
    let (major, rest) = (version_number / 1_000_000, version_number % 1_000_000);
    let found = format!("{major}.{}.{}", rest / 1000, rest % 1000);
    Err(OpenError::UnsafeSqlite { path: path.to_path_buf(), found })
}

/// Opens the connection to an existing file. Reads nothing of it yet.
pub(super) fn connect(plan: &OpenPlan, path: &Path, patience: &Patience) -> Result<Connection, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
    let connection = open(plan, path).map_err(sqlite)?;
    settings::begin(&connection).map_err(sqlite)?;
    patience.lend(&connection).map_err(sqlite)?;
    // SQLite falls back to reading when it may not write, and says so only at the first write.
    if connection.is_readonly("main").map_err(sqlite)? {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(OpenError::PermissionDenied { path: path.to_path_buf(), source });
    }
    // What is converted and recovered before the settings are put must be durable too.
    connection.pragma_update(None, "synchronous", settings::SYNCHRONOUS_FULL).map_err(sqlite)?;
    Ok(connection)
}

/// Lets SQLite remove an empty WAL and its index, as it does when the last connection closes. It checks by
/// its own locks that there is no other. Nothing is written to the database.
pub(super) fn remove_sidecars(plan: &OpenPlan, path: &Path) {
    if let Ok(connection) = open(plan, path) {
        // Sidecars that cannot be removed are no harm.
        let _ = settings::read(&connection, "schema_version");
    }
}

fn open(plan: &OpenPlan, path: &Path) -> rusqlite::Result<Connection> {
    // Without CREATE: a file that vanishes in this moment must not come back empty.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    plan.connect(path, flags)
}
