//! A random program: what the clients send in each life of the store, and what happens to it.

use std::ops::Range;
use std::time::Duration;

use walwright::AckLevel;
use walwright::rusqlite::ffi;
use walwright_test_support::Rng;
use walwright_test_support::vfs::{FaultPlan, Operation};

use crate::model::{Action, Ending, Op, ROWS};

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
}

/// What a client does next.
#[derive(Clone, Debug)]
pub enum Step {
    Write {
        action: Action,
        level: AckLevel,
        manner: Manner,
    },
    /// Waits for all answers.
    Settle,
    /// Reads its rows.
    Read,
    /// Reads its rows twice in one snapshot, and takes its time in between.
    LongRead,
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
        queued_commands: *random.pick(&[2, 5, 64]),
        group_commands: *random.pick(&[1, 3, 64]),
        soft_wal_bytes: *random.pick(&[8 << 10, 64 << 10, 4 << 20]),
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
    let clients = std::array::from_fn(|_| steps(random, 4..16));
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

fn steps(random: &mut Rng, count: Range<usize>) -> Vec<Step> {
    many(random, count, |random| match random.below(20) {
        0 => Step::Settle,
        1..=2 => Step::Read,
        3 => Step::LongRead,
        _ => Step::Write {
            action: action(random),
            level: *random.pick(&[AckLevel::Durable, AckLevel::Committed, AckLevel::Committed]),
            manner: manner(random),
        },
    })
}

fn manner(random: &mut Rng) -> Manner {
    match random.below(16) {
        0..=5 => Manner::Submit,
        6..=7 => Manner::TrySubmit,
        8 => Manner::Deadline(Duration::from_micros(random.below(2_000) as u64)),
        9 => Manner::SubmitAndDrop,
        10 => Manner::PollAndDrop,
        _ => Manner::Await,
    }
}

fn action(random: &mut Rng) -> Action {
    match random.below(16) {
        0..=7 => Action::Statement(op(random)),
        8..=9 => Action::Batch(many(random, 1..4, op)),
        10..=13 => {
            let endings = [
                Ending::Well,
                Ending::Well,
                Ending::Error,
                Ending::Panic,
                Ending::RollbackReturned,
                Ending::RollbackIgnored,
                Ending::ConstraintIgnored,
            ];
            Action::Closure(many(random, 0..4, op), *random.pick(&endings))
        }
        14 => Action::InsertOrRollback(random.below(ROWS), value(random)),
        _ => Action::Flush,
    }
}

fn op(random: &mut Rng) -> Op {
    let row = random.below(ROWS);
    match random.below(8) {
        0..=1 => Op::Insert(row, value(random)),
        2..=3 => Op::Put(row, value(random)),
        4 => Op::Replace(row, value(random)),
        5..=6 => Op::Update(row, value(random)),
        _ => Op::Delete(row),
    }
}

/// Values hardly ever come twice, so that states can be told apart.
fn value(random: &mut Rng) -> u32 {
    1 + random.below(1 << 30) as u32
}
