//! Everything that runs users' SQL on a connection, the writer's or a reader's.
//!
//! A connection gets its [`SessionState`] once (the authorizer and the progress handler). Around each
//! command of a user the engine opens a [`Session`] on it, inside a transaction that the engine began.

mod authorizer;
mod db;
mod facts;
mod failure;
mod row_hook;
#[expect(clippy::module_inception, reason = "the type that the folder is named after")]
mod session;
mod state;
mod statement;
mod stop;
mod tx;
mod writes;

#[cfg(test)]
mod tests;

pub use db::Db;
pub use facts::{SchemaFacts, StatementFacts};
pub use failure::{NotAllowed, SessionError, TransactionEnded};
pub use row_hook::{HookNotes, MOST_ROWS};
pub use session::{Session, StatementOutcome};
pub use state::SessionState;
pub use statement::{Rows, Statement};
pub use stop::{StopCheck, StopLimits, StopReason, Stopped};
pub use tx::Tx;
pub use writes::{Writes, says_replace};
