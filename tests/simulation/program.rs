//! A random program: what the clients send in each life of the store, and what happens to it.

use std::ops::Range;
use std::time::Duration;

use walwright::AckLevel;
use walwright::rusqlite::ffi;
use walwright_test_support::vfs::{FaultPlan, Operation};

use crate::model::{Action, Ending, Op, ROWS};
use crate::random::Random;

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
        let mut random = Random::new(seed);
        Self { lives: random.many(2..4, life) }
    }
}

fn life(random: &mut Random) -> Life {
    let limits = Limits {
        queued_commands: random.pick(&[2, 5, 64]),
        group_commands: random.pick(&[1, 3, 64]),
        soft_wal_bytes: random.pick(&[8 << 10, 64 << 10, 4 << 20]),
    };
    let event = match random.within(0..12) {
        0 => Event::Close,
        1 => Event::CloseMidway(None),
        2 => Event::CloseMidway(Some(Duration::from_micros(random.within(0..3_000)))),
        3 => Event::DropHandles,
        4..=6 => Event::PowerCut(survivors(random)),
        7..=8 => Event::Fault(fault(random)),
        9..=10 => Event::FaultAndPowerCut(fault(random), survivors(random)),
        _ => Event::FullDisk(random.within(0..60_000)),
    };
    let clients = std::array::from_fn(|_| steps(random, 4..16));
    Life { limits, clients, event, after: random.within(0..24) as usize }
}

fn survivors(random: &mut Random) -> Survivors {
    match random.within(0..4) {
        0..=1 => Survivors::Nothing,
        2 => Survivors::Everything,
        _ => Survivors::Some(random.within(0..1 << 60)),
    }
}

fn fault(random: &mut Random) -> FaultPlan {
    let plan = match random.within(0..8) {
        0 => FaultPlan::fail(Operation::Read),
        1 => FaultPlan::fail(Operation::Write),
        2 => FaultPlan::fail(Operation::Write).with_code(ffi::SQLITE_FULL),
        3 => FaultPlan::fail(Operation::Sync),
        4 => FaultPlan::fail_sync_dropping_pages(),
        5 => FaultPlan::fail(Operation::SharedMemoryLock),
        6 => FaultPlan::fail(Operation::Write).or(Operation::Sync),
        _ => FaultPlan::fail(Operation::Truncate).or(Operation::Sync),
    };
    let plan = plan.nth(random.within(1..12));
    if random.one_in(2) { plan.from_then_on() } else { plan }
}

fn steps(random: &mut Random, count: Range<u64>) -> Vec<Step> {
    random.many(count, |random| match random.within(0..20) {
        0 => Step::Settle,
        1..=2 => Step::Read,
        3 => Step::LongRead,
        _ => Step::Write {
            action: action(random),
            level: random.pick(&[AckLevel::Durable, AckLevel::Committed, AckLevel::Committed]),
            manner: manner(random),
        },
    })
}

fn manner(random: &mut Random) -> Manner {
    match random.within(0..16) {
        0..=5 => Manner::Submit,
        6..=7 => Manner::TrySubmit,
        8 => Manner::Deadline(Duration::from_micros(random.within(0..2_000))),
        9 => Manner::SubmitAndDrop,
        10 => Manner::PollAndDrop,
        _ => Manner::Await,
    }
}

fn action(random: &mut Random) -> Action {
    match random.within(0..16) {
        0..=7 => Action::Statement(op(random)),
        8..=9 => Action::Batch(random.many(1..4, op)),
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
            Action::Closure(random.many(0..4, op), random.pick(&endings))
        }
        14 => Action::InsertOrRollback(random.within(0..ROWS as u64) as usize, value(random)),
        _ => Action::Flush,
    }
}

fn op(random: &mut Random) -> Op {
    let row = random.within(0..ROWS as u64) as usize;
    match random.within(0..8) {
        0..=1 => Op::Insert(row, value(random)),
        2..=3 => Op::Put(row, value(random)),
        4 => Op::Replace(row, value(random)),
        5..=6 => Op::Update(row, value(random)),
        _ => Op::Delete(row),
    }
}

/// Values hardly ever come twice, so that states can be told apart.
fn value(random: &mut Random) -> u32 {
    random.within(1..1 << 30) as u32
}
