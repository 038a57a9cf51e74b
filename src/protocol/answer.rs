//! The answer slot: one caller waits, one engine thread answers, exactly once.

use std::ops::Deref;
use std::task::{Context, Poll, Waker};

use super::foreign_code::wake;
use super::work::{Answer, Refusal, Work};
use crate::sync::{Arc, Mutex, MutexGuard};

/// How many slots are made at once. They are asked for on one thread and given back on another, where memory is at its
/// dearest. One that is still held keeps its block, so there are not many more.
const BLOCK: u32 = if cfg!(walwright_model) { 2 } else { 16 };

/// Makes slots.
pub(crate) struct Slots<W: Work> {
    block: Arc<Block<W>>,
    used: u32,
}

/// The engine's half: answers once.
///
/// Dropped without an answer (an engine thread unwound), it reports the work as unknown, so that no
/// caller waits for ever.
pub(crate) struct Responder<W: Work>(SlotPlace<W>);

/// The caller's half: waits for admission and for the answer.
///
/// Dropping it mostly takes the slot's lock, which in a forked child nobody may give back: there it is to be forgotten.
pub(crate) struct Ticket<W: Work>(SlotPlace<W>);

type Block<W> = [Slot<W>; BLOCK as usize];

struct SlotPlace<W: Work> {
    block: Arc<Block<W>>,
    at: u32,
    /// This half has given the answer, or has taken it: it has nothing more to do here.
    is_done: bool,
}

struct Slot<W: Work>(Mutex<SlotState<W>>);

struct SlotState<W: Work> {
    admitted: bool,
    /// Nobody will take the answer. It may hold much, and the slot lives on with its block.
    is_deserted: bool,
    /// The waker wants to hear of the admission already, not only of the answer.
    awaits_admission: bool,
    answer: Option<Answer<W>>,
    waker: Option<Waker>,
}

impl<W: Work> Slots<W> {
    pub(crate) fn new() -> Self {
        Self { block: Slot::block(), used: 0 }
    }

    /// The two halves of one slot, for work that is admitted.
    #[inline]
    pub(crate) fn next(&mut self) -> (Responder<W>, Ticket<W>) {
        if self.used == BLOCK {
            *self = Self::new();
        }
        let place = || SlotPlace { block: Arc::clone(&self.block), at: self.used, is_done: false };
        let halves = (Responder(place()), Ticket(place()));
        self.used += 1;
        halves
    }
}

impl<W: Work> Deref for SlotPlace<W> {
    type Target = Slot<W>;

    fn deref(&self) -> &Slot<W> {
        &self.block[self.at as usize]
    }
}

impl<W: Work> Responder<W> {
    /// Gives the caller its answer and wakes it.
    pub(crate) fn answer(mut self, answer: Answer<W>) {
        wake(self.put(answer));
    }

    /// Puts the answer where the caller finds it, once. Gives the waker of a caller that waits for it.
    pub(crate) fn put(&mut self, answer: Answer<W>) -> Option<Waker> {
        if std::mem::replace(&mut self.0.is_done, true) { None } else { self.0.complete(answer) }
    }

    /// The work waits for room: [`admit`](Self::admit) will tell.
    pub(crate) fn keep_waiting(&self) {
        self.0.lock().admitted = false;
    }

    /// Marks the work as admitted. Gives the waker of a caller that waits for just that; the queue calls
    /// it after its lock is released.
    pub(crate) fn admit(&self) -> Option<Waker> {
        let mut state = self.0.lock();
        state.admitted = true;
        if state.awaits_admission { state.waker.take() } else { None }
    }
}

impl<W: Work> Drop for Responder<W> {
    fn drop(&mut self) {
        // The model checker aborts when a destructor touches its objects while it unwinds.
        if cfg!(walwright_model) && std::thread::panicking() {
            return;
        }
        if !self.0.is_done {
            wake(self.put(Answer::Unknown(W::lost())));
        }
    }
}

impl<W: Work> Slot<W> {
    fn block() -> Arc<Block<W>> {
        Arc::new(std::array::from_fn(|_| {
            let (is_deserted, awaits_admission) = (false, false);
            let state =
                SlotState { admitted: true, is_deserted, awaits_admission, answer: None, waker: None };
            Self(Mutex::new(state))
        }))
    }

    fn lock(&self) -> MutexGuard<'_, SlotState<W>> {
        self.0.lock()
    }

    fn complete(&self, answer: Answer<W>) -> Option<Waker> {
        let mut state = self.lock();
        debug_assert!(state.answer.is_none(), "one answer each");
        if state.is_deserted {
            // What drops the answer may be a caller's code.
            drop(state);
            drop(answer);
            return None;
        }
        state.answer = Some(answer);
        state.waker.take()
    }
}

impl<W: Work> Drop for Ticket<W> {
    fn drop(&mut self) {
        // The model checker aborts when a destructor touches its objects while it unwinds.
        if cfg!(walwright_model) && std::thread::panicking() {
            return;
        }
        if self.0.is_done {
            return;
        }
        let mut state = self.0.lock();
        state.is_deserted = true;
        let left = (state.answer.take(), state.waker.take());
        drop(state);
        drop(left);
    }
}

impl<W: Work> Ticket<W> {
    /// Ready once the work is admitted, or answered without having been.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.admitted || state.answer.is_some() {
            return Poll::Ready(());
        }
        state.awaits_admission = true;
        state.watch(context);
        Poll::Pending
    }

    /// Ready with the answer. Once it was taken, pending for ever.
    // An answer is moved once less.
    #[inline(always)]
    pub(crate) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Answer<W>> {
        if self.0.is_done {
            return Poll::Pending;
        }
        let mut state = self.0.lock();
        match state.answer.take() {
            Some(answer) => {
                drop(state);
                self.0.is_done = true;
                Poll::Ready(answer)
            }
            None => {
                state.awaits_admission = false;
                state.watch(context);
                Poll::Pending
            }
        }
    }

    /// Whether the work was refused. The refusal stays.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.0.lock().answer, Some(Answer::NotStarted(_)))
    }

    /// The refusal, if the work was refused.
    pub(crate) fn try_refusal(&self) -> Option<Refusal<W::Reason>> {
        let mut state = self.0.lock();
        match state.answer.take() {
            Some(Answer::NotStarted(refusal)) => Some(refusal),
            other => {
                state.answer = other;
                None
            }
        }
    }

    /// The answer, if it is there.
    pub(crate) fn try_answer(&self) -> Option<Answer<W>> {
        self.0.lock().answer.take()
    }
}

impl<W: Work> SlotState<W> {
    /// Remembers who to wake. A future may be polled by another task each time: the last one counts.
    fn watch(&mut self, context: &Context<'_>) {
        match &self.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => self.waker = Some(context.waker().clone()),
        }
    }
}
