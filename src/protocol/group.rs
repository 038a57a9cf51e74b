//! One group: apply every command, commit once, sync if a promise asks for it, answer in order.
//!
//! A failure stays with its command. Mostly the storage undoes that one command and goes on. When a command
//! takes the whole transaction with it, the others are carried out again without it, and whatever follows
//! in the hand runs alone, so that many such commands do not run the group many times.

use std::time::Instant;

use super::ledger::{Sequencer, SyncLedger};
use super::level::AckLevel;
use super::limits::GroupLimits;
use super::queue::{CommandQueue, Member};
use super::storage::{Applied, CommitError, ErrorOf, GroupReport, Interruption, ReasonOf, Storage};
use super::work::{Answer, Command, Refusal, Work};
use crate::sync::now;

/// A command is carried out at most this often: with its group, with the survivors, and alone.
const ATTEMPTS: usize = 3;

/// What the writer keeps while it carries out groups.
///
/// Commands in progress live here and not on the stack, so that they can be answered after a panic.
pub(crate) struct GroupRun<S: Storage> {
    started: Vec<Started<S::Command>>,
    ledger: SyncLedger,
    sequencer: Sequencer,
    limits: GroupLimits,
    /// After a lost transaction: which of the commands before the culprit had been done in it.
    done_before: Vec<bool>,
}

struct Started<W: Work> {
    member: Member<W>,
    /// `None`: yet to be carried out, or to be carried out again.
    verdict: Option<Verdict<W>>,
    /// The transaction in which it got its verdict has ended, and nothing takes the verdict back.
    is_final: bool,
}

impl<W: Work> Started<W> {
    fn new(member: Member<W>) -> Self {
        Self { member, verdict: None, is_final: false }
    }

    fn is_done(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Done { .. }))
    }
}

enum Verdict<W: Work> {
    Done {
        output: W::Output,
        deletes: bool,
    },
    Failed(W::Error),
    /// Its transaction could not be begun.
    Refused(W::Reason),
}

/// How a transaction over several commands ended.
enum Ending {
    /// Every command has its verdict, and what is done is committed as far as it was promised.
    Settled,
    /// One command took the transaction with it. It has its verdict, the others have none.
    Lost,
    /// COMMIT failed and left nothing behind. No command has a verdict.
    NotApplied,
}

impl<S: Storage> GroupRun<S> {
    pub(crate) fn new(limits: GroupLimits, sequencer: Sequencer) -> Self {
        Self { started: Vec::new(), ledger: SyncLedger::new(), sequencer, limits, done_before: Vec::new() }
    }

    /// Carries out what the hand holds.
    ///
    /// An error is the reason why the writer must stop; [`answer_unknown`](Self::answer_unknown) is for
    /// those who were started by then.
    pub(crate) fn carry_out(
        &mut self,
        queue: &CommandQueue<S::Command>,
        storage: &mut S,
    ) -> Result<(), ReasonOf<S>> {
        let Some(level) = queue.hand_level() else { return Ok(()) };
        if let Err(reason) = self.begin(storage, level)? {
            queue.refuse_hand(&Refusal::Begin(reason));
            return Ok(());
        }
        let began = now();
        let ending = self.apply_hand(queue, storage);
        let applied = now();
        let all: Vec<usize> = (0..self.started.len()).collect();
        let ending = match ending {
            Ending::Settled => self.commit(storage, level, &all)?,
            other => other,
        };
        if let Ending::Lost = ending {
            let survivors = self.pending();
            self.transact(storage, &survivors)?;
        }
        for index in self.pending() {
            self.transact(storage, &[index])?;
        }
        if let Ending::Lost = ending {
            self.judge_culprit(storage)?;
        }
        let report = self.report(level, began, applied);
        self.answer();
        storage.report(&report);
        if !matches!(ending, Ending::Settled) {
            self.carry_out_rest_alone(queue, storage)?;
        }
        Ok(())
    }

    /// Answers what was started before the writer stopped for `reason`.
    ///
    /// Of a transaction whose end nobody knows failures are not told either: a command may have failed by a
    /// row that another one of the group inserted, and that row may not be there after a restart.
    pub(crate) fn answer_unknown(&mut self, reason: &ReasonOf<S>) {
        for Started { member, verdict, is_final } in self.started.drain(..) {
            let answer = match verdict {
                Some(Verdict::Failed(error)) if is_final => Answer::Failed(error),
                Some(Verdict::Refused(refused)) => Answer::NotStarted(Refusal::Begin(refused)),
                _ => Answer::Unknown(reason.clone()),
            };
            member.responder.answer(answer);
        }
    }

    /// Starts and applies the hand until it is empty or the group's time is up.
    fn apply_hand(&mut self, queue: &CommandQueue<S::Command>, storage: &mut S) -> Ending {
        let began = now();
        while let Some(member) = queue.start_next() {
            self.started.push(Started::new(member));
            let index = self.started.len() - 1;
            if let Ending::Lost = self.apply(storage, index) {
                self.done_before = self.started[..index].iter().map(Started::is_done).collect();
                self.started[index].is_final = false;
                self.void(0..index);
                return Ending::Lost;
            }
            if now().saturating_duration_since(began) >= self.limits.time {
                break;
            }
        }
        Ending::Settled
    }

    /// The one that took the transaction with it had failed beside what the others had done. If they came out
    /// otherwise without it, its failure may speak of rows that never were: then it is carried out alone.
    fn judge_culprit(&mut self, storage: &mut S) -> Result<(), ReasonOf<S>> {
        let done_before = std::mem::take(&mut self.done_before);
        let culprit = done_before.len();
        self.started[culprit].is_final = true;
        if done_before.iter().zip(&self.started).all(|(before, other)| *before == other.is_done()) {
            return Ok(());
        }
        self.started[culprit].is_final = false;
        self.void(std::iter::once(culprit));
        self.transact(storage, &[culprit])?;
        Ok(())
    }

