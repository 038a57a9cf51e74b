//! Bringing what a crash left behind into the database file.

use std::path::Path;
use std::time::Instant;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::wal_file;
use crate::error::OpenError;
use crate::sqlite::files::identity::{length, sidecar};
use crate::sqlite::files::look::{facts, judge};
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::OpenPlan;

/// Lets SQLite recover a hot journal or a WAL, and judges the database as the look did.
///
/// The look cannot do it when there is a hot journal. Nothing but the recovery has changed the file then.
pub(super) fn read_through(
    plan: &OpenPlan,
    path: &Path,
    connection: &Connection,
    patience: &Patience,
) -> Result<(), OpenError> {
    let facts = patience.wait_for(path, "recovering the database", || facts(connection).map(Some))?;
    judge(plan, path, &facts)
}

/// Copies a WAL that is not empty into the database file, completely, and empties it. Returns its length.
///
/// After a failed sync the kernel keeps pages as clean that are not on the disk: this process reads them
/// from its cache, a sync of the WAL says Ok, and a power cut takes back rows that stand before rows
/// acknowledged since. Copying writes them again into the database file. The WAL itself is written again
/// first: else a power cut during the copying could leave the new pages in the database under a WAL that
/// holds only the older half, and the database would be damaged.
pub(super) fn empty_wal(path: &Path, connection: &Connection, patience: &Patience) -> Result<u64, OpenError> {
    const DOING: &str = "checkpointing the WAL";
    let wal = sidecar(path, "-wal");
    let bytes = length(&wal).map_err(|error| OpenError::from_io(&wal, DOING, error))?.unwrap_or(0);
    if bytes == 0 {
        return Ok(0);
    }
    let begun = Instant::now();
    patience.wait_for(path, DOING, || {
        // The transaction keeps everybody else from appending; it writes nothing itself.
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        wal_file::write_again(connection)?;
        transaction.rollback().map(Some)
    })?;
    // `connect` has set `synchronous` to FULL: the copied pages are synced.
    patience.wait_for(path, DOING, || {
        // BUSY is an error here. After a complete TRUNCATE there are no frames, so also none to copy.
        let (frames, copied) = connection.wal_checkpoint_v2(Some("main"), CheckpointMode::TRUNCATE)?;
        Ok((frames == 0 && copied == 0).then_some(()))
    })?;
    tracing::info!(
        path = %path.display(),
        bytes,
        millis = begun.elapsed().as_millis() as u64,
        "recovered the WAL that was left behind"
    );
    Ok(bytes)
}
