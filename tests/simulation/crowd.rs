//! Work on so many rows that it is carried out in pieces, on a table of its own. Triggers make each row slow.
//!
//! A client has one such work on its way at most, so that its pieces, between which other commands are
//! carried out, are the only ones that change its rows. What is there of the work at any moment is what
//! its first so many rows have left.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use walwright::rusqlite::functions::FunctionFlags;
use walwright::rusqlite::{self, Connection};
use walwright::{AckLevel, BulkReceipt, Outcome, Table, Write};

/// Rows of one client.
pub const ROWS: usize = 24;

/// The table; each change of a row takes as long as [`register`] says.
pub const SCHEMA: &str = "
    CREATE TABLE crowd (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, value INTEGER NOT NULL);
    CREATE TRIGGER crowd_insert AFTER INSERT ON crowd BEGIN SELECT nap(); END;
    CREATE TRIGGER crowd_update AFTER UPDATE ON crowd BEGIN SELECT nap(); END;
    CREATE TRIGGER crowd_delete AFTER DELETE ON crowd BEGIN SELECT nap(); END;";

/// The values of a client's rows.
pub type Crowd = [Option<u32>; ROWS];

/// One row, as the store knows it.
#[derive(Serialize, Deserialize)]
pub struct CrowdRow {
    id: i64,
    owner: i64,
    value: u32,
}

/// Work on some of a client's rows.
#[derive(Clone, Debug)]
pub enum Work {
    Insert(Range<usize>, u32),
    InsertOrIgnore(Range<usize>, u32),
    Upsert(Range<usize>, u32),
    Update(Range<usize>, u32),
    Delete(Range<usize>),
    UpdateAll(u32),
    DeleteAll,
}

/// One such work of a client, with its answer.
#[derive(Clone, Debug)]
pub struct Entry {
    pub work: Work,
    pub is_atomic: bool,
    pub level: AckLevel,
    pub answer: Answer,
}

/// What a client has heard of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet, or nothing ever.
    None,
    Done {
        sequence: u64,
        rows: u64,
    },
    /// A row was there already; this many were changed before, and stay.
    Constraint {
        rows: u64,
    },
    /// It failed by something else: I/O, a full queue, a deadline, a close.
    Failed(Outcome),
}

/// What a client's rows can be.
pub struct Possible {
    /// After each of its entries. The first is that of the beginning.
    after: Vec<BTreeSet<Crowd>>,
    /// While each of them was carried out.
    during: Vec<BTreeSet<Crowd>>,
}

pub fn id(client: usize, row: usize) -> i64 {
    (1 + client as i64) * 1000 + row as i64
}

/// Gives the connection the function that the triggers call.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    const NAP: Duration = Duration::from_micros(300);
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("nap", 0, flags, |_| {
        std::thread::sleep(NAP);
        Ok(0)
    })
}

impl Work {
    /// The states in which its rows leave the table one after the other, and whether the next one is refused then.
    fn course(&self, before: &Crowd) -> (Vec<Crowd>, bool) {
        let mut course = vec![*before];
        let mut now = *before;
        let rows = match self {
            Self::UpdateAll(_) | Self::DeleteAll => 0..ROWS,
            Self::Insert(rows, _)
            | Self::InsertOrIgnore(rows, _)
            | Self::Upsert(rows, _)
            | Self::Update(rows, _)
            | Self::Delete(rows) => rows.clone(),
        };
        for row in rows {
            let is_there = now[row].is_some();
            let (value, is_changed) = match self {
                Self::Insert(..) if is_there => return (course, true),
                Self::Insert(_, value) | Self::Upsert(_, value) => (Some(*value), true),
                Self::InsertOrIgnore(_, value) => (Some(*value), !is_there),
                Self::Update(_, value) | Self::UpdateAll(value) => (Some(*value), is_there),
                Self::Delete(_) | Self::DeleteAll => (None, is_there),
            };
            if is_changed {
                now[row] = value;
                course.push(now);
            }
        }
        (course, false)
    }

