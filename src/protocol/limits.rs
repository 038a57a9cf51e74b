//! The bounds of the queue and of a group.

use std::time::Duration;

/// How much may be admitted and not yet taken by the writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) commands: usize,
    pub(crate) bytes: usize,
}

/// How much one transaction may carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupLimits {
    pub(crate) commands: usize,
    /// A command larger than this gets a group of its own.
    pub(crate) bytes: usize,
    /// Once a group has run for this long it takes no further command.
    pub(crate) time: Duration,
}
