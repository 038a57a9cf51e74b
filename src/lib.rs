//! Walwright: an actor-based storage engine for servers that keep their data in SQLite.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub use rusqlite;

mod error;
#[allow(dead_code)]
mod protocol;
mod sync;

pub use error::{ClosureError, Outcome, SqliteError};
pub use protocol::level::AckLevel;
