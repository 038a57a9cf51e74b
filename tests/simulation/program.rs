//! A random program: what the clients send in each life of the store, and what happens to it.

use std::ops::Range;
use std::time::Duration;

use walwright::rusqlite::ffi;
use walwright::{AckLevel, WriteError};
use walwright_test_support::Rng;
use walwright_test_support::vfs::{FaultPlan, Operation};

use crate::crowd::{self, Work};
use crate::item::{Guard, NOTES, ROWS, RowOp, Set, Sql};
use crate::model::{Action, Change, Ending, Few, Part};

pub const CLIENTS: usize = 3;

#[derive(Debug)]
pub struct Program {
    pub lives: Vec<Life>,
}

/// From one opening of the store to the next.
#[derive(Debug)]
pub struct Life {
    pub limits: Limits,
    pub clients: [Vec<Step>; CLIENTS],
    pub event: Event,
    /// The event comes after so many answers.
    pub after: usize,
}

/// The bounds of the store, small enough to be met.
#[derive(Debug)]
pub struct Limits {
    pub queued_commands: usize,
    pub group_commands: usize,
    pub soft_wal_bytes: u64,
    pub coalescing: bool,
}

/// What a client does next.
#[derive(Clone, Debug)]
pub enum Step {
    Write {
        action: Action,
        level: AckLevel,
        manner: Manner,
    },
    /// Work on so many rows that it is done in pieces.
    Crowd {
        work: Work,
        is_atomic: bool,
        level: AckLevel,
        manner: Manner,
    },
    /// Waits for all answers.
    Settle,
    /// Reads its rows.
    Read,
    /// Reads its rows twice in one snapshot, and takes its time in between.
    LongRead,
    /// Reads its rows through the table's handle.
    Get,
}

/// How a command is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Await,
    Submit,
    TrySubmit,
    Deadline(Duration),
    /// Admitted, and then nobody waits for the answer.
    SubmitAndDrop,
    /// The future is dropped after its first poll: admitted or not.
    PollAndDrop,
}

/// What happens in the middle of a life, and how it ends.
#[derive(Clone, Debug)]
pub enum Event {
    /// The clients come to their end, and the store is closed.
    Close,
    /// It is closed while they go on.
    CloseMidway(Option<Duration>),
    /// The last handle is dropped.
    DropHandles,
    PowerCut(Survivors),
    /// I/O fails from then on or once; then the store is closed.
    Fault(FaultPlan),
    /// The same, but the power goes before anybody can close.
    FaultAndPowerCut(FaultPlan, Survivors),
    /// The disk has only so much room; later it has more.
    FullDisk(u64),
}

/// What is on the disk after a power cut beside what was synced.
#[derive(Clone, Copy, Debug)]
pub enum Survivors {
    Nothing,
    Everything,
    /// Each write for itself, as this number decides.
    Some(u64),
}

impl Event {
    /// Whether I/O fails.
    pub fn fails_io(&self) -> bool {
        matches!(self, Self::Fault(_) | Self::FaultAndPowerCut(..))
    }

    /// Whether I/O fails, or has no room.
    pub fn is_fault(&self) -> bool {
        self.fails_io() || matches!(self, Self::FullDisk(_))
    }

    /// Whether a command may fail so without a fault of its own. Each error has its occasion, and none comes
    /// without it.
    pub fn explains(&self, error: &WriteError) -> bool {
        match error {
            WriteError::Expired | WriteError::Overloaded => true,
            WriteError::Closed | WriteError::CloseTimedOut => matches!(self, Self::CloseMidway(_)),
            WriteError::Closure(_) | WriteError::DiskFull(_) | WriteError::Io(_) | WriteError::Begin(_) => {
                self.is_fault()
            }
            WriteError::Stopped(_) | WriteError::Unknown(_) => self.fails_io(),
            _ => false,
        }
    }
}

impl Program {
    pub fn random(seed: u64) -> Self {
        let mut random = Rng::new(seed);
        Self { lives: many(&mut random, 2..4, life) }
    }
}

/// As many as the range allows, each made by `make`.
fn many<T>(random: &mut Rng, count: Range<usize>, make: impl Fn(&mut Rng) -> T) -> Vec<T> {
    let count = count.start + random.below(count.len());
    (0..count).map(|_| make(random)).collect()
}

