//! What can go wrong, one enum per operation, and what is on disk after each.

mod close;
mod closure;
mod failure;
mod open;
mod read;
mod sqlite;
mod write;

pub use crate::handle::InvalidValue;
pub use close::CloseError;
pub use closure::ClosureError;
pub use failure::StoreFailure;
pub use open::{HookFailure, MigrationFailure, OpenError};
pub use read::ReadError;
pub use sqlite::SqliteError;
pub use write::WriteError;

/// What a failed write left on disk.
///
/// Every write error answers it, so that a caller never has to guess whether to send the command again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The command never started: nothing of it is on disk, and nothing will be.
    NotStarted,
    /// The command was started and failed by itself; everything it did was undone before its group
    /// was committed.
    NotApplied,
    /// Bulk work that is done in pieces stopped after some of them were committed.
    Partial {
        /// Rows changed by the pieces that were committed. They are on disk.
        rows: u64,
    },
    /// The commit that carried the command failed in a way that leaves it open whether a restart
    /// finds it. Reopening the store settles it: look whether the write is there.
    Unknown,
}
