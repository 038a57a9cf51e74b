//! The rows of the table `item`, and what changes one of them: in SQL, and as data through the table's handle.

use serde::{Deserialize, Serialize};
use walwright::{Conflict, RowReceipt, Table, Write};

/// Rows of one client.
pub const ROWS: usize = 6;
/// A row that is always there and that nobody changes.
pub const SENTINEL: i64 = 0;
/// Different notes of one client.
pub const NOTES: u8 = 3;

/// One row, as the model knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub value: u32,
    /// One of few, so that several rows have the same.
    pub note: Option<u8>,
    /// Row commands count it up, SQL leaves it alone.
    pub revision: i64,
}

/// A client's rows.
pub type State = [Option<Item>; ROWS];

/// One row, as the store knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ItemRow {
    pub id: i64,
    pub value: u32,
    pub note: Option<i64>,
    pub revision: i64,
}

/// A change of one row in SQL.
#[derive(Clone, Copy, Debug)]
pub enum Sql {
    /// Fails if the row is there.
    Insert(usize, u32),
    Put(usize, u32),
    /// A delete and an insert: SQLite's authorizer does not see the delete.
    Replace(usize, u32),
    Update(usize, u32),
    Delete(usize),
}

/// A row command.
#[derive(Clone, Copy, Debug)]
pub enum RowOp {
    /// Fails if the row is there.
    Insert(usize, u32, Option<u8>),
    InsertOrIgnore(usize, u32, Option<u8>),
    Upsert(usize, u32, Option<u8>),
    Update(usize, Set, Guard),
    Delete(usize, Guard),
}

/// The columns that an update sets.
#[derive(Clone, Copy, Debug)]
pub enum Set {
    Value(u32),
    Note(Option<u8>),
    Both(u32, Option<u8>),
}

/// What an update or a delete expects of its row.
#[derive(Clone, Copy, Debug)]
pub enum Guard {
    Nothing,
    Revision(i64),
    Note(Option<u8>),
}

/// What a successful command tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// How many rows it changed.
    Rows(u64),
    /// What a row command did to its row.
    Row { rows_changed: u64, revision: Option<i64>, created: bool, made: Option<usize> },
    /// The row that a closure was given and changed, how many rows that changed, and the revision after it; or
    /// nothing, if there is no such row.
    Modified(Option<(Item, u64, Option<i64>)>),
}

/// How a command fails by its own doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A guard does not hold for the row, which has this revision or is not there.
    Conflict { revision: Option<i64> },
    /// A constraint, or what its closure returned or did.
    Other,
}

/// The id of a client's row.
pub fn id(client: usize, row: usize) -> i64 {
    (1 + client as i64) * 100 + row as i64
}

/// A note of a client as it is stored.
pub fn stored_note(client: usize, note: Option<u8>) -> Option<i64> {
    note.map(|note| (1 + client as i64) * 10 + i64::from(note))
}

/// What stands in the file, as the model has it.
pub fn item(client: usize, value: u32, note: Option<i64>, revision: i64) -> Item {
    let own = |note: i64| u8::try_from(note - (1 + client as i64) * 10).expect("a note of the row's client");
    Item { value, note: note.map(own), revision }
}

impl ItemRow {
    fn new(client: usize, row: usize, value: u32, note: Option<u8>) -> Self {
        Self { id: id(client, row), value, note: stored_note(client, note), revision: 0 }
    }
}

impl Told {
    pub const NOTHING: Self = Self::Row { rows_changed: 0, revision: None, created: false, made: None };

    fn changed(revision: i64) -> Self {
        Self::Row { rows_changed: 1, revision: Some(revision), created: false, made: None }
    }

    pub fn by_receipt(client: usize, receipt: &RowReceipt) -> Self {
        let made = receipt.rowid.map(|rowid| (rowid - id(client, 0)) as usize);
        let RowReceipt { rows_changed, revision, created, .. } = *receipt;
        Self::Row { rows_changed, revision, created, made }
    }

    pub fn rows_changed(self) -> u64 {
        match self {
            Self::Rows(rows) => rows,
            Self::Row { rows_changed, .. } | Self::Modified(Some((_, rows_changed, _))) => rows_changed,
            Self::Modified(None) => 0,
        }
    }
}

impl Failure {
    pub fn by_conflict(conflict: &Conflict) -> Self {
        assert_eq!(conflict.exists, conflict.revision.is_some(), "{conflict:?}");
        Self::Conflict { revision: conflict.revision }
    }
}

