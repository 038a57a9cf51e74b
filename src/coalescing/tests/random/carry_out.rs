//! The plainest way to carry out a command or a chain.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::super::super::{Chain, ChainKind, MemberRole, TableFacts};
use crate::error::SqliteError;
use crate::row::{
    Guard, Revision, RevisionKind, RowCommand, RowOp, TableShape, Value, ValueRef, Values, quoted,
};

/// What a caller would be told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Done { rows: usize, revision: Option<SqlValue>, created: Option<Created> },
    Conflict { revision: Option<SqlValue> },
    Error(String),
}

/// What a receipt tells of a row that was made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Created {
    rowid: Option<i64>,
    filled: Vec<SqlValue>,
}

/// SQL and its parameters.
#[derive(Default)]
struct Sql {
    text: String,
    params: Vec<SqlValue>,
}

impl Sql {
    fn add(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    fn bind(&mut self, value: ValueRef<'_>) -> &mut Self {
        self.params.push(sql_value(value));
        self.add("?")
    }

    fn run(&self, connection: &Connection) -> Result<usize, SqliteError> {
        Ok(connection.execute(&self.text, params_from_iter(&self.params))?)
    }
}

fn sql_value(value: ValueRef<'_>) -> SqlValue {
    match value.to_value() {
        Value::Null => SqlValue::Null,
        Value::Integer(value) => SqlValue::Integer(value),
        Value::Real(value) => SqlValue::Real(value),
        Value::Text(text) => SqlValue::Text(text),
        Value::Blob(bytes) => SqlValue::Blob(bytes),
    }
}

fn name(shape: &TableShape, column: usize) -> String {
    quoted(&shape.columns[column].name)
}

fn key_of(command: &RowCommand) -> Vec<ValueRef<'_>> {
    command.values.key().values().collect()
}

/// A change to write: the values, and how far the revision moves.
struct Change<'a> {
    set: Values<'a>,
    raise: u32,
    sequence: u64,
}

fn insert(command: &RowCommand, change: &Change<'_>) -> Sql {
    let shape = &command.table;
    let revision = shape.revision.map(|Revision { column, kind }| match kind {
        RevisionKind::Counter => (column, ValueRef::Integer(i64::from(change.raise))),
        RevisionKind::Sequence => (column, ValueRef::Integer(change.sequence as i64)),
    });
    let values: Vec<_> = command.values.key().iter().chain(change.set.iter()).chain(revision).collect();
    let names: Vec<_> = values.iter().map(|(column, _)| name(shape, *column)).collect();
    let mut sql = Sql::default();
    sql.add(&format!("INSERT INTO main.{} ({}) VALUES (", quoted(&shape.name), names.join(", ")));
    for (at, (_, value)) in values.iter().enumerate() {
        sql.add(if at == 0 { "" } else { ", " }).bind(*value);
    }
    sql.add(")");
    sql
}

fn update(command: &RowCommand, change: &Change<'_>) -> Sql {
    let shape = &command.table;
    let mut sql = Sql::default();
    sql.add(&format!("UPDATE main.{} SET ", quoted(&shape.name)));
    for (at, (column, value)) in change.set.iter().enumerate() {
        sql.add(if at == 0 { "" } else { ", " }).add(&format!("{} = ", name(shape, column))).bind(value);
    }
    if let Some(Revision { column, kind }) = shape.revision {
        let name = name(shape, column);
        sql.add(if change.set.is_empty() { "" } else { ", " });
        match kind {
            RevisionKind::Counter => sql.add(&format!("{name} = {name} + {}", change.raise)),
            RevisionKind::Sequence => sql.add(&format!("{name} = {}", change.sequence)),
        };
    }
    sql
}

