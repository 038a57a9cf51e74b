//! Everything that happened to the files and matters for what is on the disk.

use std::path::PathBuf;
use std::sync::Arc;

/// A file, whatever its name is by now: a file that is deleted and made anew is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(super) u64);

#[cfg(test)]
impl FileId {
    /// A file of a trace that a test writes down by hand.
    pub(crate) const fn for_tests(number: u64) -> Self {
        Self(number)
    }
}

/// One step of a recording.
///
/// [`Disk::apply`](super::Disk::apply) says what each of them does to the disk.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file was there before the recording saw it; its content and its name count as durable.
    Found {
        /// The file.
        file: FileId,
        /// Its name.
        path: PathBuf,
        /// What was in it.
        content: Arc<[u8]>,
    },
    /// An empty file was made.
    Create {
        /// The file.
        file: FileId,
        /// Its name.
        path: PathBuf,
        /// The name survives a power cut from now on (see [`DatabaseCreation`]).
        durable: bool,
    },
    /// Bytes were written.
    Write {
        /// The file.
        file: FileId,
        /// Where the first byte went.
        offset: u64,
        /// The bytes.
        data: Arc<[u8]>,
    },
    /// The file was cut, or extended with zeros.
    Truncate {
        /// The file.
        file: FileId,
        /// Its length since then.
        size: u64,
    },
    /// A sync of the file returned.
    Sync {
        /// The file.
        file: FileId,
        /// The number of events that were recorded before the sync began: it covers those only.
        covers: usize,
        /// What it did.
        effect: SyncEffect,
    },
    /// A name was removed.
    Delete {
        /// The name.
        path: PathBuf,
        /// The directory was synced after that.
        durable: bool,
    },
    /// A directory was synced: names in it that were made or removed before are durable.
    SyncDirectory {
        /// The directory.
        path: PathBuf,
        /// As for a file.
        covers: usize,
    },
    /// Something that the test wants to find again, such as "number n was acknowledged".
    Mark(u64),
}

/// What a sync did to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEffect {
    /// What it covers is durable.
    Durable,
    /// Nothing, although it reported success.
    Nothing,
    /// It reported an error, and what it covers can no longer become durable.
    DroppedPages,
}

/// When the name of a database file that SQLite makes survives a power cut.
///
/// SQLite itself syncs the directory for a new journal or WAL, and never for a database file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DatabaseCreation {
    /// When the directory is synced: by SQLite's first sync of a journal or WAL beside it, or as
    /// told by [`FaultVfs::directory_synced`](super::FaultVfs::directory_synced).
    #[default]
    WithDirectory,
    /// At once: somebody whom the VFS does not see syncs the directory in time.
    AtOnce,
}
