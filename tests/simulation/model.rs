//! The model: what the commands of one client do to its rows.

use std::collections::BTreeSet;
use std::time::Duration;

use walwright::{AckLevel, BulkReceipt, ClosureError, Outcome, Table, Tx, Write};

use crate::item::{Failure, Item, ItemRow, RowOp, SENTINEL, Set, Sql, State, Told, id, stored_note};

/// One command.
#[derive(Clone, Debug)]
pub enum Action {
    Statement(Sql),
    InsertOrRollback(usize, u32),
    Batch(Vec<Part>),
    Closure(Vec<Sql>, Ending),
    Row(RowOp),
    Modify(usize, Change),
    /// So few rows that they are one piece: it holds together, atomic or not.
    Few(Few, Atomic),
    /// Makes an index or drops it, which changes no row.
    Index(bool),
    Flush,
}

/// Part of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Statement(Sql),
    Row(RowOp),
}

/// How a closure ends after its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Well,
    /// Well, but only after a while, in which others come to wait for the writer.
    Slow,
    Error,
    Panic,
    /// By a statement that makes SQLite roll back the whole transaction.
    RollbackReturned,
    /// The same, and the closure says that all went well.
    RollbackIgnored,
    /// A statement fails by itself, and the closure goes on.
    ConstraintIgnored,
}

/// What the closure that modifies a row does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds 1 to its value.
    Count,
    /// Sets its note.
    Note(Option<u8>),
    Nothing,
    Error,
    Panic,
}

/// Work on several rows as one command.
#[derive(Clone, Debug)]
pub enum Few {
    Insert(Vec<(usize, u32)>),
    InsertOrIgnore(Vec<(usize, u32)>),
    Upsert(Vec<(usize, u32)>),
    Delete(Vec<usize>),
    Update(Vec<usize>, Set),
    DeleteWhere(u8),
    UpdateWhere(u8, Set),
}

/// Whether it is to be done all or none.
pub type Atomic = bool;

impl Action {
    /// The state after the command and what its answer tells, or how it fails by itself.
    fn apply(&self, mut state: State) -> Result<(State, Told), Failure> {
        let told = match self {
            Self::Statement(op) => Told::Rows(op.apply(&mut state)?),
            Self::InsertOrRollback(row, value) => Told::Rows(Sql::Insert(*row, *value).apply(&mut state)?),
            Self::Batch(parts) => Told::Rows(sum(parts, |part| match part {
                Part::Statement(op) => op.apply(&mut state),
                Part::Row(op) => op.apply(&mut state).map(Told::rows_changed),
            })?),
            Self::Closure(ops, ending) => {
                let rows = sum(ops, |op| op.apply(&mut state))?;
                if !matches!(ending, Ending::Well | Ending::Slow | Ending::ConstraintIgnored) {
                    return Err(Failure::Other);
                }
                // With the line in the journal.
                Told::Rows(rows + 1)
            }
            Self::Row(op) => op.apply(&mut state)?,
            Self::Modify(row, change) => Told::Modified(change.apply(&mut state[*row])?),
            Self::Few(few, _) => Told::Rows(few.apply(&mut state)?),
            Self::Index(_) | Self::Flush => Told::Rows(0),
        };
        Ok((state, told))
    }

    /// Whether it is acknowledged only when it is durable.
    pub fn is_durable_at(&self, level: AckLevel) -> bool {
        let deletes = match self {
            Self::Statement(op) => op.deletes(),
            Self::Batch(parts) => parts.iter().any(|part| part.deletes()),
            Self::Closure(ops, _) => ops.iter().any(|op| op.deletes()),
            Self::Row(op) => op.deletes(),
            Self::Few(few, _) => matches!(few, Few::Delete(_) | Few::DeleteWhere(_)),
            Self::InsertOrRollback(..) | Self::Modify(..) | Self::Index(_) => false,
            Self::Flush => true,
        };
        level == AckLevel::Durable || deletes
    }

