//! The chore that gives freed space back to the filesystem.

use std::time::{Duration, Instant};

use crate::error::WriteError;
use crate::keeper::{Chore, ChoreStep, SliceRows, slice_value};
use crate::sqlite::writer::{SpaceLeft, WriteOutput, WriteTask};

/// Between two looks at the free pages.
const LOOK: Duration = Duration::from_secs(10);
/// Free pages are given back when they are more than this part of the file, until they are less than the other. Rows
/// that come will use what is left: a file that shrinks and grows again and again would cost them more.
const BEGIN_AT_PART: u64 = 8;
const END_AT_PART: u64 = 16;
/// A file with fewer free pages is not worth the trouble.
const FEWEST_PAGES: u64 = 64;

/// Moves pages from the end of the file to free places.
pub(super) struct SpaceChore {
    pages: SliceRows,
    time: Duration,
    /// Free pages that are to go, as of the last slice.
    to_give: u32,
    /// The last slice found nothing more to do.
    rests: bool,
}

impl SpaceChore {
    pub(super) fn new() -> Self {
        Self { pages: SliceRows::new(), time: Duration::ZERO, to_give: 0, rests: false }
    }
}

impl Chore for SpaceChore {
    fn name(&self) -> &str {
        "give space back"
    }

    fn next(&mut self, time: Duration, _: Instant) -> ChoreStep {
        if std::mem::take(&mut self.rests) {
            return ChoreStep::Rest(LOOK);
        }
        self.time = time;
        ChoreStep::Slice(WriteTask::GiveBack(self.to_give.min(self.pages.rows())))
    }

    fn done(&mut self, result: Result<WriteOutput, WriteError>) {
        let Some(left) = result.ok().and_then(slice_value::<SpaceLeft>) else { return };
        let was_at_it = self.to_give > 0;
        if was_at_it {
            self.pages.fit(left.took, self.time);
        }
        self.to_give = to_give(&left, was_at_it);
        self.rests = self.to_give == 0;
    }
}

/// How many pages should go.
fn to_give(left: &SpaceLeft, is_at_it: bool) -> u32 {
    let part = if is_at_it { END_AT_PART } else { BEGIN_AT_PART };
    if left.free <= FEWEST_PAGES.max(left.pages / part) {
        return 0;
    }
    let kept = FEWEST_PAGES.max(left.pages / END_AT_PART);
    u32::try_from(left.free.saturating_sub(kept)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(pages: u64, free: u64) -> SpaceLeft {
        SpaceLeft { pages, free, took: Duration::ZERO }
    }

    #[test]
    fn it_begins_late_and_goes_on_for_longer() {
        assert_eq!(to_give(&left(16_000, 2_000), false), 0);
        assert_eq!(to_give(&left(16_000, 2_001), false), 1_001);
        assert_eq!(to_give(&left(16_000, 1_500), true), 500);
        assert_eq!(to_give(&left(16_000, 1_000), true), 0);
    }

    #[test]
    fn a_small_file_is_left_alone() {
        assert_eq!(to_give(&left(70, 64), false), 0);
        assert_eq!(to_give(&left(u64::MAX, u64::MAX), false), u32::MAX);
    }
}
