//! Judges every answer at the moment the caller gets it, and all of them together at the end.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use crate::command::{Failure, Receipt, Write};
use crate::model_storage::{Disk, Marks, Written};
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
    /// So many pieces of it are there, and no more.
    Partly(u8),
    Expired,
    Closed,
    Stopped,
    Refused,
    Unknown,
}

impl Outcome {
    /// How many pieces of `write` are committed by this outcome, if it says so.
    fn pieces(self, write: &Write) -> Option<u8> {
        match self {
            Self::Done(_) => Some(write.pieces),
            Self::Partly(pieces) => Some(pieces),
            Self::Unknown => None,
            _ => Some(0),
        }
    }

    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }
}

thread_local! {
    /// What was told since the test began: loom runs all threads of a model in the test's own.
    static HEARD: RefCell<Vec<(u8, Outcome)>> = const { RefCell::new(Vec::new()) };
}

/// Panics unless command `id` was told `outcome` in some order of some case.
pub(crate) fn assert_heard(id: u8, outcome: Outcome) {
    HEARD.with_borrow(|heard| assert!(heard.contains(&(id, outcome)), "nobody was told {outcome:?}"));
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
            Answer::Failed(Failure::Undone) => Outcome::Failed,
            Answer::Failed(Failure::Partly(pieces)) => Outcome::Partly(pieces),
            Answer::NotStarted(Refusal::Expired) => Outcome::Expired,
            Answer::NotStarted(Refusal::Closed) => Outcome::Closed,
            Answer::NotStarted(Refusal::Stopped(_)) => Outcome::Stopped,
            Answer::NotStarted(Refusal::Begin(_)) => Outcome::Refused,
            Answer::NotStarted(refusal) => panic!("{write:?} was told {refusal:?} after it had entered"),
            Answer::Unknown(_) => Outcome::Unknown,
        };
        match outcome {
            Outcome::Done(receipt) => self.hear_done(write, receipt, marks),
            Outcome::Partly(_) => assert!(
                !write.needs_sync()
                    || self.written(write, marks.synced) == self.written(write, marks.committed),
                "{write:?} was told of pieces before the sync that covers them"
            ),
            Outcome::Unknown => assert!(self.disk.is_fatal(), "{write:?} is unknown, and nothing has failed"),
            _ => {}
        }
        self.expect_pieces(write, outcome, marks.committed);
        HEARD.with_borrow_mut(|heard| {
            if !heard.contains(&(write.id, outcome)) {
                heard.push((write.id, outcome));
            }
        });
        outcome
    }

    fn hear_done(&self, write: &Write, receipt: Receipt, marks: Marks) {
        assert!(marks.committed >= receipt.seen, "{write:?} was answered before its commit");
        if write.needs_sync() {
            assert!(marks.synced >= receipt.seen, "{write:?} was answered before the sync that covers it");
        }
        if let Some(last) = self.written(write, marks.committed).last() {
            assert_eq!(last.sequence, receipt.sequence, "{write:?} has another's receipt");
        }
    }

    /// Each piece once, in order, and those that the outcome speaks of: no more and no fewer.
    fn expect_pieces(&self, write: &Write, outcome: Outcome, committed: usize) {
        let found: Vec<u8> = self.written(write, committed).iter().map(|written| written.piece).collect();
        match outcome.pieces(write) {
            Some(pieces) => assert_eq!(found, write.records_of(pieces), "{write:?}: {outcome:?}"),
            None => assert!(
                (0..=write.pieces).any(|pieces| found == write.records_of(pieces)),
                "{write:?}: {outcome:?}, and {found:?} is there"
            ),
        }
    }

    /// The records of one command among the first `count`.
    fn written(&self, write: &Write, count: usize) -> Vec<Written> {
        let records = self.disk.records(count);
        records.iter().filter_map(|record| record.written).filter(|written| written.id == write.id).collect()
    }

    /// The last look, when every thread of the model has ended.
    pub(crate) fn adjourn(&self) {
        assert_eq!(self.disk.violations(), Vec::<String>::new(), "calls that the storage may not get");
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.sort_by_key(|told| told.number);
        let committed = self.disk.marks().committed;
        for Told { write, outcome, ticket, .. } in told.iter() {
            assert!(ticket.try_answer().is_none(), "{write:?} was answered twice");
            self.expect_pieces(write, *outcome, committed);
        }
        // Bulk work, and what waits for it, is answered under the sequence of its end, after others that came later.
        let sequences: Vec<u64> = told
            .iter()
            .filter(|told| told.write.pieces == 1 && !told.write.waits)
            .filter_map(
                |told| if let Outcome::Done(receipt) = told.outcome { Some(receipt.sequence) } else { None },
            )
            .collect();
        assert!(sequences.is_sorted_by(|a, b| a < b), "sequences grow with the order: {sequences:?}");
        let written: Vec<Written> =
            self.disk.records(committed).iter().filter_map(|record| record.written).collect();
        assert!(
            written.is_sorted_by(|a, b| a.sequence < b.sequence),
            "sequences grow along the log: {written:?}"
        );
        let numbers: Vec<u64> = written
            .iter()
            .filter(|written| written.piece == 0)
            .filter_map(|written| told.iter().find(|told| told.write.id == written.id))
            .map(|told| told.number)
            .collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "begun in the order of the line: {numbers:?}");
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

    /// How many pieces of the command are committed now.
    pub(crate) fn pieces_committed(&self) -> usize {
        self.judge.written(&self.write, self.judge.disk.marks().committed).len()
    }

    /// Waits for the answer and has it judged.
    pub(crate) fn wait(mut self) -> Outcome {
        let answer = block_on(|context| self.ticket.poll_answer(context));
        self.conclude(answer)
    }

    /// Like [`wait`](Self::wait), by a future that another task had polled first.
    pub(crate) fn wait_after_a_move(mut self) -> Outcome {
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
