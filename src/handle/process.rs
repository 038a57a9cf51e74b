//! Which process a call belongs to. A forked child has the memory of its parent, but not the threads.

use forkguard::atfork::Guard;

/// The process that opened a store, or sent a call.
#[derive(Clone, Debug)]
pub(crate) enum Process {
    /// It counts its forks. That takes no system call, and every call of a store asks.
    Counting(Guard),
    /// The system had no memory for the handler that counts.
    Numbered(u32),
}

impl Process {
    /// The present one.
    pub(crate) fn current() -> Self {
        Guard::try_new().map_or_else(|_| Self::Numbered(std::process::id()), Self::Counting)
    }

    /// Whether the present process is a fork of that one. Asked before any lock is touched: a lock may have
    /// been held by a thread that the child does not have.
    #[inline]
    pub(crate) fn was_forked(&self) -> bool {
        match self {
            Self::Counting(guard) => guard.clone().detected_fork(),
            Self::Numbered(id) => *id != std::process::id(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Process;

    #[test]
    fn no_fork_is_seen_where_there_was_none() {
        let numbered = |id| Process::Numbered(id);
        assert!(!Process::current().was_forked());
        assert!(!numbered(std::process::id()).was_forked());
        assert!(numbered(std::process::id() + 1).was_forked());
    }
}