    /// Whether it is a closure whose success leaves a line in the table `journal`.
    pub fn is_in_journal(&self) -> bool {
        matches!(self, Self::Closure(..))
    }
}

fn sum<T>(parts: &[T], mut apply: impl FnMut(&T) -> Result<u64, Failure>) -> Result<u64, Failure> {
    parts.iter().try_fold(0, |rows, part| Ok(rows + apply(part)?))
}

impl Part {
    fn deletes(self) -> bool {
        match self {
            Self::Statement(op) => op.deletes(),
            Self::Row(op) => op.deletes(),
        }
    }
}

impl Change {
    fn apply(self, row: &mut Option<Item>) -> Result<Option<(Item, u64, Option<i64>)>, Failure> {
        let Some(before) = *row else { return Ok(None) };
        let set = match self {
            Self::Count => Set::Value(before.value + 1),
            Self::Note(note) if note != before.note => Set::Note(note),
            Self::Note(_) | Self::Nothing => return Ok(Some((before, 0, None))),
            Self::Error | Self::Panic => return Err(Failure::Other),
        };
        Ok(Some((before, 1, set.apply(row))))
    }

    /// What the closure does. It gives the row as it found it.
    pub fn carry_out(self, client: usize, row: &mut ItemRow) -> Result<ItemRow, ClosureError> {
        let before = row.clone();
        match self {
            Self::Count => row.value += 1,
            Self::Note(note) => row.note = stored_note(client, note),
            Self::Nothing => {}
            Self::Error => return Err(ClosureError::message("changed its mind")),
            // Without the panic hook, which would print.
            Self::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        }
        Ok(before)
    }
}

impl Few {
    fn apply(&self, state: &mut State) -> Result<u64, Failure> {
        let noted = |state: &State, note: u8| -> Vec<usize> {
            (0..state.len()).filter(|row| state[*row].is_some_and(|item| item.note == Some(note))).collect()
        };
        let rows_of = |op: RowOp, state: &mut State| op.apply(state).map(Told::rows_changed);
        let delete = |row: &usize, state: &mut State| Ok(u64::from(state[*row].take().is_some()));
        let update =
            |row: &usize, set: &Set, state: &mut State| Ok(u64::from(set.apply(&mut state[*row]).is_some()));
        match self {
            Self::Insert(rows) => sum(rows, |(row, value)| rows_of(RowOp::Insert(*row, *value, None), state)),
            Self::InsertOrIgnore(rows) => {
                sum(rows, |(row, value)| rows_of(RowOp::InsertOrIgnore(*row, *value, None), state))
            }
            Self::Upsert(rows) => sum(rows, |(row, value)| rows_of(RowOp::Upsert(*row, *value, None), state)),
            Self::Delete(rows) => sum(rows, |row| delete(row, state)),
            Self::Update(rows, set) => sum(rows, |row| update(row, set, state)),
            Self::DeleteWhere(note) => sum(&noted(state, *note), |row| delete(row, state)),
            Self::UpdateWhere(note, set) => sum(&noted(state, *note), |row| update(row, set, state)),
        }
    }

    /// The command, to be sent.
    pub fn request(&self, items: &Table<ItemRow>, client: usize, atomic: Atomic) -> Write<BulkReceipt> {
        let of = |rows: &[(usize, u32)]| -> Vec<ItemRow> {
            let row = |(row, value): &(usize, u32)| ItemRow {
                id: id(client, *row),
                value: *value,
                note: None,
                revision: 0,
            };
            rows.iter().map(row).collect()
        };
        let ids = |rows: &[usize]| -> Vec<i64> { rows.iter().map(|row| id(client, *row)).collect() };
        let work = match self {
            Self::Insert(rows) => items.insert_many(of(rows)),
            Self::InsertOrIgnore(rows) => items.insert_or_ignore_many(of(rows)),
            Self::Upsert(rows) => items.upsert_many(of(rows)),
            Self::Delete(rows) => items.delete_many(ids(rows)),
            Self::DeleteWhere(note) => items.delete_where("note", stored_note(client, Some(*note))),
            Self::Update(..) | Self::UpdateWhere(..) => {
                let (update, set) = match self {
                    Self::Update(rows, set) => (items.update_many(ids(rows)), set),
                    Self::UpdateWhere(note, set) => {
                        (items.update_where("note", stored_note(client, Some(*note))), set)
                    }
                    _ => unreachable!("matched above"),
                };
                let columns = set.columns(client);
                let update = columns.into_iter().fold(update, |update, (name, of)| update.set(name, of));
                return if atomic { update.atomic().send() } else { update.send() };
            }
        };
        if atomic { work.atomic().send() } else { work.send() }
    }
}