    /// The command, to be sent.
    pub fn request(&self, crowd: &Table<CrowdRow>, client: usize, is_atomic: bool) -> Write<BulkReceipt> {
        let owner = client as i64;
        let rows = |rows: &Range<usize>, value: &u32| -> Vec<CrowdRow> {
            rows.clone().map(|row| CrowdRow { id: id(client, row), owner, value: *value }).collect()
        };
        let ids = |rows: &Range<usize>| -> Vec<i64> { rows.clone().map(|row| id(client, row)).collect() };
        let update = match self {
            Self::Update(rows, value) => Some((crowd.update_many(ids(rows)), *value)),
            Self::UpdateAll(value) => Some((crowd.update_where("owner", owner), *value)),
            _ => None,
        };
        if let Some((update, value)) = update {
            let update = update.set("value", value);
            return if is_atomic { update.atomic().send() } else { update.send() };
        }
        let work = match self {
            Self::Insert(of, value) => crowd.insert_many(rows(of, value)),
            Self::InsertOrIgnore(of, value) => crowd.insert_or_ignore_many(rows(of, value)),
            Self::Upsert(of, value) => crowd.upsert_many(rows(of, value)),
            Self::Delete(rows) => crowd.delete_many(ids(rows)),
            _ => crowd.delete_where("owner", owner),
        };
        if is_atomic { work.atomic().send() } else { work.send() }
    }

    fn deletes(&self) -> bool {
        matches!(self, Self::Delete(_) | Self::DeleteAll)
    }
}

impl Entry {
    /// What its answer says of those states in which the work may have left the table.
    fn after(&self, before: &Crowd) -> Vec<Crowd> {
        let (course, is_refused) = self.work.course(before);
        let changed = course.len() as u64 - 1;
        let after_so_many = |rows: u64| course[rows as usize..].iter().copied().take(1).collect();
        match self.answer {
            Answer::Done { rows, .. } if !is_refused && rows == changed => after_so_many(rows),
            Answer::Constraint { rows } if is_refused && rows <= if self.is_atomic { 0 } else { changed } => {
                after_so_many(rows)
            }
            // The last piece was never told of as such.
            Answer::Failed(Outcome::Partial { rows }) if !self.is_atomic && rows <= changed => {
                after_so_many(rows)
            }
            Answer::Failed(Outcome::NotStarted | Outcome::NotApplied) => after_so_many(0),
            Answer::Failed(Outcome::Unknown) | Answer::None => self.during(before),
            _ => Vec::new(),
        }
    }

    /// In which states a reader may find the table, or a power cut leave it.
    fn during(&self, before: &Crowd) -> Vec<Crowd> {
        let (course, is_refused) = self.work.course(before);
        match (self.is_atomic, is_refused) {
            (false, _) => course,
            (true, false) => vec![*before, course[course.len() - 1]],
            (true, true) => vec![*before],
        }
    }

    pub fn sequence(&self) -> Option<u64> {
        match self.answer {
            Answer::Done { sequence, .. } => Some(sequence),
            _ => None,
        }
    }

    /// Whether what its answer says is on disk survives a power cut.
    pub fn is_durable(&self) -> bool {
        let tells = matches!(
            self.answer,
            Answer::Done { .. } | Answer::Constraint { .. } | Answer::Failed(Outcome::Partial { .. })
        );
        tells && (self.level == AckLevel::Durable || self.work.deletes())
    }
}

impl Possible {
    pub fn of(begin: &Crowd, entries: &[Entry]) -> Result<Self, String> {
        let mut possible = Self { after: vec![BTreeSet::from([*begin])], during: Vec::new() };
        for (at, entry) in entries.iter().enumerate() {
            let before = &possible.after[at];
            let after: BTreeSet<Crowd> = before.iter().flat_map(|crowd| entry.after(crowd)).collect();
            if after.is_empty() {
                return Err(format!("work {at} cannot have been answered so: {entry:?}, before: {before:?}"));
            }
            possible.during.push(before.iter().flat_map(|crowd| entry.during(crowd)).collect());
            possible.after.push(after);
        }
        Ok(possible)
    }

    /// Whether a client's rows can be so after at least `least` of its entries, and before the one behind `most`.
    pub fn allows(&self, crowd: &Crowd, least: usize, most: usize) -> bool {
        let during = self.during.iter().take(most + 1).skip(least);
        self.after[least..=most].iter().chain(during).any(|possible| possible.contains(crowd))
    }

    /// Whether a client's rows can be so when all is over.
    pub fn allows_at_the_end(&self, crowd: &Crowd) -> bool {
        self.after.last().is_some_and(|last| last.contains(crowd))
    }
}