fn life(random: &mut Rng) -> Life {
    let limits = Limits {
        queued_commands: *random.pick(&[2, 8, 64, 64]),
        group_commands: *random.pick(&[1, 4, 64, 64]),
        soft_wal_bytes: *random.pick(&[8 << 10, 64 << 10, 4 << 20]),
        coalescing: !random.once_in(4),
    };
    let event = match random.below(12) {
        0 => Event::Close,
        1 => Event::CloseMidway(None),
        2 => Event::CloseMidway(Some(Duration::from_micros(random.below(3_000) as u64))),
        3 => Event::DropHandles,
        4..=6 => Event::PowerCut(survivors(random)),
        7..=8 => Event::Fault(fault(random)),
        9..=10 => Event::FaultAndPowerCut(fault(random), survivors(random)),
        _ => Event::FullDisk(random.below(60_000) as u64),
    };
    let clients = std::array::from_fn(|_| many(random, 4..14, steps).concat());
    Life { limits, clients, event, after: random.below(24) }
}

fn survivors(random: &mut Rng) -> Survivors {
    match random.below(4) {
        0..=1 => Survivors::Nothing,
        2 => Survivors::Everything,
        _ => Survivors::Some(random.next()),
    }
}

fn fault(random: &mut Rng) -> FaultPlan {
    let plan = match random.below(8) {
        0 => FaultPlan::fail(Operation::Read),
        1 => FaultPlan::fail(Operation::Write),
        2 => FaultPlan::fail(Operation::Write).with_code(ffi::SQLITE_FULL),
        3 => FaultPlan::fail(Operation::Sync),
        4 => FaultPlan::fail_sync_dropping_pages(),
        5 => FaultPlan::fail(Operation::SharedMemoryLock),
        6 => FaultPlan::fail(Operation::Write).or(Operation::Sync),
        _ => FaultPlan::fail(Operation::Truncate).or(Operation::Sync),
    };
    let plan = plan.nth(1 + random.below(11) as u64);
    if random.once_in(2) { plan.from_then_on() } else { plan }
}

/// One step, or several that belong together.
fn steps(random: &mut Rng) -> Vec<Step> {
    let step = match random.below(26) {
        0 => Step::Settle,
        1..=2 => Step::Read,
        3 => Step::LongRead,
        4 => Step::Get,
        5..=6 => Step::Crowd {
            work: work(random),
            is_atomic: random.once_in(4),
            level: level(random),
            manner: manner(random),
        },
        7..=8 => return burst(random),
        _ => Step::Write { action: action(random), level: level(random), manner: manner(random) },
    };
    vec![step]
}

/// Row commands that are sent without waiting while the writer is busy, most of them for one row: they share a group,
/// and some of them a statement.
fn burst(random: &mut Rng) -> Vec<Step> {
    let submit =
        |action, random: &mut Rng| Step::Write { action, level: level(random), manner: Manner::Submit };
    let mut steps = vec![submit(Action::Closure(Vec::new(), Ending::Slow), random)];
    let row = row(random);
    if random.once_in(3) {
        // Of a row that may be durable already nothing must be left.
        let updates = many(random, 1..4, |random| RowOp::Update(row, set(random), Guard::Nothing));
        let ops = updates.into_iter().chain([RowOp::Delete(row, Guard::Nothing)]);
        steps.extend(ops.map(|op| Step::Write {
            action: Action::Row(op),
            level: AckLevel::Committed,
            manner: Manner::Submit,
        }));
        return steps;
    }
    steps.extend(many(random, 3..8, |random| {
        let action = if random.once_in(6) { action(random) } else { Action::Row(row_op(random, row)) };
        submit(action, random)
    }));
    steps
}

fn level(random: &mut Rng) -> AckLevel {
    *random.pick(&[AckLevel::Durable, AckLevel::Committed, AckLevel::Committed])
}

fn manner(random: &mut Rng) -> Manner {
    match random.below(16) {
        0..=6 => Manner::Submit,
        7..=8 => Manner::TrySubmit,
        9 => Manner::Deadline(Duration::from_micros(random.below(2_000) as u64)),
        10 => Manner::SubmitAndDrop,
        11 => Manner::PollAndDrop,
        _ => Manner::Await,
    }
}

