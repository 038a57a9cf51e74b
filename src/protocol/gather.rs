//! Whether the writer waits a moment for those whom it has just answered.
//!
//! While a group is synced, the next one gathers by itself. But callers who send again as soon as they have their
//! answer then fall into two halves that take turns: each half comes back a moment after the writer has gone to sync
//! the other one. Everybody waits for two syncs, and each sync carries half of what it could. A moment is little
//! beside a slow sync: so the writer waits for as many as it has answered, if that is likely to be worth it.

use std::time::Duration;

/// Syncs that are faster than this are not worth a wait: to be woken takes a good part of it.
const SLOW: Duration = Duration::from_millis(1);
/// The greatest part of a sync that is waited: 8 for an eighth.
const PART: u32 = 8;
/// No wait is longer.
const LONGEST: Duration = Duration::from_millis(1);
/// So many groups at most go without a wait, after waits for nothing.
const MOST_SKIPPED: u32 = 64;

/// What the writer learns from one group to the next.
#[derive(Default)]
pub(crate) struct GatherPolicy {
    answered: usize,
    since: u64,
    limit: Duration,
    /// Groups that go without a wait, and how many will after the next wait for nothing.
    skip: u32,
    skip_next: u32,
}

/// A wait: until so many have come since so many had, but no longer than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gathering {
    pub(crate) callers: usize,
    pub(crate) since: u64,
    pub(crate) limit: Duration,
}

impl GatherPolicy {
    /// A group is to be answered: so many commands, whose commit took so long, when so many had entered the queue.
    pub(crate) fn answered(&mut self, commands: usize, commit: Duration, entered: u64) {
        (self.answered, self.since) = (commands, entered);
        self.limit = if commit < SLOW { Duration::ZERO } else { (commit / PART).min(LONGEST) };
    }

    /// The wait before the next group is taken, if any.
    pub(crate) fn next(&mut self) -> Option<Gathering> {
        let (callers, limit) = (std::mem::take(&mut self.answered), self.limit);
        if callers == 0 || limit.is_zero() {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        Some(Gathering { callers, since: self.since, limit })
    }

    /// So many came in a wait. Callers who do not send again at once are not waited for each time.
    pub(crate) fn gathered(&mut self, wait: Gathering, came: usize) {
        if came * 2 >= wait.callers {
            self.skip_next = 0;
        } else {
            self.skip_next = (self.skip_next * 2).clamp(1, MOST_SKIPPED);
            self.skip = self.skip_next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Duration = Duration::from_millis(5);

    fn wait_of(callers: usize) -> Gathering {
        Gathering { callers, since: 7, limit: SYNC / PART }
    }

    #[test]
    fn only_behind_a_slow_sync_is_there_a_wait_and_a_short_one() {
        let mut policy = GatherPolicy::default();
        assert_eq!(policy.next(), None, "nobody was answered");
        policy.answered(4, SLOW - Duration::from_nanos(1), 7);
        assert_eq!(policy.next(), None);
        policy.answered(4, SYNC, 7);
        assert_eq!(policy.next(), Some(wait_of(4)));
        assert_eq!(policy.next(), None, "once for each group");
        policy.answered(4, Duration::from_secs(60), 9);
        assert_eq!(policy.next(), Some(Gathering { callers: 4, since: 9, limit: LONGEST }));
    }

    #[test]
    fn who_does_not_come_is_waited_for_more_and_more_rarely() {
        let mut policy = GatherPolicy::default();
        let mut waits = Vec::new();
        for group in 0..1000 {
            policy.answered(4, SYNC, 7);
            if let Some(wait) = policy.next() {
                waits.push(group);
                policy.gathered(wait, 1);
            }
        }
        assert_eq!(waits[..5], [0, 2, 5, 10, 19]);
        assert!(waits.windows(2).all(|pair| pair[1] - pair[0] <= 1 + MOST_SKIPPED as usize));
        // Half of them is enough to wait each time again.
        policy = GatherPolicy { skip: 0, skip_next: 8, ..policy };
        for _ in 0..3 {
            policy.answered(4, SYNC, 7);
            let wait = policy.next().unwrap();
            policy.gathered(wait, 2);
        }
    }
}
