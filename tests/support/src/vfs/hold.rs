//! Syncs that wait for the test.

use super::FileKind;
use crate::{PATIENCE, lock};
use std::sync::{Condvar, Mutex};

/// Where syncs wait while a [`SyncHold`] lives.
#[derive(Default)]
pub(super) struct SyncGate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    hold: Option<Held>,
    /// How many holds there have been: tells a sync that its own is over, although another is in force.
    holds: u64,
}

impl State {
    /// The hold of that number, while it is in force.
    fn held(&mut self, number: u64) -> Option<&mut Held> {
        self.hold.as_mut().filter(|_| self.holds == number)
    }
}

/// The hold that is in force.
struct Held {
    kind: Option<FileKind>,
    /// Syncs that may go on although the gate is closed.
    passes: usize,
    /// Syncs that wait, or are about to notice that they may go on.
    waiting: usize,
}

impl Held {
    /// Syncs that wait and stay.
    fn blocked(&self) -> usize {
        self.waiting.saturating_sub(self.passes)
    }
}

impl SyncGate {
    /// Closes the gate for syncs of `kind`, or of every kind.
    #[track_caller]
    pub(super) fn close(&self, kind: Option<FileKind>) -> SyncHold<'_> {
        let mut state = lock(&self.state);
        assert!(state.hold.is_none(), "syncs are held already");
        state.holds += 1;
        state.hold = Some(Held { kind, passes: 0, waiting: 0 });
        SyncHold { gate: self }
    }

    /// Returns when a sync of `kind` may go on.
    pub(super) fn pass(&self, kind: FileKind) {
        let mut state = lock(&self.state);
        let Some(held) = state.hold.as_mut().filter(|held| held.kind.is_none_or(|only| only == kind)) else {
            return;
        };
        held.waiting += 1;
        let number = state.holds;
        self.changed.notify_all();
        let waited = self.changed.wait_timeout_while(state, 2 * PATIENCE, |state| {
            state.held(number).is_some_and(|held| held.passes == 0)
        });
        let Ok((mut state, result)) = waited else {
            return;
        };
        // SQLite calls from C, so this panic ends the process: better than a test that hangs.
        assert!(!result.timed_out(), "a sync was held for {:?}", 2 * PATIENCE);
        if let Some(held) = state.held(number) {
            held.passes -= 1;
            held.waiting -= 1;
        }
    }
}

/// Keeps syncs from happening for as long as it lives.
#[must_use = "syncs are held only as long as this value lives"]
pub struct SyncHold<'vfs> {
    gate: &'vfs SyncGate,
}

impl SyncHold<'_> {
    /// Blocks until at least `count` syncs are waiting.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    #[track_caller]
    pub fn wait_until_blocked(&self, count: usize) {
        let state = lock(&self.gate.state);
        let waited = self.gate.changed.wait_timeout_while(state, PATIENCE, |state| {
            state.hold.as_ref().is_some_and(|held| held.blocked() < count)
        });
        let timed_out = waited.is_ok_and(|(_state, result)| result.timed_out());
        assert!(!timed_out, "fewer than {count} syncs within {PATIENCE:?}");
    }

    /// How many syncs are waiting now.
    pub fn blocked(&self) -> usize {
        lock(&self.gate.state).hold.as_ref().map_or(0, |held| held.blocked())
    }

    /// Lets `count` syncs go on, waiting ones or those to come, and holds the rest.
    pub fn let_through(&self, count: usize) {
        if let Some(held) = &mut lock(&self.gate.state).hold {
            held.passes += count;
        }
        self.gate.changed.notify_all();
    }

    /// Lets everything go on. Dropping does the same.
    pub fn release(self) {}
}

impl Drop for SyncHold<'_> {
    fn drop(&mut self) {
        lock(&self.gate.state).hold = None;
        self.gate.changed.notify_all();
    }
}
