//! Recognising where the schema of a file stands that has no version.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use rusqlite::Connection;

use crate::error::{ClosureError, OpenError, RecogniseFailure};
use crate::sqlite::is_engine_table;
use crate::sqlite::plan::OpenPlan;

/// A look at the schema of a database that has tables but no version, for
/// [`StoreBuilder::recognise`](crate::StoreBuilder::recognise). It reads, and changes nothing.
///
/// Names are compared as SQLite does: A to Z are the same as a to z.
pub struct SchemaLook<'a> {
    connection: &'a Connection,
}

impl fmt::Debug for SchemaLook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaLook").finish_non_exhaustive()
    }
}

impl SchemaLook<'_> {
    /// The names of the tables, virtual ones included, in alphabetical order; SQLite's own and the engine's are left
    /// out.
    pub fn tables(&self) -> Result<Vec<String>, ClosureError> {
        let sql = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
                   ORDER BY name";
        let mut statement = self.connection.prepare(sql)?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        let mut names = names.collect::<Result<Vec<_>, _>>()?;
        names.retain(|name| !is_engine_table(name));
        Ok(names)
    }

    /// Whether there is a table of this name.
    pub fn has_table(&self, table: &str) -> Result<bool, ClosureError> {
        self.has("table", table)
    }

    /// Whether there is an index of this name.
    pub fn has_index(&self, index: &str) -> Result<bool, ClosureError> {
        self.has("index", index)
    }

    /// The columns of a table in their order, generated ones included; none if there is no such table.
    pub fn columns(&self, table: &str) -> Result<Vec<String>, ClosureError> {
        let mut statement =
            self.connection.prepare("SELECT name FROM pragma_table_xinfo(?1) ORDER BY cid")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Whether a table is there and has a column of this name.
    pub fn has_column(&self, table: &str, column: &str) -> Result<bool, ClosureError> {
        Ok(self.columns(table)?.iter().any(|name| name.eq_ignore_ascii_case(column)))
    }

    /// The first row of a query, through `f`; `None` if there is none. For what names alone do not tell, such as a
    /// table in which the program kept a version of its own.
    pub fn query_optional<T, P, F>(&self, sql: &str, params: P, f: F) -> Result<Option<T>, ClosureError>
    where
        P: rusqlite::Params,
        F: FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(params)?;
        Ok(rows.next()?.map(f).transpose()?)
    }

    fn has(&self, kind: &str, name: &str) -> Result<bool, ClosureError> {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = ?1 AND name = ?2 COLLATE NOCASE)";
        Ok(self.connection.query_row(sql, [kind, name], |row| row.get(0))?)
    }
}

/// Asks the program how many of its migrations the schema has already, on a connection that cannot write. `None`: the
/// program does not recognise schemas, or there are no tables.
pub(super) fn recognise(
    plan: &OpenPlan,
    path: &Path,
    connection: &Connection,
) -> Result<Option<u32>, OpenError> {
    let Some(recogniser) = plan.recogniser.as_ref().filter(|_| !plan.migrations.is_empty()) else {
        return Ok(None);
    };
    let refused = |failure| OpenError::Unrecognised { path: path.to_path_buf(), failure };
    let look = SchemaLook { connection };
    if look.tables().map_err(|error| refused(RecogniseFailure::Failed(error)))?.is_empty() {
        return Ok(None);
    }
    let failure = match panic::catch_unwind(AssertUnwindSafe(|| recogniser(&look))) {
        Ok(Ok(Some(applied))) => return Ok(Some(applied)),
        Ok(Ok(None)) => RecogniseFailure::Unknown,
        Ok(Err(error)) => RecogniseFailure::Failed(error),
        Err(_) => RecogniseFailure::Panicked,
    };
    Err(refused(failure))
}
