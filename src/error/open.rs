//! Why a store could not be opened, and what to do about it.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ClosureError, RetentionFailure, SqliteError};

/// Why a store could not be opened. Every variant names the path.
///
/// What is on disk afterwards:
///
/// - A database that is refused for what it is or for who has it ([`AlreadyOpen`](Self::AlreadyOpen),
///   [`OrphanedWal`](Self::OrphanedWal), [`NotADatabase`](Self::NotADatabase), [`Corrupt`](Self::Corrupt),
///   [`SchemaTooNew`](Self::SchemaTooNew), [`Unrecognised`](Self::Unrecognised),
///   [`ForeignApplication`](Self::ForeignApplication)) keeps its content:
///   the main file and its WAL are what they were before, except that a rollback journal which a crash left
///   behind has been played back.
/// - An opening that fails later ([`Busy`](Self::Busy), [`Setting`](Self::Setting), [`Hook`](Self::Hook),
///   [`Migration`](Self::Migration) and others) may have recovered the database, switched it to WAL mode, and
///   applied migrations before the one that failed. No row of the program's is lost or changed by that, other
///   than by those migrations.
/// - What the opening created is removed again, unless something has been written to it.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The path cannot name a database file.
    InvalidPath {
        /// The path as it was given.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path names a directory, a device or something else that is no regular file.
    NotAFile {
        /// What was to be opened.
        path: PathBuf,
    },
    /// The database does not exist, and the store was not allowed to create it.
    NotFound {
        /// The database file that is missing.
        path: PathBuf,
    },
    /// The folder of the database does not exist.
    ParentMissing {
        /// The database file that was to be opened.
        path: PathBuf,
        /// The folder that is missing.
        parent: PathBuf,
    },
    /// Something on the way to the database is no folder.
    ParentNotADirectory {
        /// The database file that was to be opened.
        path: PathBuf,
        /// What stands where a folder is needed.
        parent: PathBuf,
    },
    /// The process may not read or write what it needs.
    PermissionDenied {
        /// The file or folder that it may not use.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The filesystem is mounted read-only.
    ReadOnlyFilesystem {
        /// The file or folder that cannot be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another store has the database open, or one is not done with closing yet: a handle that was dropped
    /// does not wait for that.
    AlreadyOpen {
        /// The database file.
        path: PathBuf,
        /// The process that holds it, if the system tells.
        holder: Option<u32>,
        /// Whether the other store is one of this process.
        this_process: bool,
    },
    /// The main file is empty or missing while a WAL with content lies beside it: committed data may be
    /// in that WAL, and SQLite would delete it. Both are left as they are.
    OrphanedWal {
        /// The database file.
        path: PathBuf,
        /// The WAL beside it.
        wal: PathBuf,
    },
    /// The file is no SQLite database (or an encrypted one).
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: SqliteError,
    },
    /// The database is damaged.
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        source: SqliteError,
    },
    /// The database was written by a newer version of the program.
    SchemaTooNew {
        /// The database file.
        path: PathBuf,
        /// Its `user_version`: the migrations that were applied to it.
        found: u32,
        /// How many migrations this program knows.
        known: u32,
    },
    /// The database has tables but no version, and the program did not recognise where its schema stands (see
    /// [`StoreBuilder::recognise`](crate::StoreBuilder::recognise)). It is left as it was found.
    Unrecognised {
        /// The database file.
        path: PathBuf,
        /// What the program said.
        failure: RecogniseFailure,
    },
    /// The database belongs to another application.
    ForeignApplication {
        /// The database file.
        path: PathBuf,
        /// Its `application_id`.
        found: i32,
        /// The `application_id` that the store was built with.
        expected: i32,
    },
    /// The SQLite that is linked into the program can corrupt a WAL.
    UnsafeSqlite {
        /// The database file that was to be opened.
        path: PathBuf,
        /// The version of the linked SQLite.
        found: String,
    },
    /// Another program kept the database locked for longer than opening may take.
    Busy {
        /// The database file.
        path: PathBuf,
        /// What the lock was needed for.
        doing: &'static str,
        /// How long opening had been running when it gave up.
        waited: Duration,
    },
    /// The database could not be switched to WAL mode.
    WalRefused {
        /// The database file.
        path: PathBuf,
        /// The journal mode that SQLite stayed in.
        mode: String,
    },
    /// A setting did not take effect.
    Setting {
        /// The database file.
        path: PathBuf,
        /// The setting.
        name: &'static str,
        /// What was asked for.
        wanted: String,
        /// What SQLite reports.
        found: String,
    },
    /// The connection hook failed.
    Hook {
        /// The database file.
        path: PathBuf,
        /// What went wrong in it.
        failure: HookFailure,
    },
    /// A migration failed. It was rolled back; the migrations before it stay applied.
    Migration {
        /// The database file.
        path: PathBuf,
        /// The position of the migration in the list, from 0.
        index: usize,
        /// What went wrong in it.
        failure: MigrationFailure,
    },
    /// A retention policy cannot be carried out. The migrations stay applied.
    Retention {
        /// The database file.
        path: PathBuf,
        /// The table of the policy.
        table: String,
        /// What is in its way.
        failure: RetentionFailure,
    },
    /// The opening would have to be waited for where that is not possible: with `wait()` on a thread that
    /// drives tasks of an async runtime, or inside a closure of a store. Use `.await`, outside of closures.
    /// Nothing was opened; what had been started before is closed again at once.
    WouldBlock {
        /// The database file.
        path: PathBuf,
    },
    /// The process was forked while it was opening the store; only the parent gets it.
    Forked {
        /// The database file.
        path: PathBuf,
    },
    /// The thread that opened the store panicked. This is a fault of the engine.
    Panicked {
        /// The database file.
        path: PathBuf,
        /// The panic's message.
        message: String,
    },
    /// The system refused a call on a file.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the store was doing.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite refused a call.
    Sqlite {
        /// The database file.
        path: PathBuf,
        /// What the store was doing.
        doing: &'static str,
        /// What SQLite said.
        source: SqliteError,
    },
}

