//! The time of day. Nothing else in the crate asks for it.
//!
//! A column says when a row expires, or how old it is, by the wall clock, so only that can tell whether the moment has
//! come. It may step, forward and back, and stand before 1970. What follows is no worse than the clock: rows go when
//! it says that their time has passed, never before, and order, revisions and deadlines do not depend on it.

use std::time::{SystemTime, UNIX_EPOCH};

use super::policy::TimeUnit;
use crate::sync::Arc;

/// The wall clock, or what the program gave in its place.
#[derive(Clone)]
pub(crate) struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    pub(crate) fn system() -> Self {
        Self::new(SystemTime::now)
    }

    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Nanoseconds since 1970; before that they are negative.
    pub(super) fn nanoseconds(&self) -> i128 {
        let now = (self.0)();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos().cast_signed(),
            Err(before) => -before.duration().as_nanos().cast_signed(),
        }
    }

    /// The last whole unit that has begun.
    pub(crate) fn now_in(&self, unit: TimeUnit) -> i64 {
        unit.floor(self.nanoseconds())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_before_1970_is_negative_and_rounded_down() {
        let clock = WallClock::new(|| UNIX_EPOCH - Duration::from_millis(1500));
        assert_eq!(clock.now_in(TimeUnit::Seconds), -2);
        assert_eq!(clock.now_in(TimeUnit::Milliseconds), -1500);
        let clock = WallClock::new(|| UNIX_EPOCH + Duration::from_millis(1500));
        assert_eq!(clock.now_in(TimeUnit::Seconds), 1);
    }
}
