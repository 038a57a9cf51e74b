//! Reading the shape of a table.

use rusqlite::{Connection, OptionalExtension};

use super::collations::{BINARY, read_collations};
use super::error::{NoTable, ShapeError};
use super::indexes::{Index, read_indexes};
use super::words::text;
use crate::row::{Affinity, ColumnShape, Revision, RevisionKind, TableShape};
use crate::sqlite::is_engine_table;

/// The names by which SQLite knows a rowid, unless a column took them.
const ROWID_NAMES: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// Reads the shape of a table, named in any case.
///
/// The key is the primary key in its order or the columns that `key` names, in that order. `revision` names the
/// column that the engine raises.
pub(crate) fn read_shape(
    connection: &Connection,
    table_name: &str,
    key: Option<&[String]>,
    revision: Option<(&str, RevisionKind)>,
) -> Result<TableShape, ShapeError> {
    let table = find_table(connection, table_name)?;
    let (columns, primary_key) = read_columns(connection, &table)?;
    let indexes = read_indexes(connection, &table.name)?;
    let mut shape = TableShape {
        key: Vec::new(),
        key_is_rowid: false,
        primary_key: Vec::new(),
        rowid_column: None,
        rowid_name: if table.is_without_rowid { None } else { rowid_name(&columns) },
        is_strict: table.is_strict,
        revision: None,
        name: table.name,
        columns,
    };
    shape.key = match key {
        Some(names) => find_columns(&shape, names)?,
        None => primary_key.clone(),
    };
    if shape.key.is_empty() {
        return Err(ShapeError::NoKey { table: shape.name });
    }
    let has_alias = !table.is_without_rowid && is_rowid_alias(&shape.columns, &primary_key, &indexes);
    shape.rowid_column = primary_key.first().copied().filter(|_| has_alias);
    shape.key_is_rowid = has_alias && shape.key == primary_key;
    check_key(connection, &shape, &indexes)?;
    shape.revision = revision.map(|named| find_revision(&shape, &primary_key, named)).transpose()?;
    shape.primary_key = primary_key;
    Ok(shape)
}

/// What `pragma_table_list` says of an ordinary table.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) is_without_rowid: bool,
    is_strict: bool,
}

pub(super) fn find_table(connection: &Connection, table_name: &str) -> Result<Found, ShapeError> {
    let refused = |what| Err(ShapeError::NotATable { table: table_name.to_owned(), what });
    if is_engine_table(table_name) {
        return refused(NoTable::Engines);
    }
    if table_name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_")) {
        return refused(NoTable::Sqlites);
    }
    let sql = "SELECT name, type, wr, strict FROM pragma_table_list(?1) WHERE schema = 'main'";
    let found = connection.prepare(sql)?.query_row([table_name], |row| {
        let table = Found { name: row.get(0)?, is_without_rowid: row.get(2)?, is_strict: row.get(3)? };
        Ok((table, row.get::<_, String>(1)?))
    });
    let found = found.optional()?;
    // A pragma's argument ends at a NUL: what it found may be another table than the one that was named.
    let Some((table, kind)) = found.filter(|(table, _)| table.name.eq_ignore_ascii_case(table_name)) else {
        return Err(ShapeError::NoSuchTable { table: table_name.to_owned() });
    };
    match kind.as_str() {
        "table" => Ok(table),
        "view" => refused(NoTable::View),
        "shadow" => refused(NoTable::Shadow),
        _ => refused(NoTable::Virtual),
    }
}

/// The columns, and the places of those of the primary key in its order.
pub(super) fn read_columns(
    connection: &Connection,
    table: &Found,
) -> rusqlite::Result<(Vec<ColumnShape>, Vec<usize>)> {
    let sql = "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1, 'main') \
               ORDER BY cid";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([&table.name])?;
    let mut columns = Vec::new();
    let mut primary_key = Vec::new();
    while let Some(row) = rows.next()? {
        let declared_type = row.get::<_, String>(1)?.to_ascii_lowercase();
        let in_primary_key: i64 = row.get(4)?;
        if in_primary_key > 0 {
            primary_key.push((in_primary_key, columns.len()));
        }
        columns.push(ColumnShape {
            name: row.get(0)?,
            affinity: affinity(&declared_type, table.is_strict),
            declared_type,
            not_null: row.get(2)?,
            is_generated: row.get::<_, i64>(5)? != 0,
            default: row.get(3)?,
        });
    }
    primary_key.sort_unstable();
    Ok((columns, primary_key.into_iter().map(|(_, column)| column).collect()))
}

