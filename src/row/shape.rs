//! What a handle knows of its table.

/// How a column converts what is stored in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Affinity {
    Integer,
    Real,
    Numeric,
    Text,
    /// None: values stay as they are.
    Blob,
}

/// One column of a table, generated ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnShape {
    pub(crate) name: String,
    /// As in the schema, in lower case; empty if it has none.
    pub(crate) declared_type: String,
    pub(crate) affinity: Affinity,
    pub(crate) not_null: bool,
    /// It cannot be written.
    pub(crate) is_generated: bool,
    /// The text of its DEFAULT clause.
    pub(crate) default: Option<String>,
}

/// How the engine numbers the changes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RevisionKind {
    /// 1 at insert, and one more with every row command that changes the row. A row that is deleted and inserted
    /// again starts at 1 again, so a guard from before the delete can hit the new row.
    Counter,
    /// The commit sequence of the command that changed the row last. It is never used twice, also over
    /// deletes, restarts and power cuts.
    Sequence,
}

/// The revision column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    /// Its place in [`TableShape::columns`].
    pub(crate) column: usize,
    pub(crate) kind: RevisionKind,
}

/// A table as its handle saw it when it was opened. Columns are named by their places in `columns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableShape {
    /// As in the schema.
    pub(crate) name: String,
    pub(crate) columns: Vec<ColumnShape>,
    /// The columns that tell rows apart, in the order of the primary key.
    pub(crate) key: Vec<usize>,
    /// The key is one INTEGER PRIMARY KEY column, which is the rowid itself: without a value SQLite makes one.
    pub(crate) key_is_rowid: bool,
    /// The columns of the primary key in its order, also if they are not the key by which commands name rows.
    pub(crate) primary_key: Vec<usize>,
    /// The INTEGER PRIMARY KEY column, also if it is not the key by which commands name rows.
    pub(crate) rowid_column: Option<usize>,
    /// The name by which the rowid can be asked for; `None` for WITHOUT ROWID tables, and where columns
    /// took all of its names.
    pub(crate) rowid_name: Option<&'static str>,
    pub(crate) is_strict: bool,
    pub(crate) revision: Option<Revision>,
}

impl TableShape {
    /// The place of a column by its name, in any case.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        // Mostly in the schema's own.
        let same = self.columns.iter().position(|column| column.name == name);
        same.or_else(|| self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)))
    }

    /// The columns by which to walk over all rows where the rowid cannot be asked for. In a table without rowids
    /// those of the primary key are never NULL, which those of another key may be.
    pub(crate) fn walk_columns(&self) -> &[usize] {
        if self.primary_key.is_empty() { &self.key } else { &self.primary_key }
    }

    /// Whether a walk that sets these columns comes by every row once: each has a place, which NULL is not, and
    /// stays at it.
    pub(crate) fn can_be_walked(&self, mut set: impl Iterator<Item = usize>) -> bool {
        let is_never_null = |column: &usize| {
            self.rowid_column == Some(*column)
                || self.columns.get(*column).is_some_and(|column| column.not_null)
        };
        let walk = self.walk_columns();
        self.rowid_name.is_some()
            || (walk.iter().all(is_never_null) && !set.any(|column| walk.contains(&column)))
    }
}

/// The question for a table's shape.
#[derive(Clone, Debug)]
pub(crate) struct ShapeRequest {
    pub(crate) table: String,
    /// The columns of its key; `None`: those of the primary key.
    pub(crate) key: Option<Vec<String>>,
    pub(crate) revision: Option<(String, RevisionKind)>,
}
