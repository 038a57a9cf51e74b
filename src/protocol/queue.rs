//! The queue between callers and engine threads: the line behind a lock, with its wake-ups.
//!
//! Admission and queue are one structure under one lock, on purpose: a caller that waits for room stands in
//! the line already, and whoever makes room admits it there. No caller is woken to try again, none is
//! overtaken, and withdrawing one gives its place and its bytes back at once.
//!
//! What the writer has taken but not started stays in the *hand*, where deadlines still reach it. Locks
//! are taken in the order line, hand, answer slot; wakers are called after all are released.

mod hand;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::answer::{Slots, Ticket};
use super::foreign_code::wake;
use super::limits::QueueLimits;
use super::line::{Entry, Line, Place};
use super::work::{Answer, Refusal, Work};
use crate::sync::{Condvar, Mutex, now};

/// A bounded queue with fair admission.
pub(crate) struct CommandQueue<W: Work> {
    state: Mutex<QueueState<W>>,
    /// Engine threads without work wait here.
    work_arrived: Condvar,
    /// A writer that may not take work now waits here; only the end of the queue's work is told early.
    pause_ended: Condvar,
    hand: Mutex<VecDeque<Place<W>>>,
}

struct QueueState<W: Work> {
    line: Line<W>,
    slots: Slots<W>,
    deadlines: BinaryHeap<Reverse<(Instant, u64)>>,
    closing: bool,
    /// Closing, and nothing is carried out any more that can be helped.
    abandoned: bool,
    stopped: Option<W::Reason>,
    /// Threads in `work_arrived`; nobody is notified while there is none.
    parked: usize,
}

/// What a caller holds after it entered the queue.
pub(crate) struct Entered<W: Work> {
    pub(crate) ticket: Ticket<W>,
    pub(crate) number: u64,
}

/// What to do when there is no room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    Wait,
    Try,
}

/// What the writer finds when it asks for a group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// The hand holds commands, or there is unfinished work.
    Group,
    /// Nothing came for as long as the writer wanted to wait.
    Idle,
    /// Nothing is left, and nothing will come.
    Finished,
}

/// How full the queue is. Unfinished work counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Depth {
    pub(crate) commands: usize,
    pub(crate) bytes: usize,
    pub(crate) waiting: usize,
}

