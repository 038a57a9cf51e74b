//! Which process a call belongs to. A forked child has the memory of its parent, but not the threads.

/// The process that opened a store, or sent a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// The present one.
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    /// Whether the present process is a fork of that one. Asked before any lock is touched: a lock may have
    /// been held by a thread that the child does not have.
    pub(crate) fn was_forked(self) -> bool {
        self != Self::current()
    }
}