fn action(random: &mut Rng) -> Action {
    match random.below(32) {
        0..=5 => Action::Statement(sql(random)),
        6..=17 => {
            let row = row(random);
            Action::Row(row_op(random, row))
        }
        18..=19 => Action::Modify(row(random), change(random)),
        20..=22 => Action::Batch(many(random, 1..4, part)),
        23..=24 => Action::Few(few(random), random.once_in(2)),
        25..=28 => {
            let endings = [
                Ending::Well,
                Ending::Well,
                Ending::Error,
                Ending::Panic,
                Ending::RollbackReturned,
                Ending::RollbackIgnored,
                Ending::ConstraintIgnored,
            ];
            Action::Closure(many(random, 0..4, sql), *random.pick(&endings))
        }
        29 => Action::InsertOrRollback(row(random), value(random)),
        30 => Action::Index(random.once_in(2)),
        _ => Action::Flush,
    }
}

fn part(random: &mut Rng) -> Part {
    let row = row(random);
    if random.once_in(2) { Part::Statement(sql(random)) } else { Part::Row(row_op(random, row)) }
}

fn sql(random: &mut Rng) -> Sql {
    let row = row(random);
    match random.below(8) {
        0..=1 => Sql::Insert(row, value(random)),
        2..=3 => Sql::Put(row, value(random)),
        4 => Sql::Replace(row, value(random)),
        5..=6 => Sql::Update(row, value(random)),
        _ => Sql::Delete(row),
    }
}

fn row_op(random: &mut Rng, row: usize) -> RowOp {
    match random.below(12) {
        0..=2 => RowOp::Insert(row, value(random), note(random)),
        3 => RowOp::InsertOrIgnore(row, value(random), note(random)),
        4..=5 => RowOp::Upsert(row, value(random), note(random)),
        6..=9 => RowOp::Update(row, set(random), guard(random)),
        _ => RowOp::Delete(row, guard(random)),
    }
}

fn set(random: &mut Rng) -> Set {
    match random.below(4) {
        0..=1 => Set::Value(value(random)),
        2 => Set::Note(note(random)),
        _ => Set::Both(value(random), note(random)),
    }
}

/// Guards that hold now and then: revisions are small, and there are few notes.
fn guard(random: &mut Rng) -> Guard {
    match random.below(4) {
        0 => Guard::Revision(1 + random.below(3) as i64),
        1 => Guard::Note(note(random)),
        _ => Guard::Nothing,
    }
}

fn change(random: &mut Rng) -> Change {
    match random.below(8) {
        0..=3 => Change::Count,
        4..=5 => Change::Note(note(random)),
        6 => Change::Nothing,
        _ => *random.pick(&[Change::Error, Change::Panic]),
    }
}

fn few(random: &mut Rng) -> Few {
    // Any row, so that it is one behind the first that is there.
    let valued = |random: &mut Rng| (random.below(ROWS), value(random));
    match random.below(12) {
        0..=4 => Few::Insert(many(random, 0..5, valued)),
        5 => Few::InsertOrIgnore(many(random, 1..5, valued)),
        6 => Few::Upsert(many(random, 1..5, valued)),
        7 => Few::Delete(many(random, 1..5, row)),
        8..=9 => Few::Update(many(random, 1..5, row), set(random)),
        10 => Few::DeleteWhere(random.below(NOTES.into()) as u8),
        _ => Few::UpdateWhere(random.below(NOTES.into()) as u8, set(random)),
    }
}

fn work(random: &mut Rng) -> Work {
    let half = crowd::ROWS / 2;
    let rows = random.below(half)..half + random.below(half + 1);
    let value = value(random);
    match random.below(8) {
        0..=1 => Work::Insert(rows, value),
        2 => Work::InsertOrIgnore(rows, value),
        3 => Work::Upsert(rows, value),
        4 => Work::Update(rows, value),
        5 => Work::Delete(rows),
        6 => Work::UpdateAll(value),
        _ => Work::DeleteAll,
    }
}

/// Some rows are more in demand than others.
fn row(random: &mut Rng) -> usize {
    if random.once_in(2) { random.below(2) } else { random.below(ROWS) }
}

fn note(random: &mut Rng) -> Option<u8> {
    if random.once_in(3) { None } else { Some(random.below(NOTES.into()) as u8) }
}

/// Values hardly ever come twice, so that states can be told apart.
fn value(random: &mut Rng) -> u32 {
    1 + random.below(1 << 30) as u32
}
