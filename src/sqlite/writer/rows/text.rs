//! The SQL of row commands.
//!
//! Parameters go by position, in the order in which a form's documentation names them.

use std::fmt::Write;

use crate::row::{Revision, RevisionKind, TableShape, quoted};

/// What a statement is for. With the columns that it is given it determines the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Parameters: the key if `with_key`, the columns, the revision.
    Insert { with_key: bool, or_ignore: bool },
    /// Parameters: the columns, the revision (by how much it rises, or what it becomes), the key, the guard.
    Update(GuardForm),
    /// An update in which the first `set` columns are set, the next `raised` raised, and the others added to.
    /// Parameters: the columns to set; for each that is raised the value, twice; what is added to each other one; the
    /// revision, the key, the guard; if nothing but raised columns is there their values again; for each that is
    /// added to, the least and the greatest integer that it may hold.
    Adjust { guard: GuardForm, set: usize, raised: usize },
    /// 1 if the row is there and the guard holds. Parameters: the key, the guard.
    Holds(GuardForm),
    /// Parameters: the key, the guard. With `revision` its one row is the revision of the row that it deletes.
    Delete { guard: GuardForm, returns_revision: bool },
    /// The revision, or 1 for a table without, if the row is there. Parameters: the key.
    Revision,
    /// The same by the rowid.
    RevisionAtRowid,
    /// The columns. Parameters: the key.
    Columns,
    /// The place of the last row that a walk has to reach: of those whose column, the only one that is given, holds
    /// the value. Parameters: the value.
    WalkEnd,
    /// The place of the row that ends the next step of a walk. Parameters: the value, the place where the last step
    /// ended unless this is the first, the end of the walk, the number of rows that follow the first one.
    StepEnd { is_first: bool },
    /// Deletes the rows of a step. Parameters: the value, the places that the step names. With `returns_key` its rows
    /// are the keys.
    DeleteStep { step: Step, returns_key: bool },
    /// Updates the rows of a step. The walk's column comes first, then those to set. Parameters: the columns to
    /// set, the revision, then as for `DeleteStep`. With `returns_key` its rows are the keys and the revisions.
    UpdateStep { step: Step, returns_key: bool },
}

/// Which rows a step of a walk takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Up to a place.
    First,
    /// Behind a place, up to another one.
    Next,
    /// All there are, where a walk by places would miss some or meet some twice.
    All,
}

/// Which conditions a statement puts on the row besides its key. Parameters in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GuardForm {
    /// The revision is the one that is given.
    pub(super) revision: bool,
    /// The column holds the value.
    pub(super) column: Option<usize>,
    /// The revision is an integer below the one that is given: it can be counted up without a surprise.
    pub(super) countable: bool,
}

/// A statement's text and what its rows hold.
pub(super) struct Text {
    pub(super) sql: String,
    /// Columns that the database fills in and the statement returns.
    pub(super) filled: Vec<usize>,
}

