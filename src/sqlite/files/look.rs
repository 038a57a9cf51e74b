//! A look at a database that changes nothing.
//!
//! It goes through SQLite's own read-only connection: a descriptor of our own would, when closed, drop the
//! locks that other connections of this process hold on the file.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::identity::{length, sidecar};
use super::schema_look::recognise;
use crate::error::OpenError;
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::settings;

const DOING: &str = "looking at the database";

/// What a look found.
#[derive(Debug)]
pub(crate) enum Finding {
    /// Nothing there, or an empty file without a WAL: a database that is still to be written.
    Nothing,
    /// A database that may be opened.
    Database(Found),
    /// A rollback journal has to be played back before the database can be read.
    HotJournal,
}

/// A database as it was found, before anything was changed.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) journal_mode: String,
    pub(crate) pages: u64,
    pub(crate) user_version: u32,
    /// How many migrations the program recognised in a schema without a version.
    pub(crate) recognised: Option<u32>,
}

/// What a database says about itself.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) application_id: i32,
    pub(crate) user_version: u32,
    pub(crate) journal_mode: String,
    pub(crate) pages: u64,
}

/// Looks at the database at `path` and refuses what is not the program's.
pub(crate) fn look(plan: &OpenPlan, path: &Path, patience: &Patience) -> Result<Finding, OpenError> {
    let io = |error| OpenError::from_io(path, DOING, error);
    let wal = sidecar(path, "-wal");
    if length(path).map_err(io)?.unwrap_or(0) == 0 {
        // SQLite would take an empty main file for a new database and delete the WAL.
        return match length(&wal).map_err(io)? {
            Some(1..) => Err(OpenError::OrphanedWal { path: path.to_path_buf(), wal }),
            _ => Ok(Finding::Nothing),
        };
    }
    if length(path).map_err(io)? == Some(1) {
        // SQLite takes a single byte for an empty file, and would write over it.
        let source = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOTADB), None);
        return Err(OpenError::NotADatabase { path: path.to_path_buf(), source: source.into() });
    }
    let connection = connect(plan, path).map_err(|e| OpenError::from_sqlite(path, DOING, e))?;
    patience.lend(&connection).map_err(|e| OpenError::from_sqlite(path, DOING, e))?;
    let facts = patience.wait_for(path, DOING, || match facts(&connection) {
        // The read-only connection may not play the journal back, or not make the WAL's index.
        Err(error)
            if error.sqlite_error().is_some_and(|e| e.extended_code & 0xff == ffi::SQLITE_READONLY) =>
        {
            Ok(Some(None))
        }
        other => other.map(|facts| Some(Some(facts))),
    })?;
    match facts {
        None => Ok(Finding::HotJournal),
        Some(facts) => {
            judge(plan, path, &facts)?;
            let recognised = if facts.user_version == 0 { recognise(plan, path, &connection)? } else { None };
            if let Some(applied) = recognised {
                // As it will be stamped.
                judge(plan, path, &Facts { user_version: applied, ..facts.clone() })?;
            }
            let Facts { journal_mode, pages, user_version, .. } = facts;
            Ok(Finding::Database(Found { journal_mode, pages, user_version, recognised }))
        }
    }
}

fn connect(plan: &OpenPlan, path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = plan.connect(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Reads what a database says about itself, with its whole schema, in one snapshot.
pub(crate) fn facts(connection: &Connection) -> rusqlite::Result<Facts> {
    let transaction = connection.unchecked_transaction()?;
    // Makes SQLite parse every entry of the schema: damage there shows now and not at the first command.
    transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let application_id = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let user_version: i32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    // A negative version is none that a list of migrations can have made: as a huge one it is refused.
    let pages: i64 = transaction.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let journal_mode = settings::journal_mode(&transaction)?;
    let (user_version, pages) = (user_version.cast_unsigned(), pages.unsigned_abs());
    Ok(Facts { application_id, user_version, journal_mode, pages })
}

/// Refuses a database of another application, or of a newer version of the program.
pub(crate) fn judge(plan: &OpenPlan, path: &Path, facts: &Facts) -> Result<(), OpenError> {
    if let Some(expected) = plan.application_id
        && facts.application_id != expected
        // A database without an id may be an older one of the program's own.
        && facts.application_id != 0
    {
        let found = facts.application_id;
        return Err(OpenError::ForeignApplication { path: path.to_path_buf(), found, expected });
    }
    let known = u32::try_from(plan.migrations.len()).unwrap_or(u32::MAX);
    if known > 0 && facts.user_version > known {
        let found = facts.user_version;
        return Err(OpenError::SchemaTooNew { path: path.to_path_buf(), found, known });
    }
    Ok(())
}