/// What went wrong in a connection hook.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookFailure {
    /// It returned an error.
    Failed(SqliteError),
    /// It panicked.
    Panicked,
    /// It left a transaction open.
    OpenTransaction,
    /// It made temporary tables, triggers or views. What they do would be hidden from the store.
    TemporaryObjects,
}

/// Why the schema of a file without a version was not recognised.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecogniseFailure {
    /// The program's function does not know such a schema.
    Unknown,
    /// Its function returned an error, or reading the schema failed.
    Failed(ClosureError),
    /// Its function panicked.
    Panicked,
}

/// What went wrong in a migration.
#[derive(Debug)]
#[non_exhaustive]
pub enum MigrationFailure {
    /// SQLite refused one of its statements.
    Sql(SqliteError),
    /// Its function returned an error of its own.
    Failed(Box<dyn Error + Send + Sync>),
    /// Its function panicked.
    Panicked,
    /// It began, committed or rolled back a transaction, or SQLite rolled the transaction back.
    EndedTransaction,
    /// It would leave rows whose foreign key points to no row.
    ForeignKeys {
        /// The table that holds those rows.
        table: String,
        /// The table that they point to.
        parent: String,
        /// How many there are.
        rows: u64,
    },
}

impl OpenError {
    /// The path that the error is about: the database, or the file or folder that stood in the way.
    pub fn path(&self) -> &Path {
        match self {
            Self::InvalidPath { path, .. }
            | Self::NotAFile { path }
            | Self::NotFound { path }
            | Self::ParentMissing { path, .. }
            | Self::ParentNotADirectory { path, .. }
            | Self::PermissionDenied { path, .. }
            | Self::ReadOnlyFilesystem { path, .. }
            | Self::AlreadyOpen { path, .. }
            | Self::OrphanedWal { path, .. }
            | Self::NotADatabase { path, .. }
            | Self::Corrupt { path, .. }
            | Self::SchemaTooNew { path, .. }
            | Self::Unrecognised { path, .. }
            | Self::ForeignApplication { path, .. }
            | Self::UnsafeSqlite { path, .. }
            | Self::Busy { path, .. }
            | Self::WalRefused { path, .. }
            | Self::Setting { path, .. }
            | Self::Hook { path, .. }
            | Self::Migration { path, .. }
            | Self::Retention { path, .. }
            | Self::WouldBlock { path }
            | Self::Forked { path }
            | Self::Panicked { path, .. }
            | Self::Io { path, .. }
            | Self::Sqlite { path, .. } => path,
        }
    }

