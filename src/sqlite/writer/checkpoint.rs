//! When the writer checkpoints, and how hard it tries.
//!
//! A checkpoint comes between groups and after the acknowledgements, so no commit ever waits inside one. It comes
//! early and often: a short log is cheap to copy and cheap to write again. Under load the copier has done the long part
//! of it beside the writer, which makes the last step.

use std::time::Duration;

/// An idle writer copies the log although the soft limit is not reached, once it has this part of it.
/// Copying less often would be no loss for reads, and a write that comes meanwhile waits for the copying.
const PART_WORTH_COPYING_WHEN_IDLE: u64 = 4;
/// While bulk work is under way the log may grow by so many soft limits more: a checkpoint between any few of its
/// pieces would be waited for by too many of the small commands beside it.
const PUT_OFF_FOR_BULK_WORK: u64 = 3;
/// How long the queue must be empty before the writer uses the time.
const QUIET: Duration = Duration::from_millis(100);
/// Pause between two looks while readers keep the log from being emptied.
const RETRY: Duration = Duration::from_millis(250);
/// Pause between two looks while writes are held back.
const STALL: Duration = Duration::from_millis(10);

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckpointAction {
    /// Nothing.
    None,
    /// Copy what can be copied, and let the log start over if no reader is in the way. Never waits.
    Copy,
    /// The same, and cut the file: it has grown large, and there is time.
    Truncate,
    /// The hard limit: end old reads, and wait for readers a little.
    Force,
}

/// Decides about checkpoints from the length of the log.
#[derive(Debug)]
pub(super) struct CheckpointPolicy {
    soft_frames: u64,
    hard_frames: u64,
    /// The log may grow to this before the next try: readers can make a try fruitless.
    next_try: u64,
    /// The longest that the log has been since the file was cut.
    longest: u64,
    /// The file will be shorter once the log is copied.
    shrinks: bool,
    /// Frames that the last checkpoint could not copy or that still hold the log back.
    pinned: bool,
}

impl CheckpointPolicy {
    pub(super) fn new(soft_frames: u64, hard_frames: u64) -> Self {
        Self { soft_frames, hard_frames, next_try: soft_frames, longest: 0, shrinks: false, pinned: false }
    }

    /// What to do when the log has `frames` frames. `in_pieces`: bulk work is under way.
    pub(super) fn action(&mut self, frames: u64, idle: bool, in_pieces: bool) -> CheckpointAction {
        self.longest = self.longest.max(frames);
        let put_off = if in_pieces { PUT_OFF_FOR_BULK_WORK * self.soft_frames } else { 0 };
        // Not so far that writes would have to wait for it.
        let next_try = (self.next_try + put_off).min(self.next_try.max(self.hard_frames / 2));
        if frames >= self.hard_frames {
            CheckpointAction::Force
        } else if idle && self.is_large() {
            CheckpointAction::Truncate
        } else if frames >= next_try || (idle && self.is_worth_copying(frames)) {
            CheckpointAction::Copy
        } else {
            CheckpointAction::None
        }
    }

    /// Takes the result: `frames` are in the log still, and `pinned` says that readers need some of them.
    pub(super) fn finished(&mut self, action: CheckpointAction, frames: u64, pinned: bool) {
        self.pinned = pinned;
        self.shrinks &= pinned;
        self.next_try = if pinned { frames + self.soft_frames / 2 } else { self.soft_frames };
        if action == CheckpointAction::Truncate && !pinned {
            self.longest = 0;
        }
    }

    /// Hears of pages that were given back: the log is worth copying, however short it is.
    pub(super) fn will_shrink(&mut self, shrinks: bool) {
        self.shrinks |= shrinks;
    }

    /// How long to wait for commands before the next upkeep; `None`: for ever.
    pub(super) fn patience(&self, frames: u64) -> Option<Duration> {
        let wanted = self.is_worth_copying(frames) || self.is_large();
        wanted.then_some(if self.pinned { RETRY } else { QUIET })
    }

    /// How long writes are held back now, if they are.
    pub(super) fn stall(&self, frames: u64) -> Option<Duration> {
        (frames >= self.hard_frames).then_some(STALL)
    }

    fn is_worth_copying(&self, frames: u64) -> bool {
        frames > 0 && (self.shrinks || frames >= self.soft_frames / PART_WORTH_COPYING_WHEN_IDLE)
    }

    /// Whether the file has grown so long that cutting it is worth writing a new one.
    fn is_large(&self) -> bool {
        self.longest > (self.soft_frames * 4).min(self.hard_frames)
    }
}
