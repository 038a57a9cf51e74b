//! How often something is tried that pays off at some times and not at others.

/// So many times at most it is left out.
const MOST_SKIPPED: u32 = 64;

/// Says when to try again: each time while it pays off, and ever more rarely while it does not.
#[derive(Default)]
pub(crate) struct Backoff {
    /// So many times it is left out now, and so many after the next try in vain.
    skip: u32,
    skip_next: u32,
}

impl Backoff {
    /// Whether to try this time.
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        is_due
    }

    /// A try has paid off or not.
    pub(crate) fn tried(&mut self, has_paid: bool) {
        self.skip_next = if has_paid { 0 } else { (self.skip_next * 2).clamp(1, MOST_SKIPPED) };
        self.skip = self.skip_next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_pay_off_is_tried_more_and_more_rarely() {
        let mut backoff = Backoff::default();
        let mut tries = Vec::new();
        for time in 0..1000 {
            if backoff.is_due() {
                tries.push(time);
                backoff.tried(false);
            }
        }
        assert_eq!(tries[..5], [0, 2, 5, 10, 19]);
        assert!(tries.windows(2).all(|pair| pair[1] - pair[0] <= 1 + MOST_SKIPPED as usize));
    }

    #[test]
    fn what_has_paid_off_is_tried_each_time() {
        let mut backoff = Backoff { skip: 0, skip_next: 8 };
        for _ in 0..3 {
            assert!(backoff.is_due());
            backoff.tried(true);
        }
        backoff.tried(false);
        assert!(!backoff.is_due() && backoff.is_due(), "the first time in vain costs one");
    }
}
