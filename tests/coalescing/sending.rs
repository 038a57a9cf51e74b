//! From a program's commands to the calls of the crate's users.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::time::Duration;

use walwright::{
    Batch, BulkUpdate, BulkWrite, ClosureError, Delete, Row, Store, Table, Tx, Update, Value, Write,
};

use crate::answer::{Answer, Success};
use crate::command::{
    Adjust, Bulk, BulkCall, Change, Command, Deadline, Ending, ModifyCall, Op, Part, RowCall, Sent,
};
use crate::program::Handle;

/// A deadline that nobody lives to see.
const FAR: Duration = Duration::from_secs(3600);
/// Long enough to be admitted, short enough to be waited for.
const NEAR: Duration = Duration::from_micros(100);

/// The handles of a program, opened.
pub struct Handles<'p> {
    pub store: &'p Store,
    pub handles: &'p [Handle],
    /// By the handles' numbers; those that could not be opened are not there.
    pub tables: &'p BTreeMap<usize, Table<Row>>,
}

/// A command that was sent, and its answer when that is asked for.
pub struct Waiting(Box<dyn FnOnce() -> Answer>);

/// What became of a row call on its way to the queue.
enum RowWrite {
    Write(Write<walwright::RowReceipt>),
    Update(Update<Row>),
    Delete(Delete<Row>),
}

impl Waiting {
    fn answered(answer: Answer) -> Self {
        Self(Box::new(move || answer))
    }

    pub fn wait(self) -> Answer {
        (self.0)()
    }
}

