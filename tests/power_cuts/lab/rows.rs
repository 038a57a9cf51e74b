//! Row commands and work on many rows, each with what it does as SQL.

use super::command::{Admitted, Call, Command, Shape, call};
use super::script::Script;
use rusqlite::types::Value as Sql;
use walwright::{AckLevel, BulkReceipt, Row, RowReceipt, Table, Value, Write, WriteError};

/// What a row command does to a row of `sheet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOp {
    Insert,
    Upsert,
    SetText,
    /// If the row has the first revision.
    SetTextOfNew,
    SetCount,
    /// Reads the row and adds one to its count.
    Modify,
    Delete,
}

/// Work on many rows of `crowd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    Insert,
    SetTextWhere(i64),
    Delete,
    DeleteWhere(i64),
}

impl RowOp {
    fn sql(self) -> &'static str {
        match self {
            Self::Insert => "INSERT INTO sheet (id, text, revision) VALUES (?1, ?2, 1)",
            Self::Upsert => {
                "INSERT INTO sheet (id, text, revision) VALUES (?1, ?2, 1)
                 ON CONFLICT (id) DO UPDATE SET text = ?2, revision = revision + 1"
            }
            Self::SetText => "UPDATE sheet SET text = ?2, revision = revision + 1 WHERE id = ?1",
            Self::SetTextOfNew => {
                "UPDATE sheet SET text = ?2, revision = revision + 1 WHERE id = ?1 AND revision = 1"
            }
            Self::SetCount => "UPDATE sheet SET count = ?2, revision = revision + 1 WHERE id = ?1",
            Self::Modify => {
                "UPDATE sheet SET count = coalesce(count, 0) + 1, revision = revision + 1 WHERE id = ?1"
            }
            Self::Delete => "DELETE FROM sheet WHERE id = ?1",
        }
    }
}

/// Puts the command into the store's queue.
pub fn submit(op: RowOp, sheet: &Table<Row>, call: &Call, level: AckLevel) -> Result<Admitted, WriteError> {
    if op != RowOp::Modify {
        return request(op, sheet, call).ack(level).try_submit().map(Admitted::Row);
    }
    let modify = sheet.modify(integer(&call.values[0]), |row: &mut Row| {
        let count: Option<i64> = row.get("count")?;
        row.set("count", count.unwrap_or(0) + 1).expect("a number");
        Ok(())
    });
    modify.ack(level).try_submit().map(Admitted::Modified)
}

/// The command, to be sent alone or in a batch.
///
/// # Panics
/// For what is no command on data alone.
pub fn request(op: RowOp, sheet: &Table<Row>, call: &Call) -> Write<RowReceipt> {
    let id = integer(&call.values[0]);
    let value = || value(&call.values[1]);
    let row = || row([("id", Value::from(id)), ("text", value())]);
    match op {
        RowOp::Insert => sheet.insert(&row()),
        RowOp::Upsert => sheet.upsert(&row()),
        RowOp::SetText => sheet.update(id).set("text", value()).send(),
        RowOp::SetTextOfNew => sheet.update(id).set("text", value()).if_revision(1).send(),
        RowOp::SetCount => sheet.update(id).set("count", value()).send(),
        RowOp::Delete => sheet.delete(id).send(),
        RowOp::Modify => panic!("it runs a closure"),
    }
}

/// Work on the rows that the calls name.
pub fn bulk(bulk: Bulk, crowd: &Table<Row>, calls: &[Call]) -> Write<BulkReceipt> {
    let ids = calls.iter().map(|call| integer(&call.values[0]));
    match bulk {
        Bulk::Insert => {
            let rows = calls.iter().map(|Call { values, .. }| {
                row([("id", value(&values[0])), ("room", value(&values[1])), ("text", value(&values[2]))])
            });
            crowd.insert_many(rows).send()
        }
        Bulk::SetTextWhere(room) => {
            let text = calls.first().map_or(Value::Null, |call| value(&call.values[1]));
            crowd.update_where("room", room).set("text", text).send()
        }
        Bulk::Delete => crowd.delete_many(ids).send(),
        Bulk::DeleteWhere(room) => crowd.delete_where("room", room).send(),
    }
}

fn row<const N: usize>(columns: [(&str, Value); N]) -> Row {
    columns.into_iter().fold(Row::new(), |row, (name, value)| row.with(name, value).expect("a plain value"))
}

fn value(value: &Sql) -> Value {
    match value {
        Sql::Integer(integer) => (*integer).into(),
        Sql::Text(text) => text.as_str().into(),
        other => panic!("the script draws no {other:?} for rows"),
    }
}

fn integer(value: &Sql) -> i64 {
    match value {
        Sql::Integer(integer) => *integer,
        other => panic!("no id: {other:?}"),
    }
}

impl Script<'_> {
    /// A row command on this row of `sheet`.
    pub fn row_command(&mut self, id: i64) -> Command {
        use RowOp::{Delete, Insert, Modify, SetCount, SetText, SetTextOfNew, Upsert};
        let ops = [Insert, Insert, Upsert, SetText, SetText, SetTextOfNew, SetCount, Modify, Delete];
        let op = *self.rng.pick(&ops);
        let command = self.row_command_of(op, id);
        let level = self.level();
        command.at(level)
    }

    pub fn row_command_of(&mut self, op: RowOp, id: i64) -> Command {
        let command = Command::new(Shape::Row(op), vec![self.row_call(op, id)]);
        if op == RowOp::Delete { command.deleting() } else { command }
    }

    /// Row commands on this row and on another one that hold together.
    pub fn row_batch(&mut self, id: i64) -> Command {
        const OPS: &[RowOp] = &[RowOp::Upsert, RowOp::SetCount, RowOp::Upsert];
        let calls = OPS.iter().zip([id, id, id + 1]).map(|(op, id)| self.row_call(*op, id)).collect();
        Command::new(Shape::RowBatch(OPS), calls).at(self.level())
    }

    fn row_call(&mut self, op: RowOp, id: i64) -> Call {
        match op {
            RowOp::Modify | RowOp::Delete => call(op.sql(), [id.into()]),
            RowOp::SetCount => call(op.sql(), [id.into(), self.next().into()]),
            _ => call(op.sql(), [id.into(), self.text()]),
        }
    }

    /// Many people come into a room.
    pub fn enter_crowd(&mut self, room: i64, people: i64) -> Command {
        let sql = "INSERT INTO crowd (id, room, text) VALUES (?1, ?2, ?3)";
        let calls = (0..people).map(|_| {
            let (id, text) = (self.next(), self.text());
            call(sql, [id.into(), room.into(), text])
        });
        Command::new(Shape::Pieces(Bulk::Insert), calls.collect())
    }

    /// Everybody in the room, who are these, is given one text.
    pub fn stamp_crowd(&mut self, room: i64, people: &[i64]) -> Command {
        let text = self.text();
        let sql = "UPDATE crowd SET text = ?2 WHERE id = ?1";
        let calls = people.iter().map(|id| call(sql, [(*id).into(), text.clone()]));
        Command::new(Shape::Pieces(Bulk::SetTextWhere(room)), calls.collect())
    }

    /// These people leave, or everybody in the room, who are these.
    pub fn leave_crowd(room: Option<i64>, people: &[i64]) -> Command {
        let bulk = room.map_or(Bulk::Delete, Bulk::DeleteWhere);
        let calls = people.iter().map(|id| call("DELETE FROM crowd WHERE id = ?1", [(*id).into()]));
        Command::new(Shape::Pieces(bulk), calls.collect()).deleting()
    }
}
