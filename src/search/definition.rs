//! What an index is made of: texts of SQL, which also stand in the schema.

use crate::row::{TableShape, quoted};
use crate::sqlite::SEARCH_TABLE;
use crate::sync::Arc;

/// How text is cut into what can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchMode {
    Words,
    Substrings,
}

/// An index as it should be.
#[derive(Debug)]
pub(crate) struct IndexDefinition {
    pub(crate) name: String,
    pub(crate) table: Arc<TableShape>,
    /// The columns that are searched, by their places in the table.
    pub(crate) columns: Vec<usize>,
    pub(crate) mode: SearchMode,
    /// The place of the column that is the rowid: the only number of a row that lasts.
    pub(crate) key: usize,
}

/// A part of the schema, by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SchemaPart {
    pub(crate) name: String,
    pub(crate) sql: String,
}

/// Whether it is a text that could be that of an index, whatever the table and the columns.
pub(crate) fn is_search_index(sql: &str) -> bool {
    sql.contains(" USING fts5(c0") && sql.contains("contentless_delete=1")
}

impl IndexDefinition {
    /// The FTS5 table. Its columns have names of their own: it refuses some, such as `rank`.
    pub(crate) fn index(&self) -> SchemaPart {
        let tokenizer = match self.mode {
            SearchMode::Words => "unicode61",
            SearchMode::Substrings => "trigram",
        };
        let sql = format!(
            "CREATE VIRTUAL TABLE {} USING fts5({}, content='', contentless_delete=1, tokenize='{tokenizer}')",
            quoted(&self.name),
            self.index_columns(),
        );
        SchemaPart { name: self.name.clone(), sql }
    }

    /// The triggers that keep it in step.
    ///
    /// An entry may be there already when a row comes: one that REPLACE left, or one of the walk over the table. The
    /// words DELETE and REPLACE are avoided where rows are only added and changed. The engine takes a statement whose
    /// triggers delete for one that deletes, and makes it wait for the disk.
    pub(crate) fn triggers(&self) -> [SchemaPart; 4] {
        let (index, table, key) = (quoted(&self.name), quoted(&self.table.name), self.column(self.key));
        let texts = self.columns.iter().map(|column| self.column(*column));
        let (names, values): (Vec<_>, Vec<_>) =
            texts.enumerate().map(|(at, text)| (format!("c{at}"), format!("new.{text}"))).unzip();
        let set: Vec<_> =
            names.iter().zip(&values).map(|(name, value)| format!("{name} = {value}")).collect();
        let (names, values, set) = (names.join(", "), values.join(", "), set.join(", "));
        let put = format!(
            "UPDATE {index} SET {set} WHERE rowid = new.{key}; \
             INSERT INTO {index} (rowid, {names}) SELECT new.{key}, {values} \
             WHERE NOT EXISTS (SELECT 1 FROM {index} WHERE rowid = new.{key});"
        );
        let forget = format!("DELETE FROM {index} WHERE rowid = old.{key};");
        // A generated column changes with columns that only its expression names.
        let is_generated =
            |column: &&usize| self.table.columns.get(**column).is_some_and(|of| of.is_generated);
        let changed = if self.columns.iter().any(|column| is_generated(&column)) {
            String::new()
        } else {
            let columns: Vec<_> = self.columns.iter().map(|column| self.column(*column)).collect();
            format!(" OF {}", columns.join(", "))
        };
        let trigger = |what: &str, when: &str, body: &str| {
            let name = format!("{}_{what}", self.name);
            let sql = format!("CREATE TRIGGER {} AFTER {when} BEGIN {body} END", quoted(&name));
            SchemaPart { name, sql }
        };
        [
            trigger("insert", &format!("INSERT ON {table}"), &put),
            trigger("update", &format!("UPDATE{changed} ON {table}"), &put),
            // The rowid can be set by any of its names.
            trigger(
                "move",
                &format!("UPDATE OF {key}, rowid, oid, _rowid_ ON {table} WHEN old.{key} <> new.{key}"),
                &format!("{forget} {put}"),
            ),
            trigger("delete", &format!("DELETE ON {table}"), &forget),
        ]
    }

    /// How FTS5 is told to put its pieces together: see `upkeep.rs`.
    pub(crate) fn settings(&self) -> String {
        let index = quoted(&self.name);
        let set = |name: &str, value: u32| {
            format!("INSERT INTO {index} ({index}, rank) VALUES ('{name}', {value});")
        };
        [set("automerge", 0), set("crisismerge", 64), set("usermerge", 8)].concat()
    }

    /// The table in which indexes that are being built keep their place: rows from `next` up to `last` are not in yet.
    pub(crate) fn places() -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS main.{SEARCH_TABLE} (\
             name TEXT PRIMARY KEY NOT NULL, next INTEGER NOT NULL, last INTEGER NOT NULL, \
             done INTEGER NOT NULL) STRICT, WITHOUT ROWID"
        )
    }

    /// The columns of the index, in order.
    pub(crate) fn index_columns(&self) -> String {
        let names: Vec<_> = (0..self.columns.len()).map(|at| format!("c{at}")).collect();
        names.join(", ")
    }

    /// The columns of the table that they hold.
    pub(crate) fn table_columns(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|column| self.column(*column)).collect();
        names.join(", ")
    }

    /// The column that is the rowid.
    pub(crate) fn key_column(&self) -> String {
        self.column(self.key)
    }

    fn column(&self, place: usize) -> String {
        quoted(self.table.columns.get(place).map_or("", |column| column.name.as_str()))
    }
}
