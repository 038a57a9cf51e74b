//! The clock of the engine: one thread that sleeps until the next deadline.
//!
//! Futures need no timer of a runtime: what a deadline ends, this thread answers. Without deadlines it
//! sleeps for ever.

use std::time::Instant;

use crate::sync::{Condvar, Mutex, now};

/// The next moment at which something expires.
pub(crate) struct Alarm {
    state: Mutex<AlarmState>,
    changed: Condvar,
}

struct AlarmState {
    next: Option<Instant>,
    finished: bool,
}

impl Alarm {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(AlarmState { next: None, finished: false }), changed: Condvar::new() }
    }

    /// Makes sure that the alarm rings at `at`. Called after the deadline is where the ring looks for it.
    pub(crate) fn set(&self, at: Instant) {
        let mut state = self.state.lock();
        if state.next.is_none_or(|next| at < next) {
            state.next = Some(at);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Ends the thread.
    pub(crate) fn finish(&self) {
        self.state.lock().finished = true;
        self.changed.notify_one();
    }

    /// Calls `ring` with the time whenever something may have expired; `ring` gives the next deadline.
    pub(crate) fn run(&self, mut ring: impl FnMut(Instant) -> Option<Instant>) {
        loop {
            // Cleared before the look: a deadline that is set meanwhile is not overwritten.
            self.state.lock().next = None;
            let found = ring(now());
            let mut state = self.state.lock();
            state.next = [state.next, found].into_iter().flatten().min();
            loop {
                if state.finished {
                    return;
                }
                match state.next {
                    None => self.changed.wait(&mut state),
                    Some(at) if at <= now() => break,
                    Some(at) => {
                        self.changed.wait_until(&mut state, at);
                    }
                }
            }
        }
    }
}
