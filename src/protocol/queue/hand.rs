//! The writer's side of the queue: the hand with the next group, and the room of what is unfinished.

use std::time::Duration;

use super::{CommandQueue, Take, is_late, refuse};
use crate::protocol::gather::{GatherPolicy, Gathering};
use crate::protocol::level::AckLevel;
use crate::protocol::limits::GroupLimits;
use crate::protocol::line::Entry;
use crate::protocol::look_out::LookOutPolicy;
use crate::protocol::work::{Command, Refusal};
use crate::sync::{linger, look_out, nap, now};

/// Who sends several commands sends the next one within this time.
const RIGHT_BEHIND: Duration = Duration::from_micros(3);
/// So many that came one right behind the other are enough: they have a sync to share.
const ENOUGH_COMPANY: u64 = 8;
/// How long the writer is awake when it waits for callers to come back. Then it sleeps between two looks.
const GATHER_AWAKE: Duration = Duration::from_micros(30);
/// A run has at most so many commands: a group looks at its time between two runs, and not within one.
const MOST_TOGETHER: usize = 1024;
/// The hand and the line are taken for each other in turn. One that a burst has made large is given back.
const KEPT_PLACES: usize = 4096;

impl<W: Command> CommandQueue<W> {
    /// Fills the hand with the next group, waiting for one: for ever, or as long as `patience`. With unfinished
    /// work it does not wait.
    pub(crate) fn take_group(
        &self,
        limits: &GroupLimits,
        patience: Option<Duration>,
        gather: &mut GatherPolicy,
        look_out: &mut LookOutPolicy,
    ) -> Take {
        // A group that ran into its time limit left commands in the hand: they are older than the line.
        if !self.hand.lock().is_empty() {
            return Take::Group;
        }
        let mut state = self.state.lock();
        if !state.has_work_or_end()
            && let Some(limit) = look_out.next()
        {
            drop(state);
            if look_out.looked_out(self.look_out(limit)) {
                look_out.waited_for_company(self.wait_for_company());
            }
            state = self.state.lock();
        }
        let until = patience.map(|patience| now() + patience);
        while !state.has_work_or_end() {
            state.parked += 1;
            let timed_out = match until {
                Some(until) => self.work_arrived.wait_until(&mut state, until).timed_out(),
                None => {
                    self.work_arrived.wait(&mut state);
                    false
                }
            };
            state.parked -= 1;
            if timed_out && !state.has_work_or_end() {
                return Take::Idle;
            }
        }
        if let Some(wait) = gather.next() {
            drop(state);
            gather.gathered(wait, self.gather(limits, wait));
            state = self.state.lock();
        }
        if state.line.front_admitted_bytes().is_none() {
            return if state.is_finished() { Take::Finished } else { Take::Group };
        }
        let mut wakers = Vec::new();
        let mut hand = self.hand.lock();
        hand.shrink_to(KEPT_PLACES);
        state.line.take_group(limits, &mut hand);
        look_out.taken(hand.len());
        drop(hand);
        state.line.admit_waiting(&mut wakers);
        drop(state);
        self.wake(false, wakers);
        Take::Group
    }

    /// Looks out for work, or for the end of it, and gives whether it has come.
    fn look_out(&self, limit: Duration) -> bool {
        let mut has_come = false;
        look_out(limit, || {
            has_come = self.state.lock().has_work_or_end();
            has_come
        });
        has_come
    }

    /// Lets commands come as long as each is right behind the one before. Gives whether one came.
    fn wait_for_company(&self) -> bool {
        let first = self.entered();
        let mut last = first;
        loop {
            let before = last;
            linger(RIGHT_BEHIND, || {
                last = self.entered();
                last > before
            });
            if last == before || last - first >= ENOUGH_COMPANY {
                return last > first;
            }
        }
    }

    /// Waits for callers to come back, unless there are enough for a group or nothing more will come. Gives how many
    /// came.
    fn gather(&self, limits: &GroupLimits, wait: Gathering) -> usize {
        let mut came = 0;
        let mut is_over = || {
            let state = self.state.lock();
            let (commands, bytes) = (state.line.commands(), state.line.bytes());
            came = usize::try_from(state.line.entered() - wait.since).unwrap_or(usize::MAX);
            let is_full = commands >= limits.commands || bytes >= limits.bytes || state.line.waiting() > 0;
            came >= wait.callers || is_full || state.closing || state.stopped.is_some()
        };
        // Who sends several sends them one right behind the other.
        look_out(GATHER_AWAKE, &mut is_over);
        nap(wait.limit, is_over);
        came
    }

    /// The strictest level in the hand. `None`: everything in it was withdrawn.
    pub(crate) fn hand_level(&self) -> Option<AckLevel> {
        let mut hand = self.hand.lock();
        let level =
            hand.iter().filter_map(|place| place.entry.as_ref()).map(|entry| entry.work.level()).max();
        if level.is_none() {
            hand.clear();
        }
        level
    }

    /// Starts the next command of the hand: from here on it is neither withdrawn nor refused.
    pub(crate) fn start_next(&self) -> Option<Entry<W>> {
        let mut next = None;
        self.start_run(|_| false, |entry| next = Some(entry));
        next
    }

    /// Starts the next command of the hand, and if it `joins` those right behind it that do, too, as many as go
    /// together. Gives them to `started` in their order.
    pub(crate) fn start_run(&self, joins: impl Fn(&W) -> bool, mut started: impl FnMut(Entry<W>)) {
        let (mut expired, mut is_run, mut most) = (Vec::new(), false, MOST_TOGETHER);
        let mut hand = self.hand.lock();
        while let Some(next) = hand.front() {
            let Some(entry) = &next.entry else {
                hand.pop_front();
                continue;
            };
            let (is_late, joins) = (is_late(entry), joins(&entry.work));
            if is_run && !joins && !is_late {
                break;
            }
            let Some(entry) = hand.pop_front().and_then(|place| place.entry) else { break };
            if is_late {
                expired.push(entry);
                continue;
            }
            started(entry);
            (is_run, most) = (joins, most - 1);
            if !joins || most == 0 {
                break;
            }
        }
        drop(hand);
        if !expired.is_empty() {
            refuse(expired, &Refusal::Expired);
        }
    }

    /// Answers everything in the hand as not started.
    pub(crate) fn refuse_hand(&self, refusal: &Refusal<W::Reason>) {
        let entries: Vec<_> = self.hand.lock().drain(..).filter_map(|place| place.entry).collect();
        refuse(entries, refusal);
    }

    /// Counts unfinished work against the bounds again, until it is released.
    pub(crate) fn hold_unfinished(&self, bytes: usize) {
        self.state.lock().line.hold_unfinished(bytes);
    }

    /// Gives the room of unfinished work back, and admits who fits now.
    pub(crate) fn release_unfinished(&self, bytes: usize) {
        let mut wakers = Vec::new();
        let mut state = self.state.lock();
        state.line.release_unfinished(bytes);
        let wake = state.admit(&mut wakers);
        drop(state);
        self.wake(wake, wakers);
    }

    /// Why unfinished work must not go on, if the store was abandoned or has stopped.
    pub(crate) fn given_up(&self) -> Option<Refusal<W::Reason>> {
        self.state.lock().given_up()
    }
}
