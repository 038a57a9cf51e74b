//! Why a store has stopped for good.

use std::fmt;
use std::path::PathBuf;

use super::SqliteError;

/// Why the engine acknowledges nothing more until the store is opened again.
///
/// Commands in progress are answered [`WriteError::Unknown`](crate::WriteError::Unknown), those that had not
/// started [`WriteError::Stopped`](crate::WriteError::Stopped), and so are all later ones. Reads go on; they see
/// what was committed before. Close the store and open it again: opening settles what is on disk.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreFailure {
    /// A COMMIT failed with an I/O error. The kernel may have dropped the pages, so that trying again
    /// could succeed and prove nothing.
    Commit {
        /// The database file.
        path: PathBuf,
        /// What SQLite reported.
        source: SqliteError,
    },
    /// A sync of the write-ahead log failed, or a checkpoint did, which syncs it. What was committed since the
    /// last sync may be lost in a power cut; nothing of it was acknowledged as durable.
    Sync {
        /// The database file.
        path: PathBuf,
        /// What SQLite reported.
        source: SqliteError,
    },
    /// The write-ahead log could not be copied into the database file. The sync that belongs to it covers
    /// frames that later acknowledgements would count on.
    Checkpoint {
        /// The database file.
        path: PathBuf,
        /// What SQLite reported.
        source: SqliteError,
    },
    /// A transaction could not be rolled back.
    Rollback {
        /// The database file.
        path: PathBuf,
        /// What SQLite reported.
        source: SqliteError,
    },
    /// The database file or one of its sidecars was deleted or replaced under the running store. A write looks
    /// for that, if the last look is a second or more ago. Writes between the two may have gone to a file without
    /// a name, although they were acknowledged.
    FileMoved {
        /// The database file.
        path: PathBuf,
    },
    /// The writer's thread panicked outside of any command. This is a fault of the engine.
    WriterPanicked {
        /// The panic's message.
        message: String,
    },
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit { path, source } => {
                write!(
                    f,
                    "a commit to {} failed: {source}; check the disk, then open the store again",
                    path.display()
                )
            }
            Self::Sync { path, source } => write!(
                f,
                "the write-ahead log of {} could not be synced: {source}; check the disk, then open the store again",
                path.display()
            ),
            Self::Checkpoint { path, source } => write!(
                f,
                "the write-ahead log of {} could not be copied into the file: {source}; check the disk, then open \
                 the store again",
                path.display()
            ),
            Self::Rollback { path, source } => write!(
                f,
                "a transaction on {} could not be rolled back: {source}; close the store and open it again",
                path.display()
            ),
            Self::FileMoved { path } => write!(
                f,
                "{} or its -wal or -shm file was deleted or replaced while the store was open; \
                 close the store and open the file that is meant",
                path.display()
            ),
            Self::WriterPanicked { message } => {
                write!(
                    f,
                    "the writer thread panicked ({message}); close the store, open it again, and report this"
                )
            }
        }
    }
}

impl std::error::Error for StoreFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Commit { source, .. }
            | Self::Sync { source, .. }
            | Self::Checkpoint { source, .. }
            | Self::Rollback { source, .. } => Some(source),
            Self::FileMoved { .. } | Self::WriterPanicked { .. } => None,
        }
    }
}
