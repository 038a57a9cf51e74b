//! Walwright: an actor-based storage engine for servers that keep their data in SQLite.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub use rusqlite;

mod board;
mod contained;
mod error;
mod handle;
mod migration;
mod protocol;
mod settings;
mod sqlite;
mod sync;

pub use error::{
    CloseError, ClosureError, HookFailure, MigrationFailure, OpenError, Outcome, ReadError, SqliteError,
    StoreFailure, WriteError,
};
pub use handle::{
    Applied, Batch, Close, CloseFuture, IntoParams, InvalidValue, Open, OpenFuture, Params, Pending, Read,
    ReadFuture, Receipt, ResultRow, ResultRows, Stats, Store, StoreBuilder, StoreState, Submit, Write,
    WriteFuture,
};
pub use migration::Migration;
pub use protocol::level::AckLevel;
pub use settings::Settings;
pub use sqlite::session::{Db, NotAllowed, Rows, Statement, StopReason, Stopped, TransactionEnded, Tx};
