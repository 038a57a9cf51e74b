//! The answer slot: one caller waits, one engine thread answers, exactly once.

use std::task::{Context, Poll, Waker};

use super::foreign_code::wake;
use super::work::{Answer, Refusal, Work};
use crate::sync::{Arc, Mutex};

/// The engine's half: answers once.
///
/// Dropped without an answer (an engine thread unwound), it reports the work as unknown, so that no
/// caller waits for ever.
pub(crate) struct Responder<W: Work>(Option<Arc<Slot<W>>>);

/// The caller's half: waits for admission and for the answer.
pub(crate) struct Ticket<W: Work>(Arc<Slot<W>>);

struct Slot<W: Work>(Mutex<SlotState<W>>);

struct SlotState<W: Work> {
    admitted: bool,
    /// The waker wants to hear of the admission already, not only of the answer.
    awaits_admission: bool,
    answer: Option<Answer<W>>,
    waker: Option<Waker>,
}

/// Makes the two halves of one slot, for work that is admitted.
pub(crate) fn slot<W: Work>() -> (Responder<W>, Ticket<W>) {
    let state = SlotState { admitted: true, awaits_admission: false, answer: None, waker: None };
    let slot = Arc::new(Slot(Mutex::new(state)));
    (Responder(Some(slot.clone())), Ticket(slot))
}

impl<W: Work> Responder<W> {
    /// Gives the caller its answer and wakes it.
    pub(crate) fn answer(self, answer: Answer<W>) {
        wake(self.put(answer));
    }

    /// Puts the answer where the caller finds it. Gives the waker of a caller that waits for it.
    pub(crate) fn put(mut self, answer: Answer<W>) -> Option<Waker> {
        self.0.take()?.complete(answer)
    }

    /// The work waits for room: [`admit`](Self::admit) will tell.
    pub(crate) fn keep_waiting(&self) {
        if let Some(slot) = &self.0 {
            slot.0.lock().admitted = false;
        }
    }

    /// Marks the work as admitted. Gives the waker of a caller that waits for just that; the queue calls
    /// it after its lock is released.
    pub(crate) fn admit(&self) -> Option<Waker> {
        let mut state = self.0.as_ref()?.0.lock();
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
        if let Some(slot) = self.0.take() {
            wake(slot.complete(Answer::Unknown(W::lost())));
        }
    }
}

impl<W: Work> Slot<W> {
    fn complete(&self, answer: Answer<W>) -> Option<Waker> {
        let mut state = self.0.lock();
        debug_assert!(state.answer.is_none(), "one answer each");
        state.answer = Some(answer);
        state.waker.take()
    }
}

impl<W: Work> Ticket<W> {
    /// Ready once the work is admitted, or answered without having been.
    pub(crate) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock();
        if state.admitted || state.answer.is_some() {
            return Poll::Ready(());
        }
        state.awaits_admission = true;
        state.watch(context);
        Poll::Pending
    }

    /// Ready with the answer. Once it was taken, pending for ever.
    pub(crate) fn poll_answer(&self, context: &mut Context<'_>) -> Poll<Answer<W>> {
        let mut state = self.0.0.lock();
        match state.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.awaits_admission = false;
                state.watch(context);
                Poll::Pending
            }
        }
    }

    /// Whether the work was refused. The refusal stays.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.0.0.lock().answer, Some(Answer::NotStarted(_)))
    }

    /// The refusal, if the work was refused.
    pub(crate) fn try_refusal(&self) -> Option<Refusal<W::Reason>> {
        let mut state = self.0.0.lock();
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
        self.0.0.lock().answer.take()
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
