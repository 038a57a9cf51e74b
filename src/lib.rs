//! Walwright: an actor-based storage engine for servers that keep their data in SQLite.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub use rusqlite;

mod error;
mod migration;
mod settings;
#[allow(dead_code)]
mod sqlite;

pub use error::{ClosureError, HookFailure, MigrationFailure, OpenError, Outcome, SqliteError};
pub use migration::Migration;
pub use settings::Settings;
