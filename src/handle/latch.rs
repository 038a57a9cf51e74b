//! A value that is set once and waited for by any number of tasks and threads.

use std::task::{Context, Poll, Waker};

use crate::protocol::foreign_code::wake;
use crate::sync::Mutex;

/// Set once; who waits is woken.
pub(crate) struct Latch<T>(Mutex<LatchState<T>>);

struct LatchState<T> {
    value: Option<T>,
    waiting: Vec<Waker>,
}

impl<T> Default for Latch<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Latch<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LatchState { value: None, waiting: Vec::new() }))
    }

    /// Sets the value, unless one is set already, and wakes all who wait.
    pub(crate) fn set(&self, value: T) {
        let mut state = self.0.lock();
        let late = match state.value {
            None => {
                state.value = Some(value);
                None
            }
            Some(_) => Some(value),
        };
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // Wakers and the late value may run foreign code: not under the lock.
        wake(waiting);
        drop(late);
    }

    /// Ready with the value, which is taken out.
    pub(crate) fn poll_take(&self, context: &Context<'_>) -> Poll<T> {
        let mut state = self.0.lock();
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => state.watch(context),
        }
    }

    /// Ready with a copy of the value.
    pub(crate) fn poll_copy(&self, context: &Context<'_>) -> Poll<T>
    where
        T: Clone,
    {
        let mut state = self.0.lock();
        match &state.value {
            Some(value) => Poll::Ready(value.clone()),
            None => state.watch(context),
        }
    }
}

impl<T> LatchState<T> {
    fn watch(&mut self, context: &Context<'_>) -> Poll<T> {
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::sync::Arc;

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker of the test");
        }
    }

    #[derive(Default)]
    struct Notes(AtomicBool);

    impl Wake for Notes {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_waker_that_panics_keeps_no_other_from_being_woken() {
        let (latch, notes) = (Latch::new(), Arc::new(Notes::default()));
        let panics = Waker::from(Arc::new(Panics));
        assert!(latch.poll_copy(&Context::from_waker(&panics)).is_pending());
        assert!(latch.poll_copy(&Context::from_waker(&Waker::from(notes.clone()))).is_pending());
        latch.set(7);
        assert!(notes.0.load(Ordering::SeqCst));
    }
}
