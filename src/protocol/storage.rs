//! What the writer drives: a transactional storage with one log that can be synced.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::level::AckLevel;
use super::work::{Command, Work};

/// The reason type of a storage's commands.
pub(crate) type ReasonOf<S> = <<S as Storage>::Command as Work>::Reason;
/// The error type of a storage's commands.
pub(crate) type ErrorOf<S> = <<S as Storage>::Command as Work>::Error;

/// A storage that one thread changes, one transaction after the other.
pub(crate) trait Storage {
    /// What it can carry out.
    type Command: Command;

    /// Begins a transaction whose COMMIT will be durable if `level` says so.
    fn begin(&mut self, level: AckLevel) -> Result<(), Interruption<ReasonOf<Self>>>;

    /// Carries out one command inside the transaction. `sequence` becomes its commit sequence, and `now` is the time.
    ///
    /// A command may be carried out again after the transaction that held it was lost.
    fn apply(&mut self, command: &mut Self::Command, sequence: u64, now: Instant) -> Applied<Self::Command>;

    /// Whether the command may be carried out together with its neighbours, if they join too.
    ///
    /// Asked under the queue's lock: it looks at the command and nothing else.
    fn joins(&self, command: &Self::Command) -> bool;

    /// Carries out a run of commands that all join, two at least, as if one after the other. The commit
    /// sequence of `commands[i]` becomes `first_sequence + i`.
    ///
    /// Gives what became of each, in order. After a lost transaction none of them runs in a run again.
    fn apply_together(
        &mut self,
        commands: &mut [&mut Self::Command],
        first_sequence: u64,
        now: Instant,
    ) -> Result<Vec<Joined<Self::Command>>, TransactionLost>;

    /// Commits the transaction.
    fn commit(&mut self) -> Result<Committed, CommitError<ErrorOf<Self>, ReasonOf<Self>>>;

    /// Makes everything that was committed durable. Never called inside a transaction.
    fn sync(&mut self) -> Result<(), ReasonOf<Self>>;

    /// Reserves commit sequences that were never given out before, durably.
    fn reserve(&mut self) -> Result<Range<u64>, Interruption<ReasonOf<Self>>>;

    /// Housekeeping between groups. `idle`: no command is waiting.
    fn upkeep(&mut self, idle: bool) -> Result<Readiness, ReasonOf<Self>>;

    /// Hears of every group that was carried out: what its answers promise holds, and none was given yet. What was
    /// committed may be told to others now.
    fn report(&mut self, report: &GroupReport);

    /// The reason that callers are given when the writer's thread panicked.
    fn panicked(message: &str) -> ReasonOf<Self>;
}

/// Why a step could not be done.
pub(crate) enum Interruption<R> {
    /// Nothing happened, and the next try may succeed.
    Refused(R),
    /// The storage cannot go on until it is reopened.
    Fatal(R),
}

/// What became of one command.
pub(crate) enum Applied<W: Work> {
    /// It did its work.
    Done {
        output: W::Output,
        /// It deleted something, or may have: it is answered only once durable.
        deletes: bool,
    },
    /// It did a piece of its work. The rest comes in later groups, and the answer with the last of it.
    Piece {
        /// As for `Done`: the piece is durable before its group is answered.
        deletes: bool,
    },
    /// It failed and was undone; the transaction goes on.
    Failed(W::Error),
    /// It failed and took the whole transaction with it: nothing of the group is left.
    Lost(W::Error),
}

/// What became of one command of a run.
///
/// A run that loses its transaction says nothing of its commands, and a command that works in pieces joins no run.
pub(crate) enum Joined<W: Work> {
    /// It did its work.
    Done {
        output: W::Output,
        /// It deleted something, or may have: it is answered only once durable.
        deletes: bool,
    },
    /// It failed, and nothing of it is in the transaction.
    Failed(W::Error),
}

/// The transaction of a run is gone, and it is not known by whose doing: nothing of the group is left.
#[derive(Debug)]
pub(crate) struct TransactionLost;

/// What a COMMIT did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Committed {
    /// It wrote to the log.
    pub(crate) wrote: bool,
    /// Someone else has written since the last time.
    pub(crate) foreign: bool,
}

/// Why a COMMIT failed.
pub(crate) enum CommitError<E, R> {
    /// The transaction was rolled back: nothing of it is on disk.
    NotApplied(E),
    /// Nobody can tell what is on disk. The engine must stop.
    Unknown(R),
}

/// Whether the storage can take the next group.
pub(crate) enum Readiness {
    /// It can. It wants to do more upkeep if nothing comes for as long as this.
    Ready { patience: Option<Duration> },
    /// It must not write now; look again after this time.
    Stalled(Duration),
}

/// What one group was. A command that works in pieces counts in the group in which it ends.
#[derive(Clone, Debug)]
pub(crate) struct GroupReport {
    pub(crate) commands: usize,
    pub(crate) failed: usize,
    pub(crate) bytes: usize,
    pub(crate) level: AckLevel,
    /// From BEGIN until the last command was applied.
    pub(crate) apply: Duration,
    /// COMMIT and the sync that the answers waited for.
    pub(crate) commit: Duration,
}
