//! Of which tables it is not known which rows a part of a command has changed.
//!
//! | doubt | where it shows |
//! |---|---|
//! | the hook is silent: a table WITHOUT ROWID or a virtual one | more rows were changed than the hook named |
//! | REPLACE may have removed rows | the word, in the statement, the table or a trigger |
//! | an update gave a row another rowid, and the hook names the new one only | the columns that are updated |
//! | a table was made, dropped, altered or renamed | the authorizer, and the names before and after |
//! | more rows than are noted one by one | the hook's own count |
//! | a statement of a closure failed and may have left something | SQLite counts changes of a statement that failed |
//! | a row command's table was changed by a trigger too | more rows of it than the command's own |

use super::Own;
use super::tables::Tables;
use crate::sqlite::schema::TableStorage;
use crate::sqlite::session::{HookNotes, Session, Writes};
use crate::sync::Arc;

pub(super) struct Doubt<'d, 's> {
    pub(super) session: &'d Session<'s>,
    pub(super) tables: &'d mut Tables,
    /// Each once, in the order in which the doubt came up.
    pub(super) doubtful: Vec<Arc<str>>,
}

impl Doubt<'_, '_> {
    /// `changed`: how many rows SQLite counted.
    pub(super) fn judge(&mut self, writes: &Writes, heard: &HookNotes, own: Option<&Own<'_>>, changed: u64) {
        for name in self.tables.follow(self.session) {
            self.doubt(&name);
        }
        for table in writes.tables.iter().filter(|table| table.is_redefined) {
            self.doubt(&table.table);
        }
        if let Some(own) = own {
            self.judge_own(own, heard);
        }
        if changed == 0 && heard.seen == 0 {
            return;
        }
        for table in &heard.overflowed {
            self.doubt(table);
        }
        let mut has_hidden = false;
        for row in &heard.rows {
            match self.tables.kind(self.session, &row.table).storage {
                TableStorage::Hidden => has_hidden = true,
                TableStorage::Rowid { .. } => {}
                _ => self.doubt(&row.table),
            }
        }
        let mut named = heard.seen;
        if let Some(own) = own
            && !self.has_rowids(own)
        {
            named += own.changes.rows;
        }
        // The storage of a virtual table is written with statements of its own, whenever that likes.
        let is_uncounted = has_hidden || named != changed;
        let mut is_explained = has_hidden;
        let trigger_replaces =
            writes.triggers.iter().any(|trigger| self.tables.replaces(self.session, trigger));
        for write in &writes.tables {
            let name = self.tables.name(&write.table);
            let kind = self.tables.kind(self.session, &name).clone();
            match kind.storage {
                TableStorage::Hidden => continue,
                TableStorage::Virtual | TableStorage::SearchIndex => {
                    is_explained = true;
                    self.doubt(&name);
                }
                TableStorage::WithoutRowid if is_uncounted => {
                    is_explained = true;
                    self.doubt(&name);
                }
                TableStorage::WithoutRowid => {}
                TableStorage::Rowid { key_column } => {
                    let is_own = own.is_some_and(|own| own.is_of(&name));
                    let moves = |column: &String| {
                        column == "ROWID"
                            || key_column.as_ref().is_some_and(|key| key.eq_ignore_ascii_case(column))
                    };
                    if !is_own && write.columns.iter().any(moves) {
                        self.doubt(&name);
                    }
                }
                TableStorage::Gone => self.doubt(&name),
            }
            let by_trigger = write.puts_by_trigger && trigger_replaces;
            if write.puts && (writes.replaces || kind.replaces || by_trigger) {
                self.doubt(&name);
            }
        }
        if (is_uncounted && !is_explained) || self.session.take_may_have_left() {
            for write in &writes.tables {
                self.doubt(&write.table);
            }
        }
    }

    /// Whether its rows are all that were changed in its table.
    fn judge_own(&mut self, own: &Own<'_>, heard: &HookNotes) {
        let named = heard.rows.iter().filter(|row| own.is_of(&row.table)).count() as u64;
        let others = self.has_rowids(own) && named != own.changes.rows;
        if own.changes.is_incomplete || others {
            self.doubt(&own.table.name);
        }
    }

    fn has_rowids(&mut self, own: &Own<'_>) -> bool {
        let name = self.tables.name(&own.table.name);
        matches!(self.tables.kind(self.session, &name).storage, TableStorage::Rowid { .. })
    }

    fn doubt(&mut self, table: &str) {
        let name = self.tables.name(table);
        let storage = &self.tables.kind(self.session, &name).storage;
        let is_hidden = matches!(storage, TableStorage::Hidden | TableStorage::SearchIndex);
        if !is_hidden && !self.doubtful.contains(&name) {
            self.doubtful.push(name);
        }
    }
}