impl Handles<'_> {
    /// Sends a command. The writer must be held, so that a deadline passes before the command's turn comes.
    pub fn send(&self, sent: &Sent) -> Waiting {
        let missing = sent.command.handles().into_iter().find(|handle| !self.tables.contains_key(handle));
        if let Some(handle) = missing {
            return Waiting::answered(Answer::note(format!("h{handle} is not open")));
        }
        match &sent.command {
            Command::Row(call) => match self.row(call) {
                RowWrite::Write(write) => self.submit(sent, write),
                RowWrite::Update(update) => self.submit(sent, update.send()),
                RowWrite::Delete(delete) => self.submit(sent, delete.send()),
            },
            Command::Batch(parts) => {
                let batch = parts.iter().fold(self.store.batch(), |batch, part| self.add(batch, part));
                self.submit(sent, batch.send())
            }
            Command::Bulk(call) => self.submit(sent, self.bulk(call)),
            Command::Modify(call) => {
                let ModifyCall { handle, key, column, change } = call.clone();
                let write = self.tables[&handle].modify(key, move |row| modify(row, &column, &change));
                self.submit(sent, write)
            }
            Command::Statement(sql) => self.submit(sent, self.store.execute(sql.clone(), ())),
            Command::Closure { statements, ending } => {
                let (statements, ending) = (statements.clone(), *ending);
                self.submit(sent, self.store.write(move |tx| run(tx, &statements, ending)))
            }
        }
    }

    /// Puts a write into the queue without waiting for its answer, unless it is one that a deadline gives.
    pub fn submit<T: Success + Send + 'static>(&self, sent: &Sent, write: Write<T>) -> Waiting {
        let write = write.ack(sent.level);
        let write = match sent.deadline {
            Deadline::None => write,
            Deadline::Far => write.deadline(FAR),
            Deadline::Passed => write.deadline(NEAR),
        };
        let answer = |result: Result<T, _>| match result {
            Ok(success) => success.answer(),
            Err(error) => Answer::failed(&error),
        };
        match write.try_submit() {
            Ok(pending) if sent.deadline == Deadline::Passed => Waiting::answered(answer(pending.wait())),
            Ok(pending) => Waiting(Box::new(move || answer(pending.wait()))),
            Err(error) => Waiting::answered(answer(Err(error))),
        }
    }

    fn row(&self, call: &RowCall) -> RowWrite {
        let table = &self.tables[&call.handle];
        let key = call.key.clone().unwrap_or_default();
        match call.op {
            Op::Insert => RowWrite::Write(table.insert(&self.row_of(call))),
            Op::InsertOrIgnore => RowWrite::Write(table.insert_or_ignore(&self.row_of(call))),
            Op::Upsert => RowWrite::Write(table.upsert(&self.row_of(call))),
            Op::Update => {
                let set = |update: Update<Row>, (column, value): &(String, Value)| update.set(column, value);
                let mut update = call.set.iter().fold(table.update(key), set);
                for (column, adjust) in &call.adjust {
                    update = match adjust {
                        Adjust::Add(by) => update.add(column, *by),
                        Adjust::Raise(value) => update.set_greatest(column, value),
                    };
                }
                if call.or_insert {
                    update = update.or_insert();
                }
                if let Some(revision) = call.if_revision {
                    update = update.if_revision(revision);
                }
                if let Some((column, value)) = &call.only_if {
                    update = update.only_if(column, value);
                }
                RowWrite::Update(update)
            }
            Op::Delete => {
                let mut delete = table.delete(key);
                if let Some(revision) = call.if_revision {
                    delete = delete.if_revision(revision);
                }
                if let Some((column, value)) = &call.only_if {
                    delete = delete.only_if(column, value);
                }
                RowWrite::Delete(delete)
            }
        }
    }

    fn row_of(&self, call: &RowCall) -> Row {
        let names = self.handles[call.handle].key.iter().cloned();
        let key = names.zip(call.key.iter().flatten().cloned());
        key.chain(call.set.iter().cloned()).collect()
    }

    fn add(&self, batch: Batch, part: &Part) -> Batch {
        match part {
            Part::Statement(sql) => batch.execute(sql.clone(), ()),
            Part::Row(call) => match self.row(call) {
                RowWrite::Write(write) => batch.add(write),
                RowWrite::Update(update) => batch.add(update),
                RowWrite::Delete(delete) => batch.add(delete),
            },
        }
    }

    fn bulk(&self, call: &BulkCall) -> Write<walwright::BulkReceipt> {
        let table = &self.tables[&call.handle];
        let write = |write: BulkWrite<Row>| if call.is_atomic { write.atomic().send() } else { write.send() };
        let update =
            |update: BulkUpdate<Row>| if call.is_atomic { update.atomic().send() } else { update.send() };
        match &call.work {
            Bulk::DeleteMany(keys) => write(table.delete_many(keys)),
            Bulk::DeleteWhere(column, value) => write(table.delete_where(column, value)),
            Bulk::UpdateMany(keys, (set, to)) => update(table.update_many(keys).set(set, to)),
            Bulk::UpdateWhere(column, value, (set, to)) => {
                update(table.update_where(column, value).set(set, to))
            }
            Bulk::InsertMany(op, calls) => {
                let rows = calls.iter().map(|call| self.row_of(call));
                write(match op {
                    Op::InsertOrIgnore => table.insert_or_ignore_many(rows),
                    Op::Upsert => table.upsert_many(rows),
                    _ => table.insert_many(rows),
                })
            }
        }
    }
}

fn modify(row: &mut Row, column: &str, change: &Change) -> Result<String, ClosureError> {
    let found = format!("found {:?}", row.value(column));
    match change {
        Change::Set(value) => row.set(column, value)?,
        Change::Count => {
            let counted = match row.value(column) {
                Some(Value::Integer(integer)) if integer.unsigned_abs() < 1000 => integer + 1,
                _ => 1,
            };
            row.set(column, counted)?;
        }
        Change::Nothing => {}
        Change::Fail => return Err(ClosureError::message("on purpose")),
        Change::Panic => panic_quietly(),
    }
    Ok(found)
}

fn run(tx: &Tx<'_>, statements: &[String], ending: Ending) -> Result<String, ClosureError> {
    let mut seen = Vec::new();
    for sql in statements {
        if sql.starts_with("SELECT") {
            let value = tx.query_row(sql, (), |row| row.get::<_, walwright::rusqlite::types::Value>(0))?;
            seen.push(format!("{value:?}"));
        } else {
            seen.push(tx.execute(sql, ())?.to_string());
        }
    }
    match ending {
        Ending::Well => Ok(seen.join(", ")),
        Ending::Error => Err(ClosureError::message("on purpose")),
        Ending::Panic => panic_quietly(),
    }
}

/// A panic that prints nothing.
fn panic_quietly() -> ! {
    resume_unwind(Box::new("on purpose"))
}
