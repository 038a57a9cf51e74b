//! A moment of the monotonic clock as one number.
//!
//! The writer notes for each command when it started, where others see it, and by when it must end. An `Instant` would
//! be converted for each.

use std::time::{Duration, Instant};

use crate::sync::OnceLock;

/// Nanoseconds since the process first asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(pub(crate) u64);

impl Tick {
    /// After all others: 584 years fit.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    pub(crate) fn now() -> Self {
        Self::of(Instant::now())
    }

    /// A moment before the process first asked is that moment.
    pub(crate) fn of(at: Instant) -> Self {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        Self(0).after(at.saturating_duration_since(*ORIGIN.get_or_init(Instant::now)))
    }

    /// So much later; never, if that does not fit.
    pub(crate) fn after(self, duration: Duration) -> Self {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanoseconds))
    }

    /// How long before `other` it was.
    pub(crate) fn until(self, other: Self) -> Duration {
        Duration::from_nanos(other.0.saturating_sub(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_as_far_apart_as_their_moments() {
        let first = Instant::now();
        let (one, wait) = (Tick::of(first), Duration::from_millis(1500));
        assert_eq!(one.after(wait), Tick::of(first + wait));
        assert_eq!(one.until(Tick::of(first + wait)), wait);
        assert_eq!(Tick::of(first + wait).until(one), Duration::ZERO);
        assert_eq!(one.after(Duration::MAX), Tick::NEVER);
        assert!(one <= Tick::now());
    }
}