/// What the closure of that action does.
pub fn carry_out(
    tx: &Tx<'_>,
    client: usize,
    entry: usize,
    ops: &[Sql],
    ending: Ending,
) -> Result<(), ClosureError> {
    for op in ops {
        tx.execute(op.text(), op.params(client))?;
    }
    tx.execute("INSERT INTO journal (client, entry) VALUES (?1, ?2)", (client as i64, entry as i64))?;
    match ending {
        Ending::Well => Ok(()),
        Ending::Slow => {
            std::thread::sleep(Duration::from_micros(500));
            Ok(())
        }
        Ending::Error => Err(ClosureError::message("changed its mind")),
        // Without the panic hook, which would print.
        Ending::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        Ending::RollbackReturned => {
            tx.execute("INSERT OR ROLLBACK INTO item (id, value) VALUES (?1, 1)", (SENTINEL,)).map(drop)
        }
        Ending::RollbackIgnored => {
            let _ = tx.execute("INSERT OR ROLLBACK INTO item (id, value) VALUES (?1, 1)", (SENTINEL,));
            Ok(())
        }
        Ending::ConstraintIgnored => {
            let _ = tx.execute("INSERT INTO item (id, value) VALUES (?1, 1)", (SENTINEL,));
            Ok(())
        }
    }
}

/// One command of a client, with its answer.
#[derive(Clone, Debug)]
pub struct Entry {
    pub action: Action,
    pub level: AckLevel,
    pub answer: Answer,
}

/// What a client has heard of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet, or nothing ever: the future was dropped.
    None,
    /// It is done. One that found no row to modify has no receipt, and so no sequence.
    Done { sequence: Option<u64>, told: Told },
    /// It failed as its action must: by a constraint, a guard or its closure.
    FailedByItself(Failure),
    /// It failed by something else: I/O, a full queue, a deadline, a close.
    Failed(Outcome),
}

/// The states that a client's rows can be in after each of its entries. The first is that of the beginning.
pub fn possible_states(begin: &State, entries: &[Entry]) -> Result<Vec<BTreeSet<State>>, String> {
    let mut all = vec![BTreeSet::from([*begin])];
    for (at, entry) in entries.iter().enumerate() {
        let before = &all[at];
        let applied = || before.iter().map(|state| (*state, entry.action.apply(*state)));
        let after: BTreeSet<State> = match entry.answer {
            Answer::Done { told, .. } => {
                let as_told = |(_, applied)| match applied {
                    Ok((state, of)) if of == told => Some(state),
                    _ => None,
                };
                applied().filter_map(as_told).collect()
            }
            Answer::FailedByItself(failure) => {
                applied().filter(|(_, applied)| *applied == Err(failure)).map(|(state, _)| state).collect()
            }
            Answer::Failed(Outcome::NotStarted | Outcome::NotApplied) => before.clone(),
            Answer::Failed(_) | Answer::None => {
                let carried_out = applied().filter_map(|(_, applied)| Some(applied.ok()?.0));
                before.iter().copied().chain(carried_out).collect()
            }
        };
        if after.is_empty() {
            return Err(format!("entry {at} cannot have been answered so: {entry:?}, before it {before:?}"));
        }
        all.push(after);
    }
    Ok(all)
}
