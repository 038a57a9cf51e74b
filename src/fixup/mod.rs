//! Fix-ups: one-shot work on old rows, done behind the open store.
//!
//! A migration holds up the opening, and everybody with it. What takes long and can wait is a fix-up: a chore of the
//! keeper's (see [`keeper`](crate::keeper)), in steps of bounded size. Each step keeps its place in the transaction in
//! which it did its work, in a table of the engine's that is made for the first fix-up of a file. So a process that
//! is killed goes on behind the last step that is durable, no row is met twice, and what is done is done once for
//! ever.

mod board;
mod chore;
#[allow(clippy::module_inception)]
mod fixup;

pub(crate) use board::FixupBoard;
pub(crate) use chore::{done_before, fixup_chore};

pub use board::{FixupState, FixupStatus, FixupsDone, FixupsError};
pub use fixup::{Fixup, FixupProgress, FixupStep};