impl Sql {
    pub fn text(self) -> &'static str {
        match self {
            Self::Insert(..) => "INSERT INTO item (id, value) VALUES (?1, ?2)",
            Self::Put(..) => {
                "INSERT INTO item (id, value) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET value = ?2"
            }
            Self::Replace(..) => "INSERT OR REPLACE INTO item (id, value) VALUES (?1, ?2)",
            Self::Update(..) => "UPDATE item SET value = ?2 WHERE id = ?1",
            Self::Delete(_) => "DELETE FROM item WHERE id = ?1 AND ?2 IS NULL",
        }
    }

    pub fn params(self, client: usize) -> (i64, Option<u32>) {
        match self {
            Self::Insert(row, value)
            | Self::Put(row, value)
            | Self::Replace(row, value)
            | Self::Update(row, value) => (id(client, row), Some(value)),
            Self::Delete(row) => (id(client, row), None),
        }
    }

    /// Changes the state, and gives how many rows that changed.
    pub fn apply(self, state: &mut State) -> Result<u64, Failure> {
        let new = |value| Some(Item { value, note: None, revision: 0 });
        match self {
            Self::Insert(row, _) if state[row].is_some() => return Err(Failure::Other),
            Self::Insert(row, value) | Self::Replace(row, value) => state[row] = new(value),
            Self::Put(row, value) => {
                state[row] = state[row].map(|item| Item { value, ..item }).or(new(value));
            }
            Self::Update(row, value) => match &mut state[row] {
                Some(item) => item.value = value,
                None => return Ok(0),
            },
            Self::Delete(row) => return Ok(u64::from(state[row].take().is_some())),
        }
        Ok(1)
    }

    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete(_) | Self::Replace(..))
    }
}

impl RowOp {
    /// The command, to be sent alone or in a batch.
    pub fn request(self, items: &Table<ItemRow>, client: usize) -> Write<RowReceipt> {
        match self {
            Self::Insert(row, value, note) => items.insert(&ItemRow::new(client, row, value, note)),
            Self::InsertOrIgnore(row, value, note) => {
                items.insert_or_ignore(&ItemRow::new(client, row, value, note))
            }
            Self::Upsert(row, value, note) => items.upsert(&ItemRow::new(client, row, value, note)),
            Self::Update(row, set, guard) => {
                let mut update = items.update(id(client, row));
                for (column, value) in set.columns(client) {
                    update = update.set(column, value);
                }
                match guard {
                    Guard::Nothing => update,
                    Guard::Revision(revision) => update.if_revision(revision),
                    Guard::Note(note) => update.only_if("note", stored_note(client, note)),
                }
                .send()
            }
            Self::Delete(row, guard) => {
                let delete = items.delete(id(client, row));
                match guard {
                    Guard::Nothing => delete,
                    Guard::Revision(revision) => delete.if_revision(revision),
                    Guard::Note(note) => delete.only_if("note", stored_note(client, note)),
                }
                .send()
            }
        }
    }

    /// Changes the state, and gives what its receipt tells.
    pub fn apply(self, state: &mut State) -> Result<Told, Failure> {
        match self {
            Self::Insert(row, ..) if state[row].is_some() => Err(Failure::Other),
            Self::InsertOrIgnore(row, ..) if state[row].is_some() => Ok(Told::NOTHING),
            Self::Upsert(row, value, note) if state[row].is_some() => {
                Ok(Set::Both(value, note).apply(&mut state[row]).map_or(Told::NOTHING, Told::changed))
            }
            Self::Insert(row, value, note)
            | Self::InsertOrIgnore(row, value, note)
            | Self::Upsert(row, value, note) => {
                state[row] = Some(Item { value, note, revision: 1 });
                Ok(Told::Row { rows_changed: 1, revision: Some(1), created: true, made: Some(row) })
            }
            Self::Update(row, set, guard) => {
                guard.check(state[row])?;
                Ok(set.apply(&mut state[row]).map_or(Told::NOTHING, Told::changed))
            }
            Self::Delete(row, guard) => {
                guard.check(state[row])?;
                let rows_changed = u64::from(state[row].take().is_some());
                Ok(Told::Row { rows_changed, revision: None, created: false, made: None })
            }
        }
    }

    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete(..))
    }
}

impl Set {
    /// The columns by name, with their values.
    pub fn columns(self, client: usize) -> Vec<(&'static str, Option<i64>)> {
        let value = |value: u32| ("value", Some(i64::from(value)));
        let note = |note| ("note", stored_note(client, note));
        match self {
            Self::Value(of) => vec![value(of)],
            Self::Note(of) => vec![note(of)],
            Self::Both(of, and) => vec![value(of), note(and)],
        }
    }

    /// Changes the row, if it is there, and gives its new revision.
    pub fn apply(self, row: &mut Option<Item>) -> Option<i64> {
        let item = row.as_mut()?;
        match self {
            Self::Value(value) => item.value = value,
            Self::Note(note) => item.note = note,
            Self::Both(value, note) => (item.value, item.note) = (value, note),
        }
        item.revision += 1;
        Some(item.revision)
    }
}

impl Guard {
    fn check(self, row: Option<Item>) -> Result<(), Failure> {
        let holds = |item: Item| match self {
            Self::Nothing => true,
            Self::Revision(revision) => item.revision == revision,
            Self::Note(note) => item.note == note,
        };
        match row {
            Some(item) if !holds(item) => Err(Failure::Conflict { revision: Some(item.revision) }),
            None if !matches!(self, Self::Nothing) => Err(Failure::Conflict { revision: None }),
            _ => Ok(()),
        }
    }
}
