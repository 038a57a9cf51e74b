//! The keeper: work that nobody waits for, done in slices between what callers send.
//!
//! A *chore* is such work: rows whose time has passed, an index that is built behind a running store. It goes
//! forward in *slices*. A slice is an ordinary command: it stands in the write queue, shares its group's transaction
//! and sync with whatever else is there, is answered once, and fails by itself. So the protocol and its models
//! know nothing of chores. What is new is only *when* the next slice is sent, and that is decided here, on a thread of its
//! own that sleeps most of the time: by the chores (`chore`), by who called for them (`inbox`), and by what the
//! others can bear (`policy`).

mod chore;
mod inbox;
// The folder's main file, named like the thing itself.
#[allow(clippy::module_inception)]
mod keeper;
mod policy;
mod report;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub(crate) use chore::{Chore, ChoreStep, SliceRows, peek_slice_value, slice, slice_value};
pub(crate) use inbox::{KeepError, KeeperInbox};
pub(crate) use keeper::Keeper;

pub use report::ChoreStats;
