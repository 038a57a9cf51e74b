//! What can go wrong, one enum per operation, and what is on disk after each.

mod changes;
mod close;
mod closure;
mod failure;
mod live;
mod open;
mod read;
mod retention;
mod search;
mod sqlite;
mod table;
mod write;

pub use crate::handle::InvalidValue;
pub use changes::ChangesError;
pub use close::CloseError;
pub use closure::ClosureError;
pub use failure::StoreFailure;
pub use live::LiveError;
pub use open::{HookFailure, MigrationFailure, OpenError, RecogniseFailure};
pub use read::ReadError;
pub use retention::RetentionFailure;
pub use search::SearchIndexError;
pub use sqlite::SqliteError;
pub use table::TableError;
pub use write::{Conflict, WriteError};

/// What a failed write left on disk. Every [`WriteError`] knows it: [`WriteError::outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The command never started: nothing of it is on disk, and nothing will be.
    NotStarted,
    /// The command was started and failed by itself; everything it did was undone before its group
    /// was committed. Nothing of it is on disk.
    NotApplied,
    /// Bulk work that is done in pieces stopped after some of them were committed.
    Partial {
        /// Rows changed by the pieces that were committed. They are on disk.
        rows: u64,
    },
    /// Nobody can tell yet.
    ///
    /// Mostly ([`WriteError::Unknown`]) the engine stopped while the command was in progress: a COMMIT that
    /// fails with an I/O error can still be found on the disk after a restart. Opening the store again settles
    /// it: then look whether the write is there. Of work on many rows some pieces may be there and others not.
    ///
    /// With [`WriteError::Reentrant`] and [`WriteError::WouldBlockRuntime`] it means that the command is carried
    /// out and only its answer was lost, because it was waited for where that is not possible. With
    /// [`WriteError::Forked`] it was sent before the process was forked, and the answer is the parent's.
    Unknown,
}
