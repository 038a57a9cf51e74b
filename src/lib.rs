//! Walwright: an actor-based storage engine for servers that keep their data in SQLite.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub use rusqlite;

mod error;
#[allow(dead_code)]
mod handle;
#[allow(dead_code, unused_imports)]
mod sqlite;

pub use error::{ClosureError, Outcome, SqliteError};
pub use handle::params::{IntoParams, InvalidValue, Params};
pub use handle::rows::{ColumnIndex, ResultRow, ResultRows};
pub use sqlite::session::{Db, NotAllowed, Rows, Statement, StopReason, Stopped, TransactionEnded, Tx};
