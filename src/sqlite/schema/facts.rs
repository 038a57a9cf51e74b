//! Reading what coalescing has to know of a table.

use rusqlite::{Connection, Row};

use super::collations::{BINARY, read_collations};
use super::defaults;
use super::indexes::{Index, read_indexes};
use super::words::{count_word, has_word, is_one_word, text};
use crate::coalescing::TableFacts;
use crate::error::SqliteError;
use crate::row::{Affinity, ColumnShape, TableShape};

/// Functions that tell how many rows were changed, and so whether rows were changed one command after the other.
const STATE_FUNCTIONS: [&str; 3] = ["changes", "total_changes", "last_insert_rowid"];

/// Reads what coalescing has to know of a table. A doubt means that it does not coalesce.
pub(crate) fn read_facts(connection: &Connection, shape: &TableShape) -> Result<TableFacts, SqliteError> {
    let schema = SchemaTexts::read(connection, &shape.name)?;
    let indexes = read_indexes(connection, &shape.name)?;
    let references = References::read(connection, &shape.name)?;
    let names = shape.columns.iter().map(|column| column.name.as_str());
    let is_binary: Vec<bool> = read_collations(connection, &shape.name, &schema.table, names)
        .iter()
        .map(|collation| is_binary(collation.as_deref()))
        .collect();
    let is_watched = watched_columns(connection, shape, &schema, &indexes, &references)?;

    let has_generated = shape.columns.iter().any(|column| column.is_generated);
    let has_computed_index = indexes.iter().any(is_computed);
    let is_quiet = !schema.has_trigger
        && !has_word(&schema.table, "CONFLICT")
        && !references.acts_on_delete
        && !references.acts_on_update;
    let revision_is_plain = shape.revision.is_none_or(|revision| {
        shape.columns.get(revision.column).is_some_and(|column| column.affinity == Affinity::Integer)
            && is_watched.get(revision.column) == Some(&false)
    });
    let joins =
        is_quiet && !may_call_application(connection, shape, &schema, has_generated || has_computed_index)?;
    let coalesces =
        joins && has_binary_key(shape, &indexes, &is_binary) && revision_is_plain && !schema.mentions_state;

    let is_named_by_trigger = schema.is_named_by_trigger || !is_one_word(&shape.name);
    Ok(TableFacts {
        is_quiet,
        acts_on_itself: !is_quiet && (is_named_by_trigger || references.acts_on_itself),
        joins,
        coalesces,
        is_watched,
        is_binary,
        can_be_omitted: shape.columns.iter().map(|column| can_be_omitted(column, shape.is_strict)).collect(),
        needs_savepoint: !is_quiet || schema.mentions_deferred || has_generated || has_computed_index,
        any_change_may_delete: schema.has_trigger || schema.may_replace || references.acts_on_update,
    })
}

/// What the texts of the whole schema say about one table.
#[derive(Default)]
struct SchemaTexts {
    /// CREATE TABLE of the table.
    table: Vec<u8>,
    /// Names and texts of its indexes, those of constraints excepted.
    indexes: Vec<(String, Vec<u8>)>,
    has_trigger: bool,
    /// A trigger names the table, of whatever table it is; one of its own more than once.
    is_named_by_trigger: bool,
    /// REPLACE stands in a text of the table, or in that of a trigger, of whatever table.
    may_replace: bool,
    /// DEFERRED stands somewhere.
    mentions_deferred: bool,
    /// A function that tells of earlier changes stands somewhere.
    mentions_state: bool,
}

impl SchemaTexts {
    fn read(connection: &Connection, table: &str) -> rusqlite::Result<Self> {
        let sql = "SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql NOT NULL";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut texts = Self::default();
        while let Some(row) = rows.next()? {
            let kind = text(row, 0)?;
            let of_table = is_named(row, 2, table)?;
            let text = text(row, 3)?;
            let is_trigger = kind == b"trigger";
            texts.has_trigger |= is_trigger && of_table;
            texts.is_named_by_trigger |= is_trigger && count_word(&text, table) > usize::from(of_table);
            texts.may_replace |= (is_trigger || of_table) && has_word(&text, "REPLACE");
            texts.mentions_deferred |= has_word(&text, "DEFERRED");
            texts.mentions_state |= STATE_FUNCTIONS.iter().any(|function| has_word(&text, function));
            if of_table && kind == b"table" {
                texts.table = text;
            } else if of_table && kind == b"index" {
                texts.indexes.push((row.get(1)?, text));
            }
        }
        Ok(texts)
    }

    fn index(&self, name: &str) -> Option<&[u8]> {
        self.indexes.iter().find(|(of, _)| of == name).map(|(_, text)| text.as_slice())
    }
}

/// Foreign keys that touch a table.
#[derive(Default)]
struct References {
    /// Columns of the table by name, on either end.
    columns: Vec<String>,
    /// Deleting one of its rows does something to other rows.
    acts_on_delete: bool,
    /// Changing a key of one of its rows does something to other rows.
    acts_on_update: bool,
    /// The rows are of the same table.
    acts_on_itself: bool,
}

