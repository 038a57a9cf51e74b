//! An actor-based storage engine for servers that keep their data in SQLite: one writer, group commit, honest
//! acknowledgements.
//!
//! A program opens a [`Store`] on a database file, clones the handle into its tasks and threads, and sends
//! it commands. One thread, the writer, owns the only connection that can change rows. It takes the
//! commands that are waiting, carries them out in one transaction, syncs once, and only then answers each
//! caller. Other threads, the readers, hold read-only connections, so a read does not wait for a commit.
//!
//! The tables, the SQL and the file are the program's own.
//!
//! ```
//! use walwright::{Migration, Store};
//!
//! const MIGRATIONS: &[Migration] =
//!     &[Migration::sql("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")];
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("notes.db");
//! let store = Store::builder(path).migrations(MIGRATIONS).open().await?;
//!
//! // Acknowledged when it survives a power cut.
//! let receipt = store.execute("INSERT INTO note (text) VALUES (?1)", ("hello",)).await?;
//! assert_eq!(receipt.rows_changed, 1);
//!
//! // One snapshot, which holds every write that was acknowledged before.
//! let text: String = store.read(|db| db.query_row("SELECT text FROM note", [], |row| row.get(0))).await?;
//! assert_eq!(text, "hello");
//!
//! // Finishes what was admitted and releases the files.
//! store.close().await?;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # Where to look
//!
//! | to | see |
//! |---|---|
//! | open a file | [`Store::builder`], [`StoreBuilder`], [`Migration`]; in tests [`Store::temporary`] |
//! | adopt a file without a version | [`StoreBuilder::recognise`], [`SchemaLook`], [`OpenReport`] |
//! | change old rows behind the running store | [`Fixup`], [`Store::fixups`] |
//! | change and read rows of a table | [`Store::table`], [`Table`], [`Row`] |
//! | keep read markers and counters | [`Update::set_greatest`], [`Update::add`], [`Update::or_insert`] |
//! | list rows page by page, filtered | [`Table::page`], [`Table::stream`], [`Cursor`], [`Filter`] |
//! | know the newest row of each group, or which of many keys exist | [`Table::latest_per`], [`Table::exists_many`] |
//! | find rows by text | [`Table::search_index`], [`SearchIndex`] |
//! | run one statement that writes | [`Store::execute`], [`Store::execute_returning`] |
//! | do several things, all or none | [`Store::write`] with a closure on a [`Tx`], [`Store::batch`] |
//! | read | [`Store::read`] with a closure on a [`Db`], [`Store::query`] |
//! | choose when to be answered | [`Write::ack`], [`AckLevel`], [`Store::flush`] |
//! | send now and be answered later | [`Write::submit`], [`Write::try_submit`], [`Pending`] |
//! | give up in time | [`Write::deadline`], [`Read::deadline`], [`Store::close_within`] |
//! | know what an error left on disk | [`WriteError::outcome`], [`Outcome`] |
//! | have rows go away by themselves | [`StoreBuilder::retention`], [`Retention`], [`TableBuilder::hide_expired`] |
//! | give freed space back | [`StoreBuilder::reclaim_space`] |
//! | have a page and what follows it, without a gap | [`PageRequest::live`], [`LiveView`] |
//! | hear of what was committed | [`Store::changes`], [`ChangeStream`], [`Change`]; for one table [`Table::changes`] |
//! | know how it is going | [`Store::stats`], [`Store::settings`] |
//!
//! # What an acknowledgement says
//!
//! At [`AckLevel::Durable`], the default, a write is acknowledged when it survives power loss, if the device
//! honours a flush. At [`AckLevel::Committed`] it is acknowledged when readers see it and a crash of the
//! process cannot take it back; a power cut can. A delete is acknowledged only when it is durable,
//! whatever was asked for. A read that starts after an acknowledgement sees the write.
//!
//! Commands are carried out in the order in which they were admitted. A command that fails leaves nothing
//! behind and does not touch the others of its group. Every admitted command is answered once, and every
//! [`WriteError`] knows its [`Outcome`].
//!
//! # Awaiting and waiting
//!
//! Calls return requests ([`Open`], [`Write`], [`Read`], [`Close`]). Await them under any async runtime, or call
//! `wait()` on a thread that may block: nothing happens before, but for a close, which starts at once. On a thread that
//! drives tasks of tokio `wait()` is an error, and so is any call from inside a closure of a store: those threads are
//! needed to answer it.
//!
//! # Limits of the platform
//!
//! Linux is tested. WAL mode needs a local filesystem, not NFS or SMB. A program can link SQLite once: use the
//! [`rusqlite`] that this crate re-exports, or the same major version of it, and do not add sqlx with its `sqlite`
//! feature. The README says more about files, backups and limits.
#![warn(missing_docs, rust_2018_idioms, unused_qualifications)]
// Tests may panic: that is how they fail.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]
#![warn(clippy::todo, clippy::unimplemented)]
#![warn(clippy::undocumented_unsafe_blocks, clippy::unnecessary_safety_comment)]
#![warn(clippy::dbg_macro)]
#![warn(rustdoc::broken_intra_doc_links, rustdoc::private_intra_doc_links, rustdoc::redundant_explicit_links)]

pub use rusqlite;

mod board;
mod changes;
mod coalescing;
mod contained;
mod error;
mod fixup;
mod handle;
mod keeper;
mod migration;
mod protocol;
mod retention;
mod row;
mod search;
mod settings;
mod sqlite;
mod sync;
mod table;
mod tick;

pub use changes::{Change, ChangeKey, Operation, RowChange};
pub use error::{
    ChangesError, CloseError, ClosureError, Conflict, HookFailure, LiveError, MigrationFailure, OpenError,
    Outcome, ReadError, RecogniseFailure, RetentionFailure, SearchIndexError, SqliteError, StoreFailure,
    TableError, WriteError,
};
pub use fixup::{Fixup, FixupProgress, FixupState, FixupStatus, FixupStep, FixupsDone, FixupsError};
pub use handle::{
    Applied, Batch, ChangeStream, Close, CloseFuture, ColumnIndex, IntoParams, InvalidValue, Open,
    OpenFuture, Params, Pending, Read, ReadFuture, Receipt, ResultRow, ResultRows, Stats, Store,
    StoreBuilder, StoreState, Submit, Write, WriteFuture,
};
pub use keeper::ChoreStats;
pub use migration::Migration;
pub use protocol::level::AckLevel;
pub use retention::{Retention, RetentionOf, TimeUnit};
pub use row::{BulkReceipt, IntoKey, IntoValue, RevisionKind, RowReceipt, Unstorable, Value};
pub use search::{
    SearchCheck, SearchIndex, SearchIndexBuilder, SearchIndexFuture, SearchIndexRequest, SearchProgress,
    SearchReady, SearchText,
};
pub use settings::{OpenReport, OpenStep, Settings};
pub use sqlite::files::schema_look::SchemaLook;
pub use sqlite::memory_statistics::{SqliteInUse, disable_sqlite_memory_statistics};
pub use sqlite::session::{Db, NotAllowed, Rows, Statement, StopReason, Stopped, TransactionEnded, Tx};
#[doc(hidden)]
pub use table::Requested;
pub use table::{
    BulkUpdate, BulkWrite, Cursor, DecodeError, Delete, Filter, IntoFilterParams, LiveView, Modified,
    OpenTable, OpenTableFuture, Page, PageRequest, Row, RowRequest, RowStream, Table, TableBuilder, Update,
    like_contains, like_prefix,
};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
