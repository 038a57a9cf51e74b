//! Walwright: an actor-based storage engine for servers that keep their data in SQLite.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub use rusqlite;

mod error;
#[allow(dead_code)]
mod handle;
#[allow(dead_code, unused_imports)]
mod sqlite;

pub use error::{ClosureError, Outcome, SqliteError};
