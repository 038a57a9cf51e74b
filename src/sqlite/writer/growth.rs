//! Tells policies that keep the newest rows of each group which groups grew.
//!
//! It is noted when a command is applied, before its COMMIT. If that fails, a group is looked at in vain. The look
//! itself is a later command, so it finds what was noted.

use super::command::{BatchItem, WriteTask};
use crate::keeper::KeeperInbox;
use crate::retention::{GroupWatch, SweepPlan};
use crate::row::{BulkCommand, BulkWork, RowCommand, TableShape};
use crate::sync::Arc;

/// What a row command may change beside the rows that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nothing.
    Named,
    /// Rows of other tables.
    OtherTables,
    /// Other rows of its own table, too.
    Anything,
}

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

    /// Notes what a command did. `reach` tells of the table of a row command what else it may have changed.
    pub(super) fn note(
        &self,
        task: &WriteTask,
        reach: impl Fn(&Arc<TableShape>) -> Reach,
        keeper: &KeeperInbox,
    ) {
        for watch in &self.watches {
            let note_row = |command: &RowCommand| {
                note_table(watch, &command.table.name, reach(&command.table), || watch.note(command))
            };
            let wakes = match task {
                WriteTask::Row(command) => note_row(command),
                WriteTask::Bulk(call) => {
                    let table = &call.command.table;
                    note_table(watch, &table.name, reach(table), || note_bulk(watch, &call.command))
                }
                WriteTask::Batch(items) => {
                    // Each is noted, also when the first one wakes the chore.
                    let notes = items.iter().map(|item| match item {
                        BatchItem::Row(command) => note_row(command),
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

/// Notes a command on this table, of whose own rows `of_rows` knows.
fn note_table(watch: &GroupWatch, table: &str, reach: Reach, of_rows: impl FnOnce() -> bool) -> bool {
    let is_watched = table == watch.table;
    match reach {
        Reach::Anything => watch.grown.note_any(),
        // The triggers of another table may write to this one.
        Reach::OtherTables if !is_watched => watch.grown.note_any(),
        Reach::Named | Reach::OtherTables => is_watched && of_rows(),
    }
}

fn note_bulk(watch: &GroupWatch, bulk: &BulkCommand) -> bool {
    let Some(column) = bulk.table.column(&watch.column) else { return watch.grown.note_any() };
    match &bulk.work {
        BulkWork::Each(commands) => commands.iter().fold(false, |any, command| any | watch.note(command)),
        BulkWork::UpdateKeys { set, .. } | BulkWork::UpdateWhere { set, .. } => watch.note_set(column, set),
        BulkWork::DeleteWhere { .. } => false,
    }
}
