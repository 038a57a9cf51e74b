//! A gate that a closure waits at until the test opens it.

use crate::{PATIENCE, lock};
use std::sync::{Arc, Condvar, Mutex};

/// A closed gate. Clones are handles to the same gate.
///
/// A closure that the engine runs calls [`Gate::wait`]; the test calls [`Gate::wait_until_entered`]
/// to know that the engine stands there, prepares what it wants to find queued behind it, and calls
/// [`Gate::open`]. Nothing sleeps, and whoever waits longer than [`PATIENCE`] panics.
#[derive(Clone, Default)]
pub struct Gate {
    shared: Arc<Shared>,
}

/// What the handles of one gate share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Who came, and whether they may go on.
#[derive(Default)]
struct State {
    entered: usize,
    open: bool,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Blocks until the gate is open; returns at once when it is open already.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    #[track_caller]
    pub fn wait(&self) {
        lock(&self.shared.state).entered += 1;
        self.shared.changed.notify_all();
        self.until("nobody opened the gate", |state| state.open);
    }

    /// Blocks until somebody has reached the gate.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    #[track_caller]
    pub fn wait_until_entered(&self) {
        self.wait_until_entered_by(1);
    }

    /// Blocks until the gate has been reached `count` times in all.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    #[track_caller]
    pub fn wait_until_entered_by(&self, count: usize) {
        self.until("too few reached the gate", |state| state.entered >= count);
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        lock(&self.shared.state).open = true;
        self.shared.changed.notify_all();
    }

    /// Blocks until `reached` holds.
    #[track_caller]
    fn until(&self, complaint: &str, reached: impl Fn(&State) -> bool) {
        let state = lock(&self.shared.state);
        let waited = self.shared.changed.wait_timeout_while(state, PATIENCE, |state| !reached(state));
        let timed_out = waited.is_ok_and(|(_state, result)| result.timed_out());
        assert!(!timed_out, "{complaint} within {PATIENCE:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_waiter_goes_on_only_when_the_gate_opens() {
        let gate = Gate::new();
        let passed = Arc::new(AtomicBool::new(false));
        let waiter = thread::spawn({
            let (gate, passed) = (gate.clone(), passed.clone());
            move || {
                gate.wait();
                passed.store(true, Ordering::SeqCst);
            }
        });
        gate.wait_until_entered();
        assert!(!passed.load(Ordering::SeqCst));
        gate.open();
        waiter.join().unwrap();
        assert!(passed.load(Ordering::SeqCst));
        gate.wait();
    }
}