/// Makes the text of a form over these columns.
pub(super) fn text_of(shape: &TableShape, form: Form, columns: &[usize]) -> Text {
    let mut text = Text { sql: String::new(), filled: Vec::new() };
    // Writing to a `String` cannot fail.
    let _ = match form {
        Form::Insert { with_key, or_ignore } => insert(shape, with_key, or_ignore, columns, &mut text),
        Form::Update(guard) => update(shape, guard, columns, &mut text.sql),
        Form::Adjust { guard, set, raised } => {
            let (set, rest) = columns.split_at(set.min(columns.len()));
            let (raised, added) = rest.split_at(raised.min(rest.len()));
            adjust(shape, guard, set, raised, added, &mut text.sql)
        }
        Form::Holds(guard) => write!(text.sql, "SELECT 1 FROM {} WHERE {}", table(shape), key_is(shape))
            .and_then(|()| guarded(shape, guard, &mut text.sql)),
        Form::Delete { guard, returns_revision } => delete(shape, guard, returns_revision, &mut text.sql),
        Form::Revision => {
            let (asked, key) = (revision_or_one(shape), key_is(shape));
            write!(text.sql, "SELECT {asked} FROM {} WHERE {key}", table(shape))
        }
        Form::RevisionAtRowid => {
            let rowid = shape.rowid_name.unwrap_or("rowid");
            write!(text.sql, "SELECT {} FROM {} WHERE {rowid} = ?", revision_or_one(shape), table(shape))
        }
        Form::Columns => {
            let columns = list(columns.iter().map(|column| name(shape, *column)));
            write!(text.sql, "SELECT {columns} FROM {} WHERE {}", table(shape), key_is(shape))
        }
        Form::WalkEnd => {
            let (place, backward) = (places(shape), list(place_columns(shape).map(|name| name + " DESC")));
            let column = holds(shape, columns);
            write!(
                text.sql,
                "SELECT {place} FROM {} WHERE {column} ORDER BY {backward} LIMIT 1",
                table(shape)
            )
        }
        Form::StepEnd { is_first } => {
            let step = if is_first { Step::First } else { Step::Next };
            let (place, step) = (places(shape), rows_of(step, shape, columns));
            write!(
                text.sql,
                "SELECT {place} FROM {} WHERE {step} ORDER BY {place} LIMIT 1 OFFSET ?",
                table(shape)
            )
        }
        Form::DeleteStep { step, returns_key } => {
            let returning = if returns_key { returning(shape, None) } else { String::new() };
            write!(
                text.sql,
                "DELETE FROM {} WHERE {}{returning}",
                table(shape),
                rows_of(step, shape, columns)
            )
        }
        Form::UpdateStep { step, returns_key } => {
            let sets = sets(shape, columns.get(1..).unwrap_or_default());
            let returning = if returns_key { returning(shape, shape.revision) } else { String::new() };
            let rows = rows_of(step, shape, columns);
            write!(text.sql, "UPDATE {} SET {sets} WHERE {rows}{returning}", table(shape))
        }
    };
    text
}

fn insert(
    shape: &TableShape,
    with_key: bool,
    or_ignore: bool,
    columns: &[usize],
    text: &mut Text,
) -> std::fmt::Result {
    let key = if with_key { shape.key.as_slice() } else { &[] };
    let revision = shape.revision.map(|revision| revision.column);
    let given: Vec<usize> = key.iter().chain(columns).copied().chain(revision).collect();
    write!(text.sql, "INSERT INTO {}", table(shape))?;
    if given.is_empty() && !or_ignore {
        text.sql.push_str(" DEFAULT VALUES");
    } else if given.is_empty() {
        // SQLite has no ON CONFLICT behind DEFAULT VALUES; naming what it fills in anyhow does the same.
        let (column, value) = match (shape.rowid_name, shape.key.first()) {
            (None, Some(column)) => (name(shape, *column), default_of(shape, *column)),
            (rowid, _) => (rowid.unwrap_or("rowid").to_owned(), "NULL".to_owned()),
        };
        write!(text.sql, " ({column}) VALUES ({value}) ON CONFLICT DO NOTHING")?;
    } else {
        let names = list(given.iter().map(|column| name(shape, *column)));
        let marks = list(given.iter().map(|_| "?".to_owned()));
        write!(text.sql, " ({names}) VALUES ({marks})")?;
        if or_ignore {
            text.sql.push_str(" ON CONFLICT DO NOTHING");
        }
    }
    let fills = |column: &usize| {
        let facts = &shape.columns[*column];
        !facts.is_generated && facts.default.is_some() && !given.contains(column)
    };
    text.filled = (0..shape.columns.len()).filter(fills).collect();
    if !text.filled.is_empty() {
        write!(text.sql, " RETURNING {}", list(text.filled.iter().map(|column| name(shape, *column))))?;
    }
    Ok(())
}

fn update(shape: &TableShape, guard: GuardForm, columns: &[usize], sql: &mut String) -> std::fmt::Result {
    write!(sql, "UPDATE {} SET {} WHERE {}", table(shape), sets(shape, columns), key_is(shape))?;
    guarded(shape, guard, sql)
}

fn adjust(
    shape: &TableShape,
    guard: GuardForm,
    set: &[usize],
    raised: &[usize],
    added: &[usize],
    sql: &mut String,
) -> std::fmt::Result {
    // A column that is compared stands on the left: its collation and its affinity count.
    let raise = |column: &usize| {
        let name = name(shape, *column);
        format!("{name} = CASE WHEN {name} >= ? THEN {name} ELSE ? END")
    };
    let add = |column: &usize| {
        let name = name(shape, *column);
        format!("{name} = coalesce({name}, 0) + ?")
    };
    let sets = set.iter().map(|column| name(shape, *column) + " = ?");
    let sets = sets.chain(raised.iter().map(raise)).chain(added.iter().map(add)).chain(set_revision(shape));
    write!(sql, "UPDATE {} SET {} WHERE {}", table(shape), list(sets), key_is(shape))?;
    guarded(shape, guard, sql)?;
    if set.is_empty() && added.is_empty() {
        let grows = |column: &usize| {
            let name = name(shape, *column);
            format!("{name} IS NULL OR {name} < ?")
        };
        write!(sql, " AND ({})", raised.iter().map(grows).collect::<Vec<_>>().join(" OR "))?;
    }
    for column in added {
        let name = name(shape, *column);
        write!(sql, " AND ({name} IS NULL OR (typeof({name}) = 'integer' AND {name} BETWEEN ? AND ?))")?;
    }
    Ok(())
}