/// SQLite's rules of affinity, for a type in lower case. In a STRICT table ANY converts nothing; elsewhere it is
/// a word like any other.
pub(super) fn affinity(declared_type: &str, is_strict: bool) -> Affinity {
    let has = |part: &str| declared_type.contains(part);
    if has("int") {
        Affinity::Integer
    } else if has("char") || has("clob") || has("text") {
        Affinity::Text
    } else if declared_type.is_empty() || has("blob") || (is_strict && declared_type == "any") {
        Affinity::Blob
    } else if has("real") || has("floa") || has("doub") {
        Affinity::Real
    } else {
        Affinity::Numeric
    }
}

pub(super) fn rowid_name(columns: &[ColumnShape]) -> Option<&'static str> {
    let is_free = |name: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    ROWID_NAMES.into_iter().find(|name| is_free(name))
}

/// Whether the primary key is the rowid under another name. The type alone does not tell: INTEGER PRIMARY KEY DESC
/// is an ordinary column, by an old mistake of SQLite's. An ordinary one has an index.
pub(super) fn is_rowid_alias(columns: &[ColumnShape], primary_key: &[usize], indexes: &[Index]) -> bool {
    let [only] = primary_key else { return false };
    columns.get(*only).is_some_and(|column| column.declared_type == "integer")
        && !indexes.iter().any(|index| index.is_primary)
}

fn find_column(shape: &TableShape, name: &str) -> Result<usize, ShapeError> {
    shape.column(name).ok_or_else(|| ShapeError::UnknownColumn { column: name.to_owned() })
}

fn find_columns(shape: &TableShape, names: &[String]) -> Result<Vec<usize>, ShapeError> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let column = find_column(shape, name)?;
        if columns.contains(&column) {
            return Err(ShapeError::KeyIsNotUnique { columns: names.to_vec() });
        }
        columns.push(column);
    }
    Ok(columns)
}

/// Whether `WHERE key = ?` finds one row at most, and every row can be given its key.
fn check_key(connection: &Connection, shape: &TableShape, indexes: &[Index]) -> Result<(), ShapeError> {
    let columns = || shape.key.iter().filter_map(|column| shape.columns.get(*column));
    if let Some(column) = columns().find(|column| column.is_generated) {
        return Err(ShapeError::KeyIsGenerated { column: column.name.clone() });
    }
    if shape.key_is_rowid {
        return Ok(());
    }
    let sql = table_sql(connection, &shape.name)?;
    let names = columns().map(|column| column.name.as_str());
    let collations = read_collations(connection, &shape.name, &sql, names);
    // An index that compares byte for byte lets "a" and "A" in, and a column that does not then finds both.
    // The other way round is harmless: fewer rows get in than the column could tell apart.
    let compares_alike = |index: &Index| {
        shape.key.iter().zip(&collations).all(|(column, own)| {
            own.as_deref().is_some_and(|own| {
                own.eq_ignore_ascii_case(BINARY)
                    || index
                        .columns
                        .iter()
                        .filter(|of| of.column == Some(*column))
                        .all(|of| of.collation.eq_ignore_ascii_case(own))
            })
        })
    };
    if indexes.iter().any(|index| index.is_unique_on(&shape.key) && compares_alike(index)) {
        return Ok(());
    }
    Err(ShapeError::KeyIsNotUnique { columns: columns().map(|column| column.name.clone()).collect() })
}

/// The CREATE TABLE of a table, named as in the schema.
fn table_sql(connection: &Connection, table: &str) -> rusqlite::Result<Vec<u8>> {
    let sql = "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1";
    connection.prepare(sql)?.query_row([table], |row| text(row, 0))
}

fn find_revision(
    shape: &TableShape,
    primary_key: &[usize],
    (name, kind): (&str, RevisionKind),
) -> Result<Revision, ShapeError> {
    let column = find_column(shape, name)?;
    if shape.key.contains(&column) || primary_key.contains(&column) {
        return Err(ShapeError::RevisionInKey { column: name.to_owned() });
    }
    let can_count = |column: &ColumnShape| column.affinity == Affinity::Integer && !column.is_generated;
    if !shape.columns.get(column).is_some_and(can_count) {
        return Err(ShapeError::RevisionNotInteger { column: name.to_owned() });
    }
    Ok(Revision { column, kind })
}
