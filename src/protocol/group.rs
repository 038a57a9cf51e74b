//! One group: apply every command, commit once, sync if a promise asks for it, answer in order.
//!
//! A failure stays with its command. Mostly the storage undoes that one command and goes on. When a command
//! takes the whole transaction with it, the others are carried out again without it, and whatever follows
//! in the hand runs alone, so that many such commands do not run the group many times.

mod started;
mod unfinished;

use std::ops::Range;
use std::task::Waker;
use std::time::Instant;

use self::started::{Started, Verdict};
use self::unfinished::Unfinished;
use super::foreign_code::wake;
use super::gather::GatherPolicy;
use super::ledger::{Sequencer, SyncLedger};
use super::level::AckLevel;
use super::limits::GroupLimits;
use super::look_out::LookOutPolicy;
use super::queue::CommandQueue;
use super::storage::{CommitError, ErrorOf, GroupReport, Interruption, ReasonOf, Storage, TransactionLost};
use super::work::{Command, Refusal};
use crate::sync::now;

/// A command is carried out at most this often: with its group, with the survivors, and alone.
const ATTEMPTS: usize = 3;

/// What the writer keeps while it carries out groups.
///
/// Commands in progress live here and not on the stack, so that they can be answered after a panic.
pub(crate) struct GroupRun<S: Storage> {
    started: Vec<Started<S::Command>>,
    unfinished: Unfinished<S::Command>,
    ledger: SyncLedger,
    sequencer: Sequencer,
    limits: GroupLimits,
    pub(crate) gather: GatherPolicy,
    pub(crate) look_out: LookOutPolicy,
    /// Who has an answer and is not woken yet. A caller of several commands that is woken for the first of them finds
    /// the others answered as well, and need not sleep again for each.
    to_wake: Vec<Waker>,
    /// After a command took the transaction with it: which of those before it had been done in it.
    done_before: Option<Vec<bool>>,
}

/// How a transaction over several commands ended.
enum Ending {
    /// Every command has its verdict, and what is done is committed as far as it was promised.
    Settled,
    /// It is lost. If one command is known to have taken it along, that one has its verdict; the others have none.
    Lost,
    /// COMMIT failed and left nothing behind. No command has a verdict.
    NotApplied,
}

impl<S: Storage> GroupRun<S> {
    pub(crate) fn new(limits: GroupLimits, sequencer: Sequencer) -> Self {
        Self {
            started: Vec::new(),
            unfinished: Unfinished::new(),
            ledger: SyncLedger::new(),
            sequencer,
            limits,
            gather: GatherPolicy::default(),
            look_out: LookOutPolicy::default(),
            to_wake: Vec::new(),
            done_before: None,
        }
    }

    /// Carries out what the hand holds, and a piece of what is unfinished.
    ///
    /// An error is the reason why the writer must stop; [`answer_unknown`](Self::answer_unknown) is for
    /// those who were started by then.
    pub(crate) fn carry_out(
        &mut self,
        queue: &CommandQueue<S::Command>,
        storage: &mut S,
    ) -> Result<(), ReasonOf<S>> {
        let Some(level) = queue.hand_level().max(self.unfinished.level()) else { return Ok(()) };
        if let Err(reason) = self.begin(storage, level)? {
            let refusal = Refusal::Begin(reason);
            if let Some(next) = self.unfinished.take_front() {
                next.refuse(queue, &refusal);
            }
            queue.refuse_hand(&refusal);
            return Ok(());
        }
        let began = now();
        let mut ending = self.apply_hand(queue, storage, began);
        if let Ending::Settled = ending {
            ending = self.apply_next_piece(queue, storage);
        }
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
        self.judge_culprit(storage)?;
        let was_resumed = self.started.iter().any(|one| one.is_resumed);
        let report = self.report(level, began, applied);
        // Counted first: who is answered and then asks for the counts finds itself among them.
        storage.report(&report);
        self.gather.answered(report.commands, report.commit, queue.entered());
        self.answer(queue);
        if !matches!(ending, Ending::Settled) {
            self.carry_out_rest_alone(queue, storage, was_resumed)?;
        }
        Ok(())
    }

    /// Answers what was started before the writer stopped for `reason`.
    pub(crate) fn answer_unknown(&mut self, queue: &CommandQueue<S::Command>, reason: &ReasonOf<S>) {
        wake(self.to_wake.drain(..));
        for started in self.started.drain(..) {
            started.answer_unknown(queue, reason);
        }
        while let Some(unfinished) = self.unfinished.take_front() {
            unfinished.answer_unknown(queue, reason);
        }
    }