fn delete(
    shape: &TableShape,
    guard: GuardForm,
    returns_revision: bool,
    sql: &mut String,
) -> std::fmt::Result {
    write!(sql, "DELETE FROM {} WHERE {}", table(shape), key_is(shape))?;
    guarded(shape, guard, sql)?;
    if returns_revision { write!(sql, " RETURNING {}", revision_or_one(shape)) } else { Ok(()) }
}

fn guarded(shape: &TableShape, guard: GuardForm, sql: &mut String) -> std::fmt::Result {
    if guard.revision {
        write!(sql, " AND {} = ?", revision_or_one(shape))?;
    }
    if let Some(column) = guard.column {
        write!(sql, " AND {} IS ?", name(shape, column))?;
    }
    if guard.countable {
        let revision = revision_or_one(shape);
        write!(sql, " AND typeof({revision}) = 'integer' AND {revision} < ?")?;
    }
    Ok(())
}

/// The assignments of an update, that of the revision last.
fn sets(shape: &TableShape, columns: &[usize]) -> String {
    list(columns.iter().map(|column| name(shape, *column) + " = ?").chain(set_revision(shape)))
}

fn set_revision(shape: &TableShape) -> Option<String> {
    shape.revision.map(|Revision { column, kind }| {
        let name = name(shape, column);
        match kind {
            // NULL: the column was added to rows that were there before.
            RevisionKind::Counter => format!("{name} = coalesce({name}, 0) + ?"),
            RevisionKind::Sequence => format!("{name} = ?"),
        }
    })
}

fn key_is(shape: &TableShape) -> String {
    let parts: Vec<String> = shape.key.iter().map(|column| name(shape, *column) + " = ?").collect();
    parts.join(" AND ")
}

/// The rows of one step of a walk.
fn rows_of(step: Step, shape: &TableShape, columns: &[usize]) -> String {
    let (places, marks) = (places(shape), list(place_columns(shape).map(|_| "?".to_owned())));
    let column = holds(shape, columns);
    match step {
        Step::First => format!("{column} AND ({places}) <= ({marks})"),
        Step::Next => format!("{column} AND ({places}) > ({marks}) AND ({places}) <= ({marks})"),
        Step::All => column,
    }
}

/// The key, and behind it the revision.
fn returning(shape: &TableShape, revision: Option<Revision>) -> String {
    let revision = revision.map(|revision| revision.column);
    format!(
        " RETURNING {}",
        list(shape.key.iter().copied().chain(revision).map(|column| name(shape, column)))
    )
}

fn holds(shape: &TableShape, columns: &[usize]) -> String {
    columns.first().map_or_else(|| "1".to_owned(), |column| name(shape, *column) + " IS ?")
}

/// What tells the rows apart in a walk, and orders them.
fn place_columns(shape: &TableShape) -> impl Iterator<Item = String> + '_ {
    let key = if shape.rowid_name.is_some() { &[][..] } else { shape.walk_columns() };
    shape.rowid_name.map(str::to_owned).into_iter().chain(key.iter().map(|column| name(shape, *column)))
}

fn places(shape: &TableShape) -> String {
    list(place_columns(shape))
}

fn revision_or_one(shape: &TableShape) -> String {
    shape.revision.map_or_else(|| "1".to_owned(), |revision| name(shape, revision.column))
}

fn table(shape: &TableShape) -> String {
    format!("main.{}", quoted(&shape.name))
}

fn name(shape: &TableShape, column: usize) -> String {
    quoted(&shape.columns[column].name)
}

fn default_of(shape: &TableShape, column: usize) -> String {
    shape.columns[column].default.as_ref().map_or_else(|| "NULL".to_owned(), |text| format!("({text})"))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