    /// Whether opening again may succeed without anybody changing anything: somebody else held a lock.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::AlreadyOpen { .. } | Self::Busy { .. })
    }

    /// Sorts an error of the system.
    pub(crate) fn from_io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { path, source },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnlyFilesystem { path, source },
            _ => Self::Io { path, doing, source },
        }
    }

    /// Sorts an error of SQLite.
    pub(crate) fn from_sqlite(path: &Path, doing: &'static str, source: impl Into<SqliteError>) -> Self {
        use rusqlite::ffi;
        let path = path.to_path_buf();
        let source = source.into();
        match source.code() {
            ffi::SQLITE_NOTADB => Self::NotADatabase { path, source },
            ffi::SQLITE_CORRUPT => Self::Corrupt { path, source },
            _ => Self::Sqlite { path, doing, source },
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidPath { path, reason } => {
                write!(f, "{path:?} cannot name a database: {reason}")
            }
            Self::NotAFile { path } => {
                write!(f, "{} is no regular file; give the path of a database file", path.display())
            }
            Self::NotFound { path } => write!(
                f,
                "there is no database at {}; check the path, or leave out create(false)",
                path.display()
            ),
            Self::ParentMissing { path, parent } => write!(
                f,
                "cannot open {}: the folder {} does not exist; make it, or set create_parents(true) on the builder",
                path.display(),
                parent.display()
            ),
            Self::ParentNotADirectory { path, parent } => {
                write!(f, "cannot open {}: {} is no folder", path.display(), parent.display())
            }
            Self::PermissionDenied { path, .. } => write!(
                f,
                "no permission to use {}; a store needs to read and write the database file and to create \
                 files in its folder",
                path.display()
            ),
            Self::ReadOnlyFilesystem { path, .. } => write!(
                f,
                "{} is on a read-only filesystem; a store has to write, also to read a database in WAL mode",
                path.display()
            ),
            Self::AlreadyOpen { path, this_process: true, .. } => write!(
                f,
                "{} is already open in this process; clone the handle of that store, or close it first",
                path.display()
            ),
            Self::AlreadyOpen { path, holder: Some(pid), .. } => write!(
                f,
                "{} is already open in process {pid}; one store at a time can own a database",
                path.display()
            ),
            Self::AlreadyOpen { path, holder: None, .. } => write!(
                f,
                "{} is already open in another process; one store at a time can own a database",
                path.display()
            ),
            Self::OrphanedWal { path, wal } => write!(
                f,
                "{} is empty or missing, but {} beside it is not: the WAL may hold the only copy of committed \
                 data; put the database file that belongs to it back, or move the WAL away",
                path.display(),
                wal.display()
            ),
            Self::NotADatabase { path, .. } => write!(
                f,
                "{} is not an SQLite database, or an encrypted one; nothing in it was changed",
                path.display()
            ),
            Self::Corrupt { path, source } => write!(
                f,
                "the database {} is damaged: {source}; restore a backup, or recover what is left with the \
                 sqlite3 shell's .recover into a new file",
                path.display()
            ),
            Self::SchemaTooNew { path, found, known } => write!(
                f,
                "the schema of {} has version {found}, this program knows {known}; run the newer program, or \
                 restore a backup from before it",
                path.display()
            ),
            Self::Unrecognised { path, failure } => write!(
                f,
                "{} has tables but no version, and its schema was not recognised: {failure}; check the path, or \
                 teach the program this schema",
                path.display()
            ),
            Self::ForeignApplication { path, found, expected } => write!(
                f,
                "{} belongs to another application: its application_id is {found}, expected was {expected}; \
                 check the path",
                path.display()
            ),
            Self::UnsafeSqlite { path, found } => write!(
                f,
                "{} was not opened: the linked SQLite {found} can corrupt a WAL while it is checkpointed; link \
                 3.51.3 or newer",
                path.display()
            ),
            Self::Busy { path, doing, waited } => write!(
                f,
                "another program kept {} locked for {waited:?} ({doing}); close that program, or allow more \
                 time for opening",
                path.display()
            ),
            Self::WalRefused { path, mode } => write!(
                f,
                "{} stays in journal mode {mode:?} instead of WAL; move it to a filesystem that supports \
                 shared memory, or allow the degraded mode",
                path.display()
            ),
            Self::Setting { path, name, wanted, found } => write!(
                f,
                "the setting {name} of {} is {found} and not {wanted}; look whether the connection hook or \
                 the build of SQLite prevents it",
                path.display()
            ),
            Self::Hook { path, failure } => {
                write!(f, "the connection hook failed on {}: {failure}", path.display())
            }
            Self::Retention { path, table, failure } => {
                write!(
                    f,
                    "a retention policy of the table {table} in {} cannot be kept: {failure}",
                    path.display()
                )
            }
            Self::WouldBlock { path } => write!(
                f,
                "wait() would block here while {} is opened: use .await on a runtime's thread, and open no \
                 store inside a closure of a store",
                path.display()
            ),
            Self::Forked { path } => write!(
                f,
                "{} was being opened when this process was forked; open it after forking",
                path.display()
            ),
            Self::Panicked { path, message } => write!(
                f,
                "opening {} panicked ({message}); nothing was opened; please report this",
                path.display()
            ),
            Self::Migration { path, index, failure } => write!(
                f,
                "the migration at index {index} failed on {} and was rolled back: {failure}",
                path.display()
            ),
            Self::Io { path, doing, source } => {
                write!(f, "the system refused to go on with {} ({doing}): {source}", path.display())
            }
            Self::Sqlite { path, doing, source } => {
                write!(f, "SQLite refused to go on with {} ({doing}): {source}", path.display())
            }
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::PermissionDenied { source, .. }
            | Self::ReadOnlyFilesystem { source, .. }
            | Self::Io { source, .. } => Some(source),
            Self::NotADatabase { source, .. }
            | Self::Corrupt { source, .. }
            | Self::Sqlite { source, .. }
            | Self::Retention { failure: RetentionFailure::Sqlite(source), .. }
            | Self::Hook { failure: HookFailure::Failed(source), .. }
            | Self::Migration { failure: MigrationFailure::Sql(source), .. } => Some(source),
            Self::Migration { failure: MigrationFailure::Failed(source), .. } => Some(&**source),
            Self::Unrecognised { failure: RecogniseFailure::Failed(source), .. } => Some(source.as_error()),
            _ => None,
        }
    }
}

impl fmt::Display for RecogniseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the program does not know it"),
            Self::Failed(source) => write!(f, "{source}"),
            Self::Panicked => f.write_str("the program's function for this panicked"),
        }
    }
}

impl fmt::Display for HookFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(source) => write!(f, "{source}"),
            Self::Panicked => f.write_str("it panicked"),
            Self::OpenTransaction => {
                f.write_str("it left a transaction open; let it end every transaction that it begins")
            }
            Self::TemporaryObjects => f.write_str(
                "it made temporary tables, triggers or views; make them in the database, by a migration",
            ),
        }
    }
}

impl fmt::Display for MigrationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(source) => write!(f, "{source}"),
            // The text of a foreign error may hold values of rows: it stays in `source`.
            Self::Failed(_) => f.write_str("its function returned an error (see the source)"),
            Self::Panicked => f.write_str("its function panicked"),
            Self::EndedTransaction => f.write_str(
                "it began or ended a transaction; the store runs each migration in one of its own, so \
                 leave out BEGIN, COMMIT and ROLLBACK",
            ),
            Self::ForeignKeys { table, parent, rows } => write!(
                f,
                "{rows} row(s) of table {table} would point to no row of {parent}; correct or delete them \
                 in the same migration"
            ),
        }
    }
}
