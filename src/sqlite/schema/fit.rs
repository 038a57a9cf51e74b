//! Whether commands outlive a change of the schema.

use rusqlite::Connection;

use super::{ShapeError, defaults, read_shape};
use crate::error::SqliteError;
use crate::row::{ColumnShape, TableShape};

/// Whether commands and queries made for this shape still mean the same in the schema as it is now.
pub(crate) fn fits_schema(connection: &Connection, shape: &TableShape) -> Result<bool, SqliteError> {
    let names = |column: &usize| shape.columns[*column].name.clone();
    let key: Vec<String> = shape.key.iter().map(names).collect();
    let revision = shape.revision.map(|revision| (names(&revision.column), revision.kind));
    let revision = revision.as_ref().map(|(name, kind)| (name.as_str(), *kind));
    match read_shape(connection, &shape.name, Some(&key), revision) {
        Ok(now) => Ok(still_fits(shape, &now)),
        Err(ShapeError::Sqlite(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether commands made for the old shape still mean the same under the new one: the same columns stand at the
/// same places, and what was added behind them needs no value.
pub(super) fn still_fits(old: &TableShape, new: &TableShape) -> bool {
    let Some((kept, added)) = new.columns.split_at_checked(old.columns.len()) else { return false };
    old.name.eq_ignore_ascii_case(&new.name)
        && old.columns == kept
        && added.iter().all(needs_no_value)
        && old.key == new.key
        && old.primary_key == new.primary_key
        && old.rowid_column == new.rowid_column
        // A new column can take the name by which commands ask for the rowid.
        && old.rowid_name == new.rowid_name
        && old.is_strict == new.is_strict
        && old.revision == new.revision
}

fn needs_no_value(column: &ColumnShape) -> bool {
    column.is_generated || !column.not_null || !defaults::is_null(column.default.as_deref())
}