impl<W: Work> CommandQueue<W> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self {
            state: Mutex::new(QueueState {
                line: Line::new(limits),
                slots: Slots::new(),
                deadlines: BinaryHeap::new(),
                closing: false,
                abandoned: false,
                stopped: None,
                parked: 0,
            }),
            work_arrived: Condvar::new(),
            pause_ended: Condvar::new(),
            hand: Mutex::new(VecDeque::new()),
        }
    }

    /// Puts work in the line: admitted if there is room and nobody waits, else behind those who wait.
    pub(crate) fn enter(
        &self,
        work: W,
        deadline: Option<Instant>,
        entrance: Entrance,
    ) -> Result<Entered<W>, Refusal<W::Reason>> {
        let bytes = work.bytes();
        let mut state = self.state.lock();
        state.refusal()?;
        let limit = state.line.limits().bytes;
        if bytes > limit {
            return Err(Refusal::TooLarge { bytes, limit });
        }
        let admitted = state.line.has_room(bytes);
        if !admitted && entrance == Entrance::Try {
            return Err(Refusal::Overloaded);
        }
        let (responder, ticket) = state.slots.next();
        if !admitted {
            responder.keep_waiting();
        }
        let number = state.line.push(Entry { work, responder, bytes, deadline }, admitted);
        if let Some(deadline) = deadline {
            state.deadlines.push(Reverse((deadline, number)));
            self.forget_settled_deadlines(&mut state);
        }
        let wake = admitted && state.parked > 0;
        drop(state);
        if wake {
            self.work_arrived.notify_one();
        }
        Ok(Entered { ticket, number })
    }

    /// Takes place `number` out of the line if it still waits for room. Admitted work stays.
    pub(crate) fn leave(&self, number: u64) {
        self.take_out(|line| line.withdraw_waiting(number));
    }

    /// Takes place `number` out of the line, admitted or not.
    pub(crate) fn withdraw(&self, number: u64) {
        self.take_out(|line| line.withdraw(number));
    }

    /// Takes work out that nobody waits for any more, and admits who fits now.
    fn take_out(&self, withdraw: impl FnOnce(&mut Line<W>) -> Option<Entry<W>>) {
        let mut wakers = Vec::new();
        let mut state = self.state.lock();
        let entry = withdraw(&mut state.line);
        let wake = state.admit(&mut wakers);
        drop(state);
        self.wake(wake, wakers);
        if let Some(entry) = entry {
            entry.responder.answer(Answer::NotStarted(Refusal::Closed));
        }
    }

    /// Answers everything whose deadline is at or before `now` and that was not started. Gives the next
    /// deadline.
    pub(crate) fn expire(&self, now: Instant) -> Option<Instant> {
        let (mut expired, mut wakers) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        while let Some(Reverse((at, number))) = state.deadlines.peek().copied() {
            if at > now {
                break;
            }
            state.deadlines.pop();
            let entry = match state.line.withdraw(number) {
                Some(entry) => Some(entry),
                None => self.withdraw_from_hand(number),
            };
            expired.extend(entry);
        }
        let next = state.deadlines.peek().map(|Reverse((at, _))| *at);
        let wake = state.admit(&mut wakers);
        let pause_ends = self.has_nothing_left(&state);
        drop(state);
        self.wake(wake, wakers);
        if pause_ends {
            self.pause_ended.notify_all();
        }
        for entry in expired {
            entry.responder.answer(Answer::NotStarted(Refusal::Expired));
        }
        next
    }

    /// Refuses new work. What is admitted is still carried out; who waits for room is answered.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        let refused = state.line.drain_waiting();
        drop(state);
        self.wake_engine();
        refuse(refused, &Refusal::Closed);
    }

    /// Refuses new work and everything that was not started. What is unfinished is not gone on with.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        state.abandoned = true;
        let refused = self.drain(&mut state);
        drop(state);
        self.wake_engine();
        refuse(refused, &Refusal::Closed);
    }

    /// Refuses everything, now and later, because the engine cannot go on.
    pub(crate) fn stop(&self, reason: W::Reason) {
        let mut state = self.state.lock();
        state.stopped.get_or_insert(reason.clone());
        let refused = self.drain(&mut state);
        drop(state);
        self.wake_engine();
        refuse(refused, &Refusal::Stopped(reason));
    }

    /// Waits until the queue is closing. What a writer does that has stopped.
    pub(crate) fn wait_until_closing(&self) {
        let mut state = self.state.lock();
        while !state.closing {
            self.pause_ended.wait(&mut state);
        }
    }

    /// Waits for `time`, or until nothing is left to do, and gives whether that is so.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let mut state = self.state.lock();
        if !self.has_nothing_left(&state) {
            self.pause_ended.wait_until(&mut state, now() + time);
        }
        self.has_nothing_left(&state)
    }

    /// Starts the first admitted piece of work, waiting for one. `None`: the queue is closed and empty.
    pub(crate) fn take_one(&self) -> Option<Entry<W>> {
        let mut state = self.state.lock();
        loop {
            if let Some((_, entry)) = state.line.pop_admitted() {
                let mut wakers = Vec::new();
                let wake = state.admit(&mut wakers);
                drop(state);
                self.wake(wake, wakers);
                if !is_late(&entry) {
                    return Some(entry);
                }
                entry.responder.answer(Answer::NotStarted(Refusal::Expired));
                state = self.state.lock();
                continue;
            }
            if state.is_finished() {
                return None;
            }
            state.parked += 1;
            self.work_arrived.wait(&mut state);
            state.parked -= 1;
        }
    }

    /// How many have entered so far.
    pub(crate) fn entered(&self) -> u64 {
        self.state.lock().line.entered()
    }

    pub(crate) fn depth(&self) -> Depth {
        let state = self.state.lock();
        Depth {
            commands: state.line.commands() + state.line.unfinished_commands(),
            bytes: state.line.bytes(),
            waiting: state.line.waiting(),
        }
    }

    /// Whether nothing is left to do for the writer, nor will be. Places of withdrawn commands are nothing.
    fn has_nothing_left(&self, state: &QueueState<W>) -> bool {
        state.is_finished() && self.hand.lock().iter().all(|place| place.entry.is_none())
    }

    fn withdraw_from_hand(&self, number: u64) -> Option<Entry<W>> {
        let mut hand = self.hand.lock();
        let index = hand.binary_search_by_key(&number, |place| place.number).ok()?;
        hand[index].entry.take()
    }

    /// Empties line and hand.
    fn drain(&self, state: &mut QueueState<W>) -> Vec<Entry<W>> {
        let mut entries: Vec<_> = self.hand.lock().drain(..).filter_map(|place| place.entry).collect();
        entries.extend(state.line.drain());
        state.deadlines.clear();
        entries
    }

    /// Drops the deadlines of work that is long answered, once they are the greater part.
    fn forget_settled_deadlines(&self, state: &mut QueueState<W>) {
        if state.deadlines.len() < 1024 {
            return;
        }
        let hand = self.hand.lock();
        if state.deadlines.len() < 2 * (state.line.len() + hand.len()) + 1024 {
            return;
        }
        let QueueState { line, deadlines, .. } = state;
        deadlines.retain(|Reverse((_, number))| {
            line.holds(*number) || hand.binary_search_by_key(number, |place| place.number).is_ok()
        });
    }

    fn wake(&self, work_arrived: bool, callers: Vec<Waker>) {
        if work_arrived {
            self.work_arrived.notify_all();
        }
        wake(callers);
    }

    fn wake_engine(&self) {
        self.work_arrived.notify_all();
        self.pause_ended.notify_all();
    }
}