    /// Answers what is unfinished when the writer's loop ends: the store was abandoned, or nothing is left.
    pub(crate) fn give_up_unfinished(&mut self, queue: &CommandQueue<S::Command>) {
        let refusal = queue.given_up().unwrap_or(Refusal::Closed);
        while let Some(unfinished) = self.unfinished.take_front() {
            unfinished.refuse(queue, &refusal);
        }
    }

    /// Starts and applies the hand until it is empty or the group's time is up.
    fn apply_hand(&mut self, queue: &CommandQueue<S::Command>, storage: &mut S, began: Instant) -> Ending {
        let until = began.checked_add(self.limits.time);
        // The clock is read once for each run: where one ends the next one starts.
        let mut at = began;
        loop {
            let run = self.start_run(queue, storage);
            let ending = match run.len() {
                0 => break,
                1 => self.apply_in_group(storage, run.start, at),
                _ => self.apply_together(storage, run, at),
            };
            if let Ending::Lost = ending {
                return Ending::Lost;
            }
            at = now();
            if until.is_some_and(|until| at >= until) {
                break;
            }
        }
        Ending::Settled
    }

    /// Starts a command, and those right behind it that may be carried out together with it. Gives their
    /// places: none if the hand is empty.
    fn start_run(&mut self, queue: &CommandQueue<S::Command>, storage: &S) -> Range<usize> {
        let start = self.started.len();
        queue.start_run(|command| storage.joins(command), |entry| self.started.push(Started::fresh(entry)));
        start..self.started.len()
    }

    /// Goes on with the unfinished command whose turn it is. One piece for each group, also when its time is
    /// up: or commands that keep coming would keep it from ever ending.
    fn apply_next_piece(&mut self, queue: &CommandQueue<S::Command>, storage: &mut S) -> Ending {
        let Some(resumed) = self.unfinished.resume(queue) else { return Ending::Settled };
        self.started.push(resumed);
        self.apply_in_group(storage, self.started.len() - 1, now())
    }

    /// Applies the command that was started last, in the group's own transaction.
    fn apply_in_group(&mut self, storage: &mut S, index: usize, now: Instant) -> Ending {
        let ending = self.apply(storage, index, now);
        if let Ending::Lost = ending {
            self.done_before = Some(self.started[..index].iter().map(Started::is_done).collect());
            self.started[index].is_final = false;
            self.void(0..index);
        }
        ending
    }

    /// Applies a run. If it loses the transaction nobody is to blame: all are carried out again, and after
    /// that each stands for itself.
    fn apply_together(&mut self, storage: &mut S, run: Range<usize>, now: Instant) -> Ending {
        let first_sequence = self.sequencer.next_block(run.len());
        let started = &mut self.started[run];
        let mut commands: Vec<_> = started.iter_mut().map(|one| &mut one.entry.work).collect();
        match storage.apply_together(&mut commands, first_sequence, now) {
            Ok(joined) => {
                debug_assert_eq!(joined.len(), started.len(), "each command of a run has its verdict");
                for (one, joined) in started.iter_mut().zip(joined) {
                    one.verdict = Some(joined.into());
                }
                Ending::Settled
            }
            Err(TransactionLost) => {
                self.void(0..self.started.len());
                Ending::Lost
            }
        }
    }

    /// The one that took the transaction with it had failed beside what the others had done. If they came out
    /// otherwise without it, its failure may speak of rows that never were: then it is carried out alone.
    /// Of two pieces nobody knows whether they did the same.
    fn judge_culprit(&mut self, storage: &mut S) -> Result<(), ReasonOf<S>> {
        let Some(done_before) = self.done_before.take() else { return Ok(()) };
        let culprit = done_before.len();
        self.started[culprit].is_final = true;
        let came_out_the_same =
            |(before, other): (&bool, &Started<_>)| *before == other.is_done() && !other.is_unfinished();
        if done_before.iter().zip(&self.started).all(came_out_the_same) {
            return Ok(());
        }
        self.void(std::iter::once(culprit));
        self.transact(storage, &[culprit])?;
        Ok(())
    }

    /// Carries out one by one what is left in the hand after a lost transaction, and at last a piece of what
    /// is unfinished, if that has not had its turn.
    fn carry_out_rest_alone(
        &mut self,
        queue: &CommandQueue<S::Command>,
        storage: &mut S,
        was_resumed: bool,
    ) -> Result<(), ReasonOf<S>> {
        while let Some(entry) = queue.start_next() {
            self.carry_out_alone(queue, storage, Started::fresh(entry))?;
        }
        if !was_resumed && let Some(resumed) = self.unfinished.resume(queue) {
            self.carry_out_alone(queue, storage, resumed)?;
        }
        Ok(())
    }

