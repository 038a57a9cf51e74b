//! Switching a database to WAL mode.

use std::path::Path;

use rusqlite::Connection;

use crate::error::OpenError;
use crate::sqlite::patience::Patience;
use crate::sqlite::settings;

const DOING: &str = "switching to WAL mode";

/// What the switch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// It was in WAL mode already; no lock was needed.
    AlreadyWal,
    Converted,
    /// SQLite stays in a rollback-journal mode, and the plan allows it.
    Degraded,
}

/// Switches the database to WAL mode if it is not, and reads back what it came to.
pub(super) fn convert(
    path: &Path,
    connection: &Connection,
    require_wal: bool,
    patience: &Patience,
) -> Result<Conversion, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
    if settings::journal_mode(connection).map_err(sqlite)? == "wal" {
        return Ok(Conversion::AlreadyWal);
    }
    // While another connection holds RESERVED, SQLite does not wait: BUSY comes back at once.
    switch(path, connection, "wal", patience)?;
    let mode = settings::journal_mode(connection).map_err(sqlite)?;
    if mode == "wal" {
        return Ok(Conversion::Converted);
    }
    if require_wal {
        return Err(OpenError::WalRefused { path: path.to_path_buf(), mode });
    }
    switch(path, connection, "delete", patience)?;
    let mode = settings::journal_mode(connection).map_err(sqlite)?;
    if mode != "delete" {
        return Err(OpenError::Setting {
            path: path.to_path_buf(),
            name: "journal_mode",
            wanted: "delete".to_owned(),
            found: mode,
        });
    }
    tracing::warn!(
        path = %path.display(),
        "the database cannot be switched to WAL mode: readers will wait for writes (degraded mode)"
    );
    Ok(Conversion::Degraded)
}

fn switch(path: &Path, connection: &Connection, mode: &str, patience: &Patience) -> Result<(), OpenError> {
    patience.wait_for(path, DOING, || {
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(Some(())))
    })
}