impl<W: Work> QueueState<W> {
    fn refusal(&self) -> Result<(), Refusal<W::Reason>> {
        match &self.stopped {
            Some(reason) => Err(Refusal::Stopped(reason.clone())),
            None if self.closing => Err(Refusal::Closed),
            None => Ok(()),
        }
    }

    /// Admits who fits now. Gives whether a parked engine thread has to hear of it.
    fn admit(&mut self, wakers: &mut Vec<Waker>) -> bool {
        let before = self.line.commands();
        self.line.admit_waiting(wakers);
        self.line.commands() > before && self.parked > 0
    }

    /// Why unfinished work must not go on.
    fn given_up(&self) -> Option<Refusal<W::Reason>> {
        match &self.stopped {
            Some(reason) => Some(Refusal::Stopped(reason.clone())),
            None if self.abandoned => Some(Refusal::Closed),
            None => None,
        }
    }

    fn is_finished(&self) -> bool {
        let nothing_comes = self.closing || self.stopped.is_some();
        let nothing_goes_on = !self.has_unfinished() || self.abandoned || self.stopped.is_some();
        nothing_comes && nothing_goes_on && self.line.commands() == 0
    }

    fn has_unfinished(&self) -> bool {
        self.line.unfinished_commands() > 0
    }

    /// Whether the writer has no reason to wait.
    fn has_work_or_end(&mut self) -> bool {
        self.line.front_admitted_bytes().is_some() || self.has_unfinished() || self.is_finished()
    }
}

/// Whether the deadline of work has passed: the alarm's thread may be late, the answer must not be.
fn is_late<W: Work>(entry: &Entry<W>) -> bool {
    // In a model the deadline is over or not as the thread says that plays the clock.
    !cfg!(walwright_model) && entry.deadline.is_some_and(|deadline| deadline <= now())
}

fn refuse<W: Work>(entries: Vec<Entry<W>>, refusal: &Refusal<W::Reason>) {
    for entry in entries {
        entry.responder.answer(Answer::NotStarted(refusal.clone()));
    }
}
