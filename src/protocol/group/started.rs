//! A command that was started: what became of it so far, and its way to its one answer.

use std::task::Waker;

use crate::protocol::foreign_code::wake;
use crate::protocol::line::Entry;
use crate::protocol::queue::CommandQueue;
use crate::protocol::storage::{Applied, Joined};
use crate::protocol::work::{Answer, Command, Refusal, Work};

/// A command of the present group.
pub(super) struct Started<W: Work> {
    pub(super) entry: Entry<W>,
    /// `None`: yet to be carried out, or to be carried out again.
    pub(super) verdict: Option<Verdict<W>>,
    /// The transaction in which it got its verdict has ended, and nothing takes the verdict back.
    pub(super) is_final: bool,
    /// Earlier groups did pieces of it, and the queue counts it until it is answered.
    pub(super) is_resumed: bool,
}

/// What a transaction did of a command.
pub(super) enum Verdict<W: Work> {
    Done {
        output: W::Output,
        deletes: bool,
    },
    /// A piece is done, and the rest is for later groups.
    Piece {
        deletes: bool,
    },
    /// Nothing is done: it waits for others that are unfinished.
    Postponed,
    Failed(W::Error),
    /// Its transaction could not be begun.
    Refused(W::Reason),
}

impl<W: Work> From<Joined<W>> for Verdict<W> {
    fn from(joined: Joined<W>) -> Self {
        match joined {
            Joined::Done { output, deletes } => Self::Done { output, deletes },
            Joined::Failed(error) => Self::Failed(error),
        }
    }
}

impl<W: Command> Started<W> {
    /// A command fresh from the hand.
    pub(super) fn fresh(entry: Entry<W>) -> Self {
        Self { entry, verdict: None, is_final: false, is_resumed: false }
    }

    /// A command that goes on behind the pieces that earlier groups did.
    pub(super) fn resumed(entry: Entry<W>) -> Self {
        Self { is_resumed: true, ..Self::fresh(entry) }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Done { .. }))
    }

    /// Whether it goes on in a later group.
    pub(super) fn is_unfinished(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Piece { .. } | Verdict::Postponed))
    }

    /// Whether the transaction of its verdict may only be told of once it is durable.
    pub(super) fn deletes(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Done { deletes: true, .. } | Verdict::Piece { deletes: true }))
    }

    /// Leaves it to a later group.
    pub(super) fn postpone(&mut self) {
        self.verdict = Some(Verdict::Postponed);
    }

    /// Notes what apply said. Gives whether the command took the transaction with it.
    pub(super) fn judge(&mut self, applied: Applied<W>) -> bool {
        let (verdict, is_lost) = match applied {
            Applied::Done { output, deletes } => (Verdict::Done { output, deletes }, false),
            Applied::Piece { deletes } => (Verdict::Piece { deletes }, false),
            Applied::Failed(error) => (Verdict::Failed(error), false),
            Applied::Lost(error) => (Verdict::Failed(error), true),
        };
        self.verdict = Some(verdict);
        self.is_final = is_lost;
        is_lost
    }

    /// The transaction of its verdict is committed.
    pub(super) fn committed(&mut self) {
        self.is_final = true;
        if let Some(Verdict::Piece { .. }) = self.verdict {
            self.entry.work.keep_piece();
        }
    }

    /// Takes its verdict back: the transaction is gone. A failure too: without the others' work the command
    /// may not fail again.
    pub(super) fn void(&mut self) {
        self.verdict = None;
        self.is_final = false;
    }

    /// Gives it what its verdict says, and gives whom that wakes.
    pub(super) fn answer(&mut self, queue: &CommandQueue<W>) -> Option<Waker> {
        let answer = match self.verdict.take() {
            Some(Verdict::Done { output, .. }) => Answer::Done(output),
            Some(Verdict::Failed(error)) => Answer::Failed(error),
            Some(Verdict::Refused(reason)) => Answer::NotStarted(Refusal::Begin(reason)),
            // Not reached: every command without a verdict was carried out alone, which gives it one, and
            // one that is unfinished is not answered.
            Some(Verdict::Piece { .. } | Verdict::Postponed) | None => Answer::Unknown(W::lost()),
        };
        self.give(queue, answer)
    }

    /// Answers it when the writer stops for `reason` with the command in its hands.
    ///
    /// Of a transaction whose end nobody knows failures are not told either: a command may have failed by a
    /// row that another one of the group inserted, and that row may not be there after a restart.
    pub(super) fn answer_unknown(mut self, queue: &CommandQueue<W>, reason: &W::Reason) {
        let answer = match self.verdict.take() {
            Some(Verdict::Failed(error)) if self.is_final => Answer::Failed(error),
            Some(Verdict::Refused(refused)) => Answer::NotStarted(Refusal::Begin(refused)),
            _ => Answer::Unknown(reason.clone()),
        };
        wake(self.give(queue, answer));
    }

    /// Answers it when the rest of its work is not to be done.
    pub(super) fn refuse(mut self, queue: &CommandQueue<W>, refusal: &Refusal<W::Reason>) {
        wake(self.give(queue, Answer::NotStarted(refusal.clone())));
    }

    /// Room goes back before the answer: who hears it and sends the next command finds the room.
    // So that it is known which answer it is.
    #[inline(always)]
    fn give(&mut self, queue: &CommandQueue<W>, answer: Answer<W>) -> Option<Waker> {
        // Once, also if it is answered once more after a panic.
        if std::mem::take(&mut self.is_resumed) {
            queue.release_unfinished(self.entry.bytes);
        }
        let answer = match answer {
            Answer::Done(output) => Answer::Done(output),
            other => self.entry.work.set_back(other),
        };
        self.entry.responder.put(answer)
    }
}
