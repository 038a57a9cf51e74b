//! What the engine's threads tell about themselves: counters, gauges, state.

use std::time::{Duration, Instant};

use crate::error::StoreFailure;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};
use crate::tick::Tick;

/// Counters and gauges that any thread may read at any time.
#[derive(Default)]
pub(crate) struct Board {
    pub(crate) groups: Counter,
    pub(crate) commands: Counter,
    pub(crate) statements: Counter,
    pub(crate) coalesced: Counter,
    pub(crate) failed_commands: Counter,
    pub(crate) panics: Counter,
    pub(crate) reads: Counter,
    pub(crate) checkpoints: Counter,
    pub(crate) syncs: Counter,
    pub(crate) foreign_writes: Counter,
    pub(crate) wal_bytes: Counter,
    pub(crate) wal_pending_frames: Counter,
    pub(crate) stalls: Counter,
    pub(crate) last_sequence: Counter,
    /// How long a piece of bulk work may take now, in nanoseconds.
    pub(crate) piece_nanos: Counter,
    /// When the command that the writer carries out now was started.
    pub(crate) write_started: Moment,
    state: Mutex<BoardState>,
}

#[derive(Default)]
struct BoardState {
    degraded: bool,
    closed: bool,
    failure: Option<Arc<StoreFailure>>,
}

/// A number that one thread writes and all may read. Relaxed: nothing is ordered by it.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A moment that may be unset, as a [`Tick`]; 0 for none.
#[derive(Default)]
pub(crate) struct Moment(AtomicU64);

impl Moment {
    pub(crate) fn set(&self, at: Instant) {
        self.set_tick(Tick::of(at));
    }

    pub(crate) fn set_tick(&self, at: Tick) {
        self.0.store(at.0.max(1), Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// How long ago the moment was, if it is set.
    pub(crate) fn age(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            at => Some(Tick(at).until(Tick::now())),
        }
    }
}

impl Board {
    pub(crate) fn set_degraded(&self) {
        self.state.lock().degraded = true;
    }

    pub(crate) fn set_closed(&self) {
        self.state.lock().closed = true;
    }

    pub(crate) fn set_failure(&self, failure: Arc<StoreFailure>) {
        self.state.lock().failure.get_or_insert(failure);
    }

    pub(crate) fn failure(&self) -> Option<Arc<StoreFailure>> {
        self.state.lock().failure.clone()
    }

    /// Whether it is closed, whether it is degraded, and why it failed.
    pub(crate) fn state(&self) -> (bool, bool, Option<Arc<StoreFailure>>) {
        let state = self.state.lock();
        (state.closed, state.degraded, state.failure.clone())
    }
}
