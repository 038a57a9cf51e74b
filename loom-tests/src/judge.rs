//! Judges every answer at the moment the caller gets it, and all of them together at the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use crate::command::{Receipt, Write};
use crate::model_storage::{Disk, Marks};
use crate::parker::{block_on, poll_elsewhere};
use crate::protocol::answer::Ticket;
use crate::protocol::queue::Entered;
use crate::protocol::work::{Answer, Refusal};

/// A command on its way, and the one who waits for it.
pub(crate) struct Sent {
    pub(crate) write: Write,
    pub(crate) number: u64,
    ticket: Ticket<Write>,
    judge: Arc<Judge>,
}

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done(Receipt),
    Failed,
    Expired,
    Closed,
    Stopped,
    Refused,
    Unknown,
}

impl Outcome {
    fn denies(self) -> bool {
        !matches!(self, Self::Done(_) | Self::Unknown)
    }

    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// Knows the disk and remembers what was told to whom.
pub(crate) struct Judge {
    disk: Arc<Disk>,
    told: Mutex<Vec<Told>>,
}

struct Told {
    write: Write,
    number: u64,
    outcome: Outcome,
    ticket: Ticket<Write>,
}

impl Judge {
    pub(crate) fn new(disk: Arc<Disk>) -> Self {
        Self { disk, told: Mutex::new(Vec::new()) }
    }

    pub(crate) fn sent(self: &Arc<Self>, write: Write, entered: Entered<Write>) -> Sent {
        Sent { write, number: entered.number, ticket: entered.ticket, judge: self.clone() }
    }

    /// Compares an answer with what is on the disk now.
    fn hear(&self, write: &Write, answer: Answer<Write>) -> Outcome {
        let marks = self.disk.marks();
        let outcome = match answer {
            Answer::Done(receipt) => Outcome::Done(receipt),
            Answer::Failed(_) => Outcome::Failed,
            Answer::NotStarted(Refusal::Expired) => Outcome::Expired,
            Answer::NotStarted(Refusal::Closed) => Outcome::Closed,
            Answer::NotStarted(Refusal::Stopped(_)) => Outcome::Stopped,
            Answer::NotStarted(Refusal::Begin(_)) => Outcome::Refused,
            Answer::NotStarted(refusal) => panic!("{write:?} was told {refusal:?} after it had entered"),
            Answer::Unknown(_) => Outcome::Unknown,
        };
        match outcome {
            Outcome::Done(receipt) => self.hear_done(write, receipt, marks),
            Outcome::Unknown => assert!(self.disk.is_fatal(), "{write:?} is unknown, and nothing has failed"),
            _ => assert!(!self.has_record(write, marks.committed), "{write:?}: {outcome:?}, yet it is there"),
        }
        outcome
    }

    fn hear_done(&self, write: &Write, receipt: Receipt, marks: Marks) {
        assert!(marks.committed >= receipt.seen, "{write:?} was answered before its commit");
        if write.needs_sync() {
            assert!(marks.synced >= receipt.seen, "{write:?} was answered before the sync that covers it");
        }
        assert_eq!(self.has_record(write, marks.committed), write.leaves_record(), "{write:?} is done");
    }

    fn has_record(&self, write: &Write, committed: usize) -> bool {
        self.count(write, committed) > 0
    }

    fn count(&self, write: &Write, committed: usize) -> usize {
        let records = self.disk.records(committed);
        records.iter().filter(|record| record.written.is_some_and(|(id, _)| id == write.id)).count()
    }

    /// The last look, when every thread of the model has ended.
    pub(crate) fn adjourn(&self) {
        assert_eq!(self.disk.violations(), Vec::<String>::new(), "calls that the storage may not get");
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.sort_by_key(|told| told.number);
        let committed = self.disk.marks().committed;
        for Told { write, outcome, ticket, .. } in told.iter() {
            assert!(ticket.try_answer().is_none(), "{write:?} was answered twice");
            let count = self.count(write, committed);
            assert!(count <= 1, "{write:?} was carried out {count} times");
            if outcome.denies() {
                assert_eq!(count, 0, "{write:?}: {outcome:?}, yet it came to be there");
            }
        }
        let sequences: Vec<u64> = told
            .iter()
            .filter_map(
                |told| if let Outcome::Done(receipt) = told.outcome { Some(receipt.sequence) } else { None },
            )
            .collect();
        assert!(sequences.is_sorted_by(|a, b| a < b), "sequences grow with the order: {sequences:?}");
        let written: Vec<(u8, u64)> =
            self.disk.records(committed).iter().filter_map(|record| record.written).collect();
        assert!(written.is_sorted_by(|a, b| a.1 < b.1), "sequences grow along the log: {written:?}");
        let numbers: Vec<u64> = written
            .iter()
            .filter_map(|(id, _)| told.iter().find(|told| told.write.id == *id))
            .map(|told| told.number)
            .collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "applied in the order of the line: {numbers:?}");
    }
}

impl Sent {
    /// Waits until the command is admitted, or answered without that.
    pub(crate) fn wait_admitted(&self) {
        block_on(|context| self.ticket.poll_admitted(context));
    }

    /// Whether the command is admitted or answered.
    pub(crate) fn is_admitted(&self) -> bool {
        poll_elsewhere(|context| self.ticket.poll_admitted(context)).is_ready()
    }

    /// Polls for the admission as another task would, and moves on.
    pub(crate) fn poll_admitted_elsewhere(&self) {
        let _ = self.is_admitted();
    }

    /// Waits for the answer and has it judged.
    pub(crate) fn wait(self) -> Outcome {
        let answer = block_on(|context| self.ticket.poll_answer(context));
        self.conclude(answer)
    }

    /// Like [`wait`](Self::wait), by a future that another task had polled first.
    pub(crate) fn wait_after_a_move(self) -> Outcome {
        match poll_elsewhere(|context| self.ticket.poll_answer(context)) {
            Poll::Ready(answer) => self.conclude(answer),
            Poll::Pending => self.wait(),
        }
    }

    /// Takes the answer that must be there.
    pub(crate) fn expect_answered(self, why: &str) -> Outcome {
        match self.ticket.try_answer() {
            Some(answer) => self.conclude(answer),
            None => panic!("{:?} has no answer yet: {why}", self.write),
        }
    }

    fn conclude(self, answer: Answer<Write>) -> Outcome {
        let Self { write, number, ticket, judge } = self;
        let outcome = judge.hear(&write, answer);
        judge.told.lock().unwrap_or_else(PoisonError::into_inner).push(Told {
            write,
            number,
            outcome,
            ticket,
        });
        outcome
    }
}
