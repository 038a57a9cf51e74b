//! What one run of a workload left: the trace of its files, and what was sent and answered when.

use super::command::Command;
use super::reference::Seed;
use super::schema::Step;
use walwright_test_support::vfs::Event;

/// One run of a workload.
pub struct Recording {
    pub trace: Vec<Event>,
    pub seed: Seed,
    pub sent: Vec<Sent>,
    pub openings: Vec<Opening>,
}

/// A command and what became of it.
pub struct Sent {
    pub command: Command,
    /// Commands with the same number were in one group. `None`: nobody knows.
    pub group: Option<usize>,
    /// The opening that it was sent after.
    pub opening: usize,
    pub answer: Answer,
}

/// What a client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// It is done; with its commit sequence.
    Done(u64),
    /// Nothing of it is on disk.
    Nothing,
    /// It may be on disk or not.
    Unknown,
}

/// One opening of the store.
#[derive(Clone, Copy)]
pub struct Opening {
    pub steps: &'static [Step],
    /// What a reader saw right after it.
    pub digest: u64,
}

/// What stands in the trace beside the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The command of this number is about to be sent.
    Sending(usize),
    /// Its answer is there.
    Answered(usize),
    /// The opening of this number has returned.
    Opened(usize),
}

impl Mark {
    pub fn encode(self) -> u64 {
        let (tag, number) = match self {
            Self::Sending(number) => (0, number),
            Self::Answered(number) => (1, number),
            Self::Opened(number) => (2, number),
        };
        number as u64 * 3 + tag
    }

    pub fn decode(code: u64) -> Self {
        let number = (code / 3) as usize;
        match code % 3 {
            0 => Self::Sending(number),
            1 => Self::Answered(number),
            _ => Self::Opened(number),
        }
    }
}
