//! Walwright: an actor-based storage engine for servers that keep their data in SQLite.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub use rusqlite;

mod error;

pub use error::{ClosureError, Outcome, SqliteError};