    fn carry_out_alone(
        &mut self,
        queue: &CommandQueue<S::Command>,
        storage: &mut S,
        started: Started<S::Command>,
    ) -> Result<(), ReasonOf<S>> {
        let (level, began) = (started.entry.work.level(), now());
        self.started.push(started);
        self.transact(storage, &[0])?;
        let report = self.report(level, began, now());
        storage.report(&report);
        self.answer(queue);
        Ok(())
    }

    /// What the started commands were, once each has its verdict.
    fn report(&self, level: AckLevel, began: Instant, applied: Instant) -> GroupReport {
        let (mut commands, mut failed, mut bytes) = (0, 0, 0);
        for ended in self.started.iter().filter(|one| !one.is_unfinished()) {
            commands += 1;
            failed += usize::from(!ended.is_done());
            bytes += ended.entry.bytes;
        }
        let apply = applied.saturating_duration_since(began);
        let commit = now().saturating_duration_since(applied);
        GroupReport { commands, failed, bytes, level, apply, commit }
    }

    /// One transaction over the commands at `indices`. Alone, a command always gets its verdict.
    fn transact(&mut self, storage: &mut S, indices: &[usize]) -> Result<Ending, ReasonOf<S>> {
        let levels = indices.iter().map(|index| self.started[*index].entry.work.level());
        let Some(level) = levels.max() else { return Ok(Ending::Settled) };
        if let Err(reason) = self.begin(storage, level)? {
            for index in indices {
                self.started[*index].verdict = Some(Verdict::Refused(reason.clone()));
            }
            return Ok(Ending::Settled);
        }
        for index in indices {
            if let Ending::Lost = self.apply(storage, *index, now()) {
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
        // One more than the hand holds: the unfinished command that goes on.
        if !self.sequencer.has((self.limits.commands + 1) * ATTEMPTS) {
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
    fn apply(&mut self, storage: &mut S, index: usize, now: Instant) -> Ending {
        if self.must_wait(index) {
            self.started[index].postpone();
            return Ending::Settled;
        }
        let sequence = self.sequencer.next();
        let started = &mut self.started[index];
        let applied = storage.apply(&mut started.entry.work, sequence, now);
        if started.judge(applied) { Ending::Lost } else { Ending::Settled }
    }

    /// Whether a command has to wait for bulk work from before it. A resumed one has waited: it is the first of
    /// all that are unfinished.
    fn must_wait(&self, index: usize) -> bool {
        let (before, one) = (&self.started[..index], &self.started[index]);
        let has_earlier = || {
            !self.unfinished.is_empty()
                || before.iter().any(Started::is_unfinished)
                // It stands last here, but came first.
                || self.started.iter().any(|other| other.is_resumed)
        };
        one.entry.work.waits_for_unfinished() && !one.is_resumed && has_earlier()
    }

    /// Commits what `indices` did, and syncs if one of them may only be answered then.
    fn commit(&mut self, storage: &mut S, level: AckLevel, indices: &[usize]) -> Result<Ending, ReasonOf<S>> {
        let committed = match storage.commit() {
            Ok(committed) => committed,
            Err(CommitError::Unknown(reason)) => return Err(reason),
            Err(CommitError::NotApplied(error)) => return Ok(self.not_applied(error, indices)),
        };
        self.ledger.committed(level, committed);
        let mut deletes = false;
        for index in indices {
            let started = &mut self.started[*index];
            started.committed();
            deletes |= started.deletes();
        }
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

    /// Takes verdicts back whose transaction is gone.
    fn void(&mut self, indices: impl Iterator<Item = usize>) {
        for index in indices {
            self.started[index].void();
        }
    }

    /// The commands without a verdict, in order.
    fn pending(&self) -> Vec<usize> {
        (0..self.started.len()).filter(|index| self.started[*index].verdict.is_none()).collect()
    }

    /// Answers every command that has ended, in order, and keeps the others for the next groups.
    fn answer(&mut self, queue: &CommandQueue<S::Command>) {
        // Mostly there are none.
        if self.started.iter().any(Started::is_unfinished) {
            for unfinished in self.started.extract_if(.., |one| one.is_unfinished()) {
                self.unfinished.keep(unfinished, queue);
            }
        }
        // Where they are: moving each would be a good part of what its answer costs.
        for started in &mut self.started {
            let waker = started.answer(queue);
            self.to_wake.extend(waker);
        }
        self.started.clear();
        wake(self.to_wake.drain(..));
    }
}
