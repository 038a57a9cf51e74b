//! Tells policies that keep the newest rows of each group which groups grew.
//!
//! It is noted when a command is applied, before its COMMIT. If that fails, a group is looked at in vain. The look
//! itself is a later command, so it finds what was noted.

use super::command::{BatchItem, WriteTask};
use crate::keeper::KeeperInbox;
use crate::retention::{GroupWatch, SweepPlan};
use crate::row::{BulkCommand, BulkWork, RowCommand};

/// What policies want to know of.
pub(super) struct Growth {
    watches: Vec<GroupWatch>,
}

impl Growth {
    pub(super) fn new(sweeps: &[SweepPlan]) -> Self {
        Self { watches: sweeps.iter().filter_map(SweepPlan::watch).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Notes what a command did. `is_quiet`: it is a row command, and nothing else happens on its table.
    pub(super) fn note(&self, task: &WriteTask, is_quiet: bool, keeper: &KeeperInbox) {
        for watch in &self.watches {
            let wakes = match task {
                WriteTask::Row(command) => note_row(watch, command, is_quiet),
                WriteTask::Bulk(call) => note_bulk(watch, &call.command),
                WriteTask::Batch(items) => {
                    // Each is noted, also when the first one wakes the chore.
                    let notes = items.iter().map(|item| match item {
                        BatchItem::Row(command) => note_row(watch, command, false),
                        BatchItem::Statement(_) => watch.grown.note_any(),
                    });
                    notes.fold(false, |any, wakes| any | wakes)
                }
                WriteTask::GiveBack(_) | WriteTask::Flush => false,
                // What they write shows nowhere.
                WriteTask::Statement(_) | WriteTask::Closure(_) | WriteTask::Modify(_) => {
                    watch.grown.note_any()
                }
            };
            if wakes {
                keeper.wake(&watch.chore);
            }
        }
    }

    /// Somebody else may have written anything.
    pub(super) fn note_any(&self, keeper: &KeeperInbox) {
        for watch in &self.watches {
            if watch.grown.note_any() {
                keeper.wake(&watch.chore);
            }
        }
    }
}

fn note_row(watch: &GroupWatch, command: &RowCommand, is_quiet: bool) -> bool {
    // The triggers of another table may write to this one.
    if command.table.name != watch.table && !is_quiet {
        return watch.grown.note_any();
    }
    watch.note(command)
}

fn note_bulk(watch: &GroupWatch, bulk: &BulkCommand) -> bool {
    if bulk.table.name != watch.table {
        return watch.grown.note_any();
    }
    let Some(column) = bulk.table.column(&watch.column) else { return watch.grown.note_any() };
    match &bulk.work {
        BulkWork::Each(commands) => commands.iter().fold(false, |any, command| any | watch.note(command)),
        BulkWork::UpdateKeys { set, .. } | BulkWork::UpdateWhere { set, .. } => watch.note_set(column, set),
        BulkWork::DeleteWhere { .. } => false,
    }
}