fn add_where(sql: &mut Sql, shape: &TableShape, key: &[ValueRef<'_>], guard: &Guard) {
    for (at, (column, value)) in shape.key.iter().zip(key).enumerate() {
        sql.add(if at == 0 { " WHERE " } else { " AND " })
            .add(&format!("{} = ", name(shape, *column)))
            .bind(*value);
    }
    if let (Some(asked), Some(revision)) = (guard.revision, shape.revision) {
        sql.add(&format!(" AND {} = {asked}", name(shape, revision.column)));
    }
    if let Some((column, value)) = guard.column.as_deref() {
        sql.add(&format!(" AND {} IS ", name(shape, *column))).bind(value.into());
    }
}

/// What a chain asks of a counter that is there already.
fn add_counter_in_range(sql: &mut Sql, shape: &TableShape, changes: u32) {
    if let Some(Revision { column, kind: RevisionKind::Counter }) = shape.revision {
        let name = name(shape, column);
        let largest = i64::MAX - i64::from(changes);
        sql.add(&format!(" AND typeof({name}) = 'integer' AND {name} <= {largest}"));
    }
}

/// The row's revision; `None` if there is no such row.
fn revision_of(connection: &Connection, shape: &TableShape, key: &[ValueRef<'_>]) -> Option<SqlValue> {
    let column = shape.revision.map_or_else(|| "NULL".to_owned(), |of| name(shape, of.column));
    let mut sql = Sql::default();
    sql.add(&format!("SELECT {column} FROM main.{}", quoted(&shape.name)));
    add_where(&mut sql, shape, key, &Guard::default());
    let row = connection.query_row(&sql.text, params_from_iter(&sql.params), |row| row.get(0));
    row.optional().unwrap()
}

/// What to tell of the row that was just made.
fn created(connection: &Connection, command: &RowCommand) -> Created {
    let shape = &command.table;
    let rowid = shape.rowid_name.map(|_| connection.last_insert_rowid());
    let sent = |column: usize| shape.key.contains(&column) || command.values.set().value_of(column).is_some();
    let filled = |(at, column): (usize, &crate::row::ColumnShape)| {
        let is_filled =
            column.default.is_some() && !sent(at) && shape.revision.is_none_or(|of| of.column != at);
        is_filled.then(|| {
            let mut sql = Sql::default();
            sql.add(&format!("SELECT {} FROM main.{}", name(shape, at), quoted(&shape.name)));
            match (shape.rowid_name, rowid) {
                (Some(name), Some(rowid)) => {
                    sql.add(&format!(" WHERE {name} = {rowid}"));
                }
                _ => add_where(&mut sql, shape, &key_of(command), &Guard::default()),
            }
            // A trigger may have taken it away again.
            let row = connection.query_row(&sql.text, params_from_iter(&sql.params), |row| row.get(0));
            row.optional().unwrap().unwrap_or(SqlValue::Null)
        })
    };
    Created { rowid, filled: shape.columns.iter().enumerate().filter_map(filled).collect() }
}

/// Carries out one command; with a savepoint, or in the hope that a failure leaves nothing behind.
pub(super) fn carry_out_one(
    connection: &Connection,
    command: &RowCommand,
    sequence: u64,
    with_savepoint: bool,
) -> Answer {
    isolated(connection, with_savepoint, || try_one(connection, command, sequence))
        .unwrap_or_else(|error| Answer::Error(format!("{error}")))
}

fn try_one(connection: &Connection, command: &RowCommand, sequence: u64) -> Result<Answer, SqliteError> {
    let shape = &command.table;
    let change = Change { set: command.values.set(), raise: 1, sequence };
    let revision =
        |key: &[ValueRef<'_>]| revision_of(connection, shape, key).filter(|_| shape.revision.is_some());
    let done = |rows, revision, created| Answer::Done { rows, revision, created };
    let made = || {
        let first = match shape.revision.map(|of| of.kind) {
            Some(RevisionKind::Counter) => Some(SqlValue::Integer(1)),
            Some(RevisionKind::Sequence) => Some(SqlValue::Integer(sequence as i64)),
            None => None,
        };
        done(1, first, Some(created(connection, command)))
    };
    let conditional = |mut sql: Sql| -> Result<usize, SqliteError> {
        add_where(&mut sql, shape, &key_of(command), &command.guard);
        sql.run(connection)
    };
    let rows = match command.op {
        RowOp::Insert => {
            insert(command, &change).run(connection)?;
            return Ok(made());
        }
        RowOp::InsertOrIgnore => {
            let mut sql = insert(command, &change);
            let rows = sql.add(" ON CONFLICT DO NOTHING").run(connection)?;
            return Ok(if rows == 0 { done(0, None, None) } else { made() });
        }
        RowOp::Upsert => {
            let rows = conditional(update(command, &change))?;
            if rows == 0 {
                insert(command, &change).run(connection)?;
                return Ok(made());
            }
            rows
        }
        RowOp::Update => conditional(update(command, &change))?,
        RowOp::Delete => {
            let mut sql = Sql::default();
            sql.add(&format!("DELETE FROM main.{}", quoted(&shape.name)));
            let rows = conditional(sql)?;
            if rows > 0 {
                return Ok(done(rows, None, None));
            }
            rows
        }
    };
    if rows > 0 {
        let set = command.values.set();
        let key = command.values.key().iter().map(|(at, old)| set.value_of(at).unwrap_or(old));
        let key: Vec<_> = key.collect();
        return Ok(done(rows, revision(&key), None));
    }
    if command.guard == Guard::default() {
        return Ok(done(0, None, None));
    }
    Ok(Answer::Conflict { revision: revision_of(connection, shape, &key_of(command)) })
}

/// Carries out a chain. `None` if it did not come out as planned; then nothing of it is left.
pub(super) fn carry_out_chain(
    connection: &Connection,
    chain: &Chain,
    run: &[(RowCommand, TableFacts)],
    first_sequence: u64,
) -> Option<Vec<(usize, Answer)>> {
    let (head, facts) = &run[chain.members[0].command];
    let shape = &head.table;
    let last = chain.last_change().unwrap();
    let change =
        Change { set: chain.set.set(), raise: chain.changes, sequence: first_sequence + last as u64 };
    let before = revision_of(connection, shape, &key_of(head));
    let conditional = |mut sql: Sql| -> Result<usize, SqliteError> {
        add_where(&mut sql, shape, &key_of(head), &head.guard);
        add_counter_in_range(&mut sql, shape, chain.changes);
        sql.run(connection)
    };
    let done = isolated(connection, facts.needs_savepoint, || match chain.kind {
        ChainKind::Insert => Ok((insert(head, &change).run(connection)?, true)),
        ChainKind::Update => Ok((conditional(update(head, &change))?, false)),
        ChainKind::Upsert => match conditional(update(head, &change))? {
            0 => Ok((insert(head, &change).run(connection)?, true)),
            rows => Ok((rows, false)),
        },
        ChainKind::Delete => {
            let mut sql = Sql::default();
            sql.add(&format!("DELETE FROM main.{}", quoted(&shape.name)));
            Ok((conditional(sql)?, false))
        }
    });
    let Ok((1, is_made)) = done else { return None };
    let base = match before {
        Some(SqlValue::Integer(base)) if !is_made => base,
        _ => 0,
    };
    let mut last_sequence = 0;
    let answers = chain.members.iter().map(|member| {
        let is_change = member.role == MemberRole::Change;
        if is_change {
            last_sequence = (first_sequence + member.command as u64) as i64;
        }
        let revision = shape.revision.map(|of| match of.kind {
            RevisionKind::Counter => base + i64::from(member.changes_before) + i64::from(is_change),
            RevisionKind::Sequence => last_sequence,
        });
        let revision = revision.map(SqlValue::Integer);
        let answer = match member.role {
            MemberRole::Change => {
                let is_created = is_made && member == &chain.members[0];
                let created = is_created.then(|| created(connection, head));
                Answer::Done { rows: 1, revision, created }
            }
            MemberRole::Conflict => Answer::Conflict { revision: Some(revision.unwrap_or(SqlValue::Null)) },
            MemberRole::Delete => Answer::Done { rows: 1, revision: None, created: None },
        };
        (member.command, answer)
    });
    Some(answers.collect())
}

fn isolated<T>(
    connection: &Connection,
    with_savepoint: bool,
    carry_out: impl FnOnce() -> Result<T, SqliteError>,
) -> Result<T, SqliteError> {
    if with_savepoint {
        connection.execute_batch("SAVEPOINT one").unwrap();
    }
    let result = carry_out();
    // What takes the whole transaction with it is the group's affair, and not made here.
    assert!(!connection.is_autocommit());
    if with_savepoint {
        let rolled_back = if result.is_err() { "ROLLBACK TO one; " } else { "" };
        connection.execute_batch(&format!("{rolled_back}RELEASE one")).unwrap();
    }
    result
}
