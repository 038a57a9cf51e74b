//! What a load costs a store.

use crate::session_store::SessionStore;
use std::ops::Sub;
use walwright_test_support::FaultVfs;

/// What was done up to a moment, or between two.
#[derive(Clone, Copy)]
pub struct Work {
    /// None if the store does not count them.
    pub writes: Option<Writes>,
    /// Syncs of any file.
    pub syncs: u64,
}

/// What the store was asked to write, and the SQL that it took.
#[derive(Clone, Copy)]
pub struct Writes {
    pub commands: u64,
    pub statements: u64,
}

impl Work {
    /// What `store` has done so far, all of whose syncs go through `vfs`.
    pub fn so_far(store: &impl SessionStore, vfs: &FaultVfs) -> Self {
        Self { writes: store.writes(), syncs: vfs.total_counts().syncs }
    }
}

impl Sub for Work {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        let writes = self.writes.zip(earlier.writes).map(|(now, earlier)| Writes {
            commands: now.commands - earlier.commands,
            statements: now.statements - earlier.statements,
        });
        Self { writes, syncs: self.syncs - earlier.syncs }
    }
}
