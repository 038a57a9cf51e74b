//! The settings that every connection of a store has, put and read back in one place.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};

use super::plan::OpenPlan;
use crate::error::{HookFailure, OpenError};

const DOING: &str = "putting the settings of a connection";

/// SQLite's numbers of the `synchronous` levels.
pub(crate) const SYNCHRONOUS_FULL: i32 = 2;
pub(crate) const SYNCHRONOUS_EXTRA: i32 = 3;

/// The first thing to do on every connection: closing it must not checkpoint by itself, and nothing else
/// may either.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)
}

/// Runs the user's hook.
pub(crate) fn run_hook(plan: &OpenPlan, path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let Some(hook) = &plan.hook else { return Ok(()) };
    let failure = match panic::catch_unwind(AssertUnwindSafe(|| hook(connection))) {
        Err(_) => HookFailure::Panicked,
        Ok(Err(error)) => HookFailure::Failed(error.into()),
        Ok(Ok(())) if !connection.is_autocommit() => HookFailure::OpenTransaction,
        Ok(Ok(())) if has_temporary_objects(connection) => HookFailure::TemporaryObjects,
        Ok(Ok(())) => return Ok(()),
    };
    Err(OpenError::Hook { path: path.to_path_buf(), failure })
}

/// In doubt it has some: then a query of the temporary schema fails.
fn has_temporary_objects(connection: &Connection) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM temp.sqlite_schema)";
    connection.query_row(sql, [], |row| row.get(0)).unwrap_or(true)
}

/// Puts every setting, after the user's hook so that these win, and reads each back.
pub(crate) fn apply(
    plan: &OpenPlan,
    path: &Path,
    connection: &Connection,
    synchronous: i32,
) -> Result<(), OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
    begin(connection).map_err(sqlite)?;
    forbid_extensions(connection).map_err(sqlite)?;
    for (name, config, wanted) in [
        ("foreign_keys", DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        ("trusted_schema", DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        ("defensive", DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        ("triggers", DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true),
        ("writable_schema", DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        ("no checkpoint on close", DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        let found = connection.set_db_config(config, wanted).map_err(sqlite)?;
        expect(path, name, i64::from(wanted), i64::from(found))?;
    }
    connection.busy_timeout(Duration::from_millis(busy_millis(plan))).map_err(sqlite)?;
    for (name, wanted) in [
        ("busy_timeout", busy_millis(plan) as i64),
        ("cache_size", cache_size(plan)),
        ("cell_size_check", 1),
        ("temp_store", 2),
        ("wal_autocheckpoint", 0),
        ("ignore_check_constraints", 0),
        // Both without effect but on macOS, where a plain fsync leaves the data in the drive's cache.
        ("fullfsync", i64::from(cfg!(target_os = "macos"))),
        ("checkpoint_fullfsync", i64::from(cfg!(target_os = "macos"))),
        ("synchronous", i64::from(synchronous)),
    ] {
        connection.pragma_update(None, name, wanted).map_err(sqlite)?;
        expect(path, name, wanted, read(connection, name).map_err(sqlite)?)?;
    }
    Ok(())
}

/// Reads a setting that is a number.
pub(crate) fn read(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Reads the journal mode.
pub(crate) fn journal_mode(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

/// Fails if SQLite reports another value than the one that was put.
pub(crate) fn expect(path: &Path, name: &'static str, wanted: i64, found: i64) -> Result<(), OpenError> {
    if wanted == found {
        return Ok(());
    }
    let (wanted, found) = (wanted.to_string(), found.to_string());
    Err(OpenError::Setting { path: path.to_path_buf(), name, wanted, found })
}

/// The `busy_timeout`, in the range that SQLite takes.
pub(crate) fn busy_millis(plan: &OpenPlan) -> u64 {
    u64::try_from(plan.busy_budget.as_millis()).unwrap_or(u64::MAX).min(i32::MAX as u64)
}

/// The `cache_size`: negative numbers count KiB.
fn cache_size(plan: &OpenPlan) -> i64 {
    -(plan.page_cache_bytes / 1024).clamp(1, i32::MAX as u64).cast_signed()
}

/// Switches `load_extension` off, whatever the hook did.
fn forbid_extensions(connection: &Connection) -> rusqlite::Result<()> {
    // SAFETY: the handle is that of an open connection, which is borrowed for the whole call and which no
    // other thread uses meanwhile.
    let code = unsafe { ffi::sqlite3_enable_load_extension(connection.handle(), 0) };
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }
}
