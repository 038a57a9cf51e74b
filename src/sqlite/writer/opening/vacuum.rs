//! Making a database one that can give freed space back.
//!
//! SQLite can move pages from the end of a file to free places (`auto_vacuum = INCREMENTAL`) if every page knows who
//! points to it. That has to be chosen before the first table. Later only VACUUM, which writes the whole database anew,
//! can change it.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use super::recover;
use crate::error::OpenError;
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::{OpenPlan, Reclaim};
use crate::sqlite::settings;

/// SQLite's numbers of the `auto_vacuum` modes.
const NONE: i64 = 0;
const FULL: i64 = 1;
const INCREMENTAL: i64 = 2;

/// Chooses the mode for a file without a page, which the switch to WAL mode will write, and for one whose pages know
/// who points to them: moved with each commit (FULL) they would cost every writer.
pub(super) fn choose(
    plan: &OpenPlan,
    path: &Path,
    connection: &Connection,
    patience: &Patience,
) -> Result<(), OpenError> {
    if plan.reclaim == Reclaim::Off {
        return Ok(());
    }
    patience.wait_for(path, "choosing to give space back", || {
        let is_empty = settings::read(connection, "page_count")? == 0;
        if is_empty || settings::read(connection, "auto_vacuum")? == FULL {
            connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
        }
        Ok(Some(()))
    })
}

/// Whether the file can give space back.
pub(super) fn can_reclaim(path: &Path, connection: &Connection) -> Result<bool, OpenError> {
    let mode = settings::read(connection, "auto_vacuum");
    Ok(mode.map_err(|error| OpenError::from_sqlite(path, "opening the database", error))? == INCREMENTAL)
}

/// Rebuilds a file that cannot give space back, if that is wanted. Gives whether it did.
///
/// The connection has the user's functions and collations: the indexes are built anew.
pub(super) fn rebuild(
    plan: &OpenPlan,
    path: &Path,
    connection: &Connection,
    patience: &Patience,
) -> Result<bool, OpenError> {
    const DOING: &str = "rebuilding the database";
    let mode = patience.wait_for(path, DOING, || settings::read(connection, "auto_vacuum").map(Some))?;
    if plan.reclaim == Reclaim::Off || mode != NONE {
        return Ok(false);
    }
    if plan.reclaim == Reclaim::IfPossible {
        tracing::warn!(
            path = %path.display(),
            "the file was not made to give space back, and keeps what is freed for later rows; rebuild_to_reclaim() \
             rebuilds it"
        );
        return Ok(false);
    }
    let begun = Instant::now();
    tracing::info!(path = %path.display(), "rebuilding the database, so that it can give space back");
    patience.wait_for(path, DOING, || {
        // The copy goes to a temporary file: it may be larger than the memory.
        connection.pragma_update(None, "temp_store", 1)?;
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
        let rebuilt = connection.execute_batch("VACUUM");
        connection.pragma_update(None, "temp_store", 2)?;
        rebuilt.map(Some)
    })?;
    // In WAL mode all of it is in the log now.
    recover::empty_wal(path, connection, patience)?;
    tracing::info!(path = %path.display(), took = ?begun.elapsed(), "rebuilt the database");
    Ok(true)
}
