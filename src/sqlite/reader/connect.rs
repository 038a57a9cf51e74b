//! Opening a connection that cannot change a row.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::OpenError;
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::settings;

const DOING: &str = "opening a reader";

/// Opens a read-only connection to the database at `path` (canonical), which the writer has opened.
pub(crate) fn open_reader(plan: &OpenPlan, path: &Path) -> Result<Connection, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
    let patience = Patience::new(plan.open_timeout);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = plan.connect(path, flags).map_err(sqlite)?;
    settings::begin(&connection).map_err(sqlite)?;
    patience.lend(&connection).map_err(sqlite)?;
    // The schema is parsed now, so that the first read does not pay for it.
    patience.wait_for(path, DOING, || {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(Some(())))
    })?;
    settings::run_hook(plan, path, &connection)?;
    settings::apply(plan, path, &connection, settings::SYNCHRONOUS_FULL)?;
    connection.pragma_update(None, "query_only", 1).map_err(sqlite)?;
    settings::expect(path, "query_only", 1, settings::read(&connection, "query_only").map_err(sqlite)?)?;
    Ok(connection)
}
