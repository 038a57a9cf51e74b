//! Whether the writer waits a moment for those whom it has just answered.
//!
//! While a group is synced, the next one gathers by itself. But callers who send again as soon as they have their
//! answer then fall into two halves that take turns: each half comes back a moment after the writer has gone to sync
//! the other one. Everybody waits for two syncs, and each sync carries half of what it could. A moment is little
//! beside a slow sync: so the writer waits for as many as it has answered, if that is likely to be worth it.

use std::time::Duration;

use super::backoff::Backoff;

/// Syncs that are faster than this are not worth a wait: to be woken takes a good part of it.
const SLOW: Duration = Duration::from_millis(1);
/// The greatest part of a sync that is waited: 8 for an eighth.
const PART: u32 = 8;
/// No wait is longer.
const LONGEST: Duration = Duration::from_millis(1);

/// What the writer learns from one group to the next.
#[derive(Default)]
pub(crate) struct GatherPolicy {
    answered: usize,
    since: u64,
    /// `None`: no wait is worth it.
    limit: Option<Duration>,
    /// Callers who do not send again at once are not waited for each time.
    backoff: Backoff,
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
        // In a model no time passes, and each wait is a moment in which anything may happen.
        let is_slow = commit >= SLOW || cfg!(walwright_model);
        self.limit = is_slow.then(|| (commit / PART).min(LONGEST));
    }

    /// The wait before the next group is taken, if any.
    pub(crate) fn next(&mut self) -> Option<Gathering> {
        let callers = std::mem::take(&mut self.answered);
        let limit = self.limit.filter(|_| callers > 0)?;
        self.backoff.is_due().then_some(Gathering { callers, since: self.since, limit })
    }

    /// So many came in a wait. It was worth it for half of them.
    pub(crate) fn gathered(&mut self, wait: Gathering, came: usize) {
        self.backoff.tried(came * 2 >= wait.callers);
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
        assert_eq!(policy.next().is_some(), cfg!(walwright_model));
        policy.answered(4, SYNC, 7);
        assert_eq!(policy.next(), Some(wait_of(4)));
        assert_eq!(policy.next(), None, "once for each group");
        policy.answered(4, Duration::from_secs(60), 9);
        assert_eq!(policy.next(), Some(Gathering { callers: 4, since: 9, limit: LONGEST }));
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_each_time() {
        let mut policy = GatherPolicy::default();
        let mut waits_with = |came| {
            policy.answered(4, SYNC, 7);
            let wait = policy.next();
            wait.inspect(|wait| policy.gathered(*wait, came)).is_some()
        };
        assert_eq!([2, 2, 1, 4, 4].map(&mut waits_with), [true, true, true, false, true]);
    }
}