impl References {
    fn read(connection: &Connection, table: &str) -> rusqlite::Result<Self> {
        let sql = "SELECT child.name, key.\"from\", key.\"table\", key.\"to\", key.on_update, key.on_delete \
                   FROM main.sqlite_schema AS child, pragma_foreign_key_list(child.name, 'main') AS key \
                   WHERE child.type = 'table'";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut references = Self::default();
        while let Some(row) = rows.next()? {
            let is_child = is_named(row, 0, table)?;
            if is_child {
                references.columns.push(row.get(1)?);
            }
            if is_named(row, 2, table)? {
                // Without a name it is the primary key, which is watched anyhow.
                references.columns.extend(row.get::<_, Option<String>>(3)?);
                let on_update = acts(&row.get::<_, String>(4)?);
                let on_delete = acts(&row.get::<_, String>(5)?);
                references.acts_on_update |= on_update;
                references.acts_on_delete |= on_delete;
                references.acts_on_itself |= is_child && (on_update || on_delete);
            }
        }
        Ok(references)
    }
}

/// Whether the table is the one that is named here. Names of other tables need not be valid UTF-8.
fn is_named(row: &Row<'_>, column: usize, table: &str) -> rusqlite::Result<bool> {
    Ok(text(row, column)?.eq_ignore_ascii_case(table.as_bytes()))
}

fn acts(action: &str) -> bool {
    !matches!(action, "NO ACTION" | "RESTRICT")
}

/// The index calls something, or asks whether a row belongs to it: it can fail, and it depends on columns that it
/// does not list.
fn is_computed(index: &Index) -> bool {
    index.is_partial || index.has_expression()
}

fn watched_columns(
    connection: &Connection,
    shape: &TableShape,
    schema: &SchemaTexts,
    indexes: &[Index],
    references: &References,
) -> rusqlite::Result<Vec<bool>> {
    let primary_key = primary_key(connection, &shape.name)?;
    let unique = || indexes.iter().filter(|index| index.is_unique).flat_map(|index| &index.columns);
    // An index whose text is not there is one of a constraint, and never a computed one.
    let computed = indexes.iter().filter(|index| is_computed(index));
    let computed: Vec<&[u8]> = computed.map(|index| schema.index(&index.name).unwrap_or_default()).collect();
    let judges_rows = has_word(&schema.table, "CHECK") || shape.columns.iter().any(|of| of.is_generated);

    let is_watched = |(place, column): (usize, &ColumnShape)| {
        let is_named = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
        column.is_generated
            || !is_one_word(&column.name)
            || shape.key.contains(&place)
            || is_named(&primary_key)
            || is_named(&references.columns)
            || unique().any(|of| of.column == Some(place))
            || computed.iter().any(|text| has_word(text, &column.name))
            // Once for its definition; whatever names it again may be a CHECK or the expression of a column.
            || (judges_rows && count_word(&schema.table, &column.name) != 1)
    };
    Ok(shape.columns.iter().enumerate().map(is_watched).collect())
}

/// The columns of the primary key, which need not be the key of the shape, and has no index if it is the rowid.
fn primary_key(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE pk > 0";
    connection.prepare(sql)?.query_map([table], |row| row.get(0))?.collect()
}

fn is_binary(collation: Option<&str>) -> bool {
    collation.is_some_and(|collation| collation.eq_ignore_ascii_case(BINARY))
}

/// Whether two keys are one row if and only if their values are the same.
fn has_binary_key(shape: &TableShape, indexes: &[Index], column_is_binary: &[bool]) -> bool {
    if shape.key_is_rowid {
        return true;
    }
    let mut on_key = indexes.iter().filter(|index| index.is_unique_on(&shape.key)).peekable();
    on_key.peek().is_some()
        && on_key.flat_map(|index| &index.columns).all(|of| is_binary(Some(&of.collation)))
        && shape.key.iter().all(|column| column_is_binary.get(*column) == Some(&true))
}

/// Whether a change of the table may call a function that is not SQLite's own: it could do or tell anything.
///
/// Only an expression calls functions. Where one stands, the name of such a function anywhere in the table's
/// texts is enough. There are always some: FTS5 brings "highlight" and others along.
fn may_call_application(
    connection: &Connection,
    shape: &TableShape,
    schema: &SchemaTexts,
    has_computed: bool,
) -> rusqlite::Result<bool> {
    let is_computed = |default: &str| !defaults::is_null(Some(default)) && !defaults::is_literal(default);
    let has_expression = has_computed
        || has_word(&schema.table, "CHECK")
        || shape.columns.iter().any(|column| column.default.as_deref().is_some_and(is_computed));
    if !has_expression {
        return Ok(false);
    }
    let sql = "SELECT DISTINCT name FROM pragma_function_list WHERE builtin = 0";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let function: String = row.get(0)?;
        // A name of several words would have to be quoted, and could be spelled in more than one way.
        let mut texts = schema.indexes.iter().map(|(_, text)| text).chain([&schema.table]);
        if !is_one_word(&function) || texts.any(|text| has_word(text, &function)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn can_be_omitted(column: &ColumnShape, is_strict: bool) -> bool {
    let default = column.default.as_deref();
    if column.is_generated {
        false
    } else if defaults::is_null(default) {
        !column.not_null
    } else {
        // A STRICT table may refuse its own default, and tells only at the insert.
        !is_strict && default.is_some_and(defaults::is_literal)
    }
}