    fn carry_out_rest_alone(
        &mut self,
        queue: &CommandQueue<S::Command>,
        storage: &mut S,
    ) -> Result<(), ReasonOf<S>> {
        while let Some(member) = queue.start_next() {
            let (level, began) = (member.work.level(), now());
            self.started.push(Started::new(member));
            self.transact(storage, &[0])?;
            let report = self.report(level, began, now());
            self.answer();
            storage.report(&report);
        }
        Ok(())
    }

    /// What the started commands were, once each has its verdict.
    fn report(&self, level: AckLevel, began: Instant, applied: Instant) -> GroupReport {
        let failed = |one: &&Started<S::Command>| !one.is_done();
        GroupReport {
            commands: self.started.len(),
            failed: self.started.iter().filter(failed).count(),
            bytes: self.started.iter().map(|one| one.member.bytes).sum(),
            level,
            apply: applied.saturating_duration_since(began),
            commit: now().saturating_duration_since(applied),
        }
    }

    /// One transaction over the commands at `indices`. Alone, a command always gets its verdict.
    fn transact(&mut self, storage: &mut S, indices: &[usize]) -> Result<Ending, ReasonOf<S>> {
        let levels = indices.iter().map(|index| self.started[*index].member.work.level());
        let Some(level) = levels.max() else { return Ok(Ending::Settled) };
        if let Err(reason) = self.begin(storage, level)? {
            for index in indices {
                self.started[*index].verdict = Some(Verdict::Refused(reason.clone()));
            }
            return Ok(Ending::Settled);
        }
        for index in indices {
            if let Ending::Lost = self.apply(storage, *index) {
                // A second culprit beside others is judged alone, as they are.
                if indices.len() > 1 {
                    self.void(indices.iter().copied());
                }
                return Ok(Ending::Lost);
            }
        }
        self.commit(storage, level, indices)
    }

    /// Begins a transaction, with sequences at hand for every attempt of a whole group.
    fn begin(&mut self, storage: &mut S, level: AckLevel) -> Result<Result<(), ReasonOf<S>>, ReasonOf<S>> {
        if !self.sequencer.has(self.limits.commands * ATTEMPTS) {
            match storage.reserve() {
                Ok(range) => self.sequencer.refill(range),
                Err(Interruption::Refused(reason)) => return Ok(Err(reason)),
                Err(Interruption::Fatal(reason)) => return Err(reason),
            }
        }
        match storage.begin(level) {
            Ok(()) => Ok(Ok(())),
            Err(Interruption::Refused(reason)) => Ok(Err(reason)),
            Err(Interruption::Fatal(reason)) => Err(reason),
        }
    }

    /// Applies one command. If it takes the transaction with it, the caller voids what else was done in it.
    fn apply(&mut self, storage: &mut S, index: usize) -> Ending {
        let sequence = self.sequencer.next();
        let verdict = match storage.apply(&mut self.started[index].member.work, sequence) {
            Applied::Done { output, deletes } => Verdict::Done { output, deletes },
            Applied::Failed(error) => Verdict::Failed(error),
            Applied::Lost(error) => {
                self.started[index].verdict = Some(Verdict::Failed(error));
                self.started[index].is_final = true;
                return Ending::Lost;
            }
        };
        self.started[index].verdict = Some(verdict);
        Ending::Settled
    }

    /// Commits what `indices` did, and syncs if one of them may only be answered then.
    fn commit(&mut self, storage: &mut S, level: AckLevel, indices: &[usize]) -> Result<Ending, ReasonOf<S>> {
        let committed = match storage.commit() {
            Ok(committed) => committed,
            Err(CommitError::Unknown(reason)) => return Err(reason),
            Err(CommitError::NotApplied(error)) => return Ok(self.not_applied(error, indices)),
        };
        self.ledger.committed(level, committed);
        for index in indices {
            self.started[*index].is_final = true;
        }
        let deletes = indices
            .iter()
            .any(|index| matches!(self.started[*index].verdict, Some(Verdict::Done { deletes: true, .. })));
        if self.ledger.is_dirty() && (level == AckLevel::Durable || deletes) {
            storage.sync()?;
            self.ledger.synced();
        }
        Ok(Ending::Settled)
    }

    fn not_applied(&mut self, error: ErrorOf<S>, indices: &[usize]) -> Ending {
        if let [index] = indices {
            self.started[*index].verdict = Some(Verdict::Failed(error));
            self.started[*index].is_final = true;
            return Ending::Settled;
        }
        self.void(indices.iter().copied());
        Ending::NotApplied
    }

    /// Takes verdicts back whose transaction is gone. Failures too: without the others' work a command may
    /// not fail again.
    fn void(&mut self, indices: impl Iterator<Item = usize>) {
        for index in indices {
            self.started[index].verdict = None;
            self.started[index].is_final = false;
        }
    }

    /// The commands without a verdict, in order.
    fn pending(&self) -> Vec<usize> {
        (0..self.started.len()).filter(|index| self.started[*index].verdict.is_none()).collect()
    }

    fn answer(&mut self) {
        for Started { member, verdict, .. } in self.started.drain(..) {
            let answer = match verdict {
                Some(Verdict::Done { output, .. }) => Answer::Done(output),
                Some(Verdict::Failed(error)) => Answer::Failed(error),
                Some(Verdict::Refused(reason)) => Answer::NotStarted(Refusal::Begin(reason)),
                // Not reached: every pending command was carried out alone, which gives it a verdict.
                None => Answer::Unknown(S::Command::lost()),
            };
            member.responder.answer(answer);
        }
    }
}
