//! The process that opened a store. A fork of it has the memory, but not the threads.

/// A process, to be told from its forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    /// Whether the present process is a fork of this one. Asked before any lock is touched: a lock may have
    /// been held by a thread that the fork does not have.
    pub(crate) fn is_forked(self) -> bool {
        self != Self::current()
    }
}
