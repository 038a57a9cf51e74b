//! How much of the writer's time the chores get.
//!
//! What they cost others is a slice's time, and what its pages add to a COMMIT, on top of the group that it shares. So
//! that this is hardly felt, a slice is short against a COMMIT, and the next one waits for several times as long as
//! the last took: most groups have no slice in them. What they must not do is stand still: whatever others do, some
//! slice goes through from time to time.

use std::time::{Duration, Instant};

/// A slice takes as long as a piece of bulk work may, which goes by the time of a COMMIT; within these bounds.
const SHORTEST_SLICE: Duration = Duration::from_micros(100);
const LONGEST_SLICE: Duration = Duration::from_millis(2);
/// While others write, chores rest for so many times as long as their last slice took from sending to answer: they
/// get a quarter of the time at most.
const RESTS_BESIDE_OTHERS: u32 = 3;
/// Nobody else has written for as long: then slices are long, and rests are short. Who writes some times a second is
/// hardly ever met by a slice; with a whole second here, beside seven messages a second a search index of 100,000 rows
/// took three times as long to build.
const QUIET: Duration = Duration::from_millis(50);
/// So many commands in the queue fill a group: slices can wait until these are through.
const LONG_QUEUE: usize = 256;
/// How often the queue is looked at while it is long.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Slices are put off for so long at most.
const PATIENCE: Duration = Duration::from_millis(250);
/// The rest after a first failure; each further one doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// A chore that has had more to do for as long without a pause may never catch up.
const BEHIND: Duration = Duration::from_secs(600);

/// Decides when the next slice may be sent and how long it may take. Plain data; it is told the time.
#[derive(Debug)]
pub(super) struct KeeperPolicy {
    /// Somebody else has written by then.
    others_wrote: Instant,
    /// Since when the next slice has been put off.
    put_off_since: Option<Instant>,
}

impl KeeperPolicy {
    /// At first it takes the store for a busy one.
    pub(super) fn new(now: Instant) -> Self {
        Self { others_wrote: now, put_off_since: None }
    }

    /// How long the next slice has to wait, with `queued` commands in the queue.
    pub(super) fn put_off(&mut self, queued: usize, now: Instant) -> Option<Duration> {
        let since = *self.put_off_since.get_or_insert(now);
        if queued >= LONG_QUEUE && now.saturating_duration_since(since) < PATIENCE {
            return Some(LOOK_AGAIN);
        }
        self.put_off_since = None;
        None
    }

    /// How long a slice may take, when a piece of bulk work may take `piece`.
    pub(super) fn slice_time(&self, piece: Duration, now: Instant) -> Duration {
        if self.is_quiet(now) { LONGEST_SLICE } else { piece.clamp(SHORTEST_SLICE, LONGEST_SLICE) }
    }

    /// How long to rest after a slice that took `took` from sending to answer. `others`: whether commands of others
    /// were carried out since the slice before.
    pub(super) fn rest(&mut self, took: Duration, others: bool, now: Instant) -> Duration {
        if others {
            self.others_wrote = now;
        }
        if self.is_quiet(now) { took / 2 } else { took * RESTS_BESIDE_OTHERS }
    }

    fn is_quiet(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.others_wrote) >= QUIET
    }
}

/// How long a chore rests after so many failures in a row.
pub(super) fn retry_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    FIRST_RETRY.saturating_mul(1 << doublings).min(LONGEST_RETRY)
}

/// Whether a chore that has been at work for `working` is to be reported, after it was last reported `reported` ago.
pub(super) fn is_behind(working: Duration, reported: Option<Duration>) -> bool {
    working >= BEHIND && reported.is_none_or(|reported| reported >= BEHIND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn beside_others_chores_get_a_quarter_of_the_time() {
        let now = Instant::now();
        let mut policy = KeeperPolicy::new(now);
        assert_eq!(policy.rest(4 * MS, true, now), 12 * MS);
        assert_eq!(policy.slice_time(MS, now), MS);
        assert_eq!(policy.slice_time(Duration::ZERO, now), SHORTEST_SLICE);
        assert_eq!(policy.slice_time(100 * MS, now), LONGEST_SLICE);
    }

    #[test]
    fn a_writer_now_and_then_is_somebody_to_be_spared() {
        let now = Instant::now();
        let mut policy = KeeperPolicy::new(now);
        policy.rest(MS, true, now);
        assert_eq!(policy.rest(MS, false, now + QUIET / 2), 3 * MS);
        assert_eq!(policy.rest(MS, false, now + QUIET), MS / 2);
        assert_eq!(policy.slice_time(MS, now + QUIET), LONGEST_SLICE);
        assert_eq!(policy.rest(MS, true, now + QUIET), 3 * MS);
    }

    #[test]
    fn a_long_queue_puts_slices_off_but_not_for_ever() {
        let now = Instant::now();
        let mut policy = KeeperPolicy::new(now);
        assert_eq!(policy.put_off(LONG_QUEUE - 1, now), None);
        assert_eq!(policy.put_off(LONG_QUEUE, now), Some(LOOK_AGAIN));
        assert_eq!(policy.put_off(10 * LONG_QUEUE, now + PATIENCE - MS), Some(LOOK_AGAIN));
        assert_eq!(policy.put_off(10 * LONG_QUEUE, now + PATIENCE), None);
        // The next one has patience again.
        assert_eq!(policy.put_off(LONG_QUEUE, now + PATIENCE), Some(LOOK_AGAIN));
    }

    #[test]
    fn the_rest_after_failures_grows_and_is_bounded() {
        assert_eq!(retry_after(1), FIRST_RETRY);
        assert_eq!(retry_after(3), 4 * FIRST_RETRY);
        assert_eq!(retry_after(u32::MAX), LONGEST_RETRY);
    }

    #[test]
    fn who_does_not_catch_up_is_reported_again_and_again() {
        assert!(!is_behind(BEHIND - MS, None));
        assert!(is_behind(BEHIND, None));
        assert!(!is_behind(BEHIND + MS, Some(MS)));
        assert!(is_behind(2 * BEHIND, Some(BEHIND)));
    }
}
