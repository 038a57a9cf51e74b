//! What travels through a queue, and what comes back.

use super::level::AckLevel;

/// A piece of work that a caller hands to an engine thread.
pub(crate) trait Work: Sized {
    /// What a success returns.
    type Output;
    /// Why this piece of work failed, and it alone.
    type Error;
    /// Why a whole group or the engine could not go on; every caller concerned gets a copy.
    type Reason: Clone;

    /// Memory that the work holds while it is queued, in bytes.
    fn bytes(&self) -> usize;

    /// The reason given to a caller whose work an engine thread dropped without an answer.
    fn lost() -> Self::Reason;
}

/// Work for the writer.
pub(crate) trait Command: Work {
    /// When the caller wants to be answered.
    fn level(&self) -> AckLevel;

    /// Whether its answer tells of everything that was admitted before it: then it is not carried out while bulk
    /// work from before it is unfinished. What comes behind it does not wait for it.
    fn waits_for_unfinished(&self) -> bool {
        false
    }

    /// The piece that the last apply did is committed: the next apply goes on behind it.
    ///
    /// Nothing else moves a command on. An apply whose transaction was lost never was, and the next one does
    /// the same piece.
    fn keep_piece(&mut self) {}

    /// What its caller is told in the place of `answer`, which is any but [`Answer::Done`].
    ///
    /// Asked of every command that was started. One that has kept pieces is partly on disk, so that neither
    /// "undone" nor "never started" would be true of it.
    fn set_back(&self, answer: Answer<Self>) -> Answer<Self> {
        answer
    }
}

/// The one answer to a piece of work. Each kind says what is on disk.
pub(crate) enum Answer<W: Work> {
    /// Carried out, and safe to the level that was asked for.
    Done(W::Output),
    /// Started, failed by itself, undone.
    Failed(W::Error),
    /// Never started, and never will be.
    NotStarted(Refusal<W::Reason>),
    /// Started, and nobody can tell before a restart whether it is on disk.
    Unknown(W::Reason),
}

/// Why work was not started.
#[derive(Clone, Debug)]
pub(crate) enum Refusal<R> {
    /// The queue has no room, and the caller did not want to wait for some.
    Overloaded,
    /// Larger than the queue's whole bound: waiting would never end.
    TooLarge {
        /// Bytes of the work.
        bytes: usize,
        /// Bytes that the queue holds at most.
        limit: usize,
    },
    /// The caller's deadline passed first.
    Expired,
    /// The store is closing or closed.
    Closed,
    /// The engine has stopped for good.
    Stopped(R),
    /// The transaction of the work's group could not be begun.
    Begin(R),
}
