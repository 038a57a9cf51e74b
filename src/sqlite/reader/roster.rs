//! Which reads are in progress, since when, and how to end them.

use std::time::{Duration, Instant};

use crate::board::Moment;
use crate::sqlite::session::{StopCheck, StopReason};
use crate::sync::Arc;

/// One seat for each reader.
pub(crate) struct ReadRoster(Vec<Arc<ReadSeat>>);

/// What one reader does now.
pub(crate) struct ReadSeat {
    pub(crate) stop: StopCheck,
    sent: Moment,
    snapshot: Moment,
}

impl ReadRoster {
    pub(crate) fn new(readers: usize) -> Self {
        let seat = || {
            Arc::new(ReadSeat {
                stop: StopCheck::new(),
                sent: Moment::default(),
                snapshot: Moment::default(),
            })
        };
        Self((0..readers).map(|_| seat()).collect())
    }

    pub(crate) fn seats(&self) -> &[Arc<ReadSeat>] {
        &self.0
    }

    /// How long ago the oldest read in progress was sent.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        self.0.iter().filter_map(|seat| seat.sent.age()).max()
    }

    /// How long the oldest snapshot has been held.
    pub(crate) fn oldest_snapshot(&self) -> Option<Duration> {
        self.0.iter().filter_map(|seat| seat.snapshot.age()).max()
    }

    /// Orders every read in progress to end.
    pub(crate) fn stop_all(&self, reason: StopReason) {
        self.stop_older_than(Duration::ZERO, reason);
    }

    /// Orders every read that has held its snapshot for at least `age` to end. Gives how many were told.
    pub(crate) fn stop_older_than(&self, age: Duration, reason: StopReason) -> usize {
        // Asked in this order: if the read ends meanwhile, the order names a call that is over.
        let stop = |seat: &&Arc<ReadSeat>| {
            let Some(running) = seat.stop.running() else { return false };
            seat.snapshot.age().is_some_and(|held| held >= age) && seat.stop.stop(running, reason)
        };
        self.0.iter().filter(stop).count()
    }
}

impl ReadSeat {
    pub(crate) fn begin(&self, sent: Instant, snapshot: Instant) {
        self.sent.set(sent);
        self.snapshot.set(snapshot);
    }

    pub(crate) fn end(&self) {
        self.sent.clear();
        self.snapshot.clear();
    }
}
