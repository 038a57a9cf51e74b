//! What the writer's transactions change, recorded for those who watch.
//!
//! What a row command did is known from the command and its effect (`own`). What SQL did is heard from three sides:
//! the update hook names rows of tables with rowids, the authorizer said which tables a statement may write, and
//! `total_changes()` says how many rows were changed in all. Where these leave no doubt rows are told, and where they
//! leave one, that the table has changed (`doubt`). Nothing is left out.
//!
//! A command's records are kept only if the command is; those of a transaction only if it is committed; and they are
//! told with the answers of its group, when these may be given. While nobody watches nothing is recorded, and the hook
//! is off the connection.

mod doubt;
mod own;
mod tables;

use std::cell::{Cell, RefCell};

use rusqlite::Connection;

use self::doubt::Doubt;
pub(super) use self::own::OwnChanges;
use self::tables::Tables;
use super::isolation::Isolation;
use crate::changes::{Change, ChangeFeed, ChangeKey, RowChange};
use crate::row::{TableShape, Value};
use crate::sqlite::schema::TableStorage;
use crate::sqlite::session::{HookNotes, Session, SessionState};
use crate::sync::Arc;

/// The recorder of the writable connection.
pub(super) struct Recorder {
    feed: Arc<ChangeFeed>,
    is_on: Cell<bool>,
    tables: RefCell<Tables>,
    /// The sequence of the present command.
    sequence: Cell<u64>,
    /// What the present command did.
    command: RefCell<Vec<Change>>,
    /// What the commands of the present transaction did that are done.
    transaction: RefCell<Vec<Arc<Change>>>,
    /// What was committed and is not told yet.
    committed: RefCell<Vec<Arc<Change>>>,
}

/// The watch over a part of a command that runs SQL.
pub(super) struct Watch {
    changes_before: u64,
}

/// What a row command did itself, beside what followed from it.
pub(super) struct Own<'o> {
    pub(super) table: &'o TableShape,
    pub(super) changes: OwnChanges,
    /// Nothing can have followed from it.
    pub(super) is_quiet: bool,
}

impl Recorder {
    pub(super) fn new(feed: Arc<ChangeFeed>) -> Self {
        Self {
            feed,
            is_on: Cell::new(false),
            tables: RefCell::default(),
            sequence: Cell::new(0),
            command: RefCell::default(),
            transaction: RefCell::default(),
            committed: RefCell::default(),
        }
    }

    /// Whether somebody watches the present transaction.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// A transaction begins, outside of any session. Gives whether statements have to be prepared anew: somebody has
    /// begun to watch.
    pub(super) fn begin(&self, connection: &mut Connection, state: &SessionState) -> rusqlite::Result<bool> {
        let watched = self.feed.has_subscribers();
        let is_changed = watched != self.is_on.get();
        if is_changed {
            state.set_watched(connection, watched)?;
            self.is_on.set(watched);
        }
        if watched {
            self.transaction.borrow_mut().clear();
            state.row_hook().clear();
        }
        Ok(is_changed && watched)
    }

    /// The transaction is committed. `foreign`: another program has written before it, and the sequence of the last
    /// command before that.
    pub(super) fn commit(&self, foreign: Option<u64>) {
        if !self.is_on.get() {
            return;
        }
        let mut committed = self.committed.borrow_mut();
        committed.extend(foreign.map(|sequence| Arc::new(Change::Anything { sequence })));
        committed.append(&mut self.transaction.borrow_mut());
    }

    /// Tells what was committed. Everything that its commands were promised holds.
    pub(super) fn tell(&self) {
        let mut committed = self.committed.borrow_mut();
        if !committed.is_empty() {
            self.feed.publish(&committed);
            committed.clear();
        }
    }

    /// A command begins.
    pub(super) fn begin_command(&self, sequence: u64) {
        if self.is_on.get() {
            self.sequence.set(sequence);
            self.command.borrow_mut().clear();
        }
    }

    /// The command ends. What it did counts if it is done.
    pub(super) fn end_command(&self, is_done: bool) {
        if self.is_on.get() && is_done {
            self.transaction.borrow_mut().extend(self.command.borrow_mut().drain(..).map(Arc::new));
        }
    }

    /// A part of a command begins that runs SQL. `None`: nobody watches.
    pub(super) fn watch(&self, isolation: &Isolation<'_>) -> Option<Watch> {
        self.is_on.get().then(|| {
            let session = isolation.session;
            session.state().row_hook().take();
            session.take_writes();
            session.take_may_have_left();
            // What the schema is before it.
            self.tables.borrow_mut().follow(session);
            Watch { changes_before: session.connection().total_changes() - isolation.rows_of_savepoint() }
        })
    }

    /// That part ends, and went well.
    pub(super) fn record(&self, watch: Option<Watch>, isolation: &Isolation<'_>, own: Option<Own<'_>>) {
        let Some(watch) = watch else { return };
        let session = isolation.session;
        if let Some(own) = &own {
            self.record_own(own.table, &own.changes);
            if own.is_quiet && !own.changes.is_incomplete {
                return;
            }
        }
        let heard = session.state().row_hook().take();
        let Some(writes) = session.take_writes() else {
            let sequence = self.sequence.get();
            return self.command.borrow_mut().push(Change::Anything { sequence });
        };
        let total = session.connection().total_changes() - isolation.rows_of_savepoint();
        let changed = total.saturating_sub(watch.changes_before);
        let mut tables = self.tables.borrow_mut();
        let mut doubt = Doubt { session, tables: &mut tables, doubtful: Vec::new() };
        doubt.judge(&writes, &heard, own.as_ref(), changed);
        let doubtful = doubt.doubtful;
        self.record_heard(session, &mut tables, heard, own.as_ref(), &doubtful);
        let sequence = self.sequence.get();
        let told = doubtful.into_iter().map(|table| Change::Table { sequence, table });
        self.command.borrow_mut().extend(told);
    }

    /// What a row command did itself.
    pub(super) fn record_own(&self, table: &TableShape, own: &OwnChanges) {
        let (sequence, name) = (self.sequence.get(), self.tables.borrow_mut().name(&table.name));
        let rows = own.changes.iter().map(|one| {
            let (table, key) = (name.clone(), one.key.clone());
            Change::Row(RowChange { sequence, table, operation: one.operation, key, revision: one.revision })
        });
        self.command.borrow_mut().extend(rows);
    }

    /// The rows that the hook named, those of the row command's own table and of doubtful ones excepted.
    fn record_heard(
        &self,
        session: &Session<'_>,
        tables: &mut Tables,
        heard: HookNotes,
        own: Option<&Own<'_>>,
        doubtful: &[Arc<str>],
    ) {
        let sequence = self.sequence.get();
        let mut command = self.command.borrow_mut();
        for row in heard.rows {
            if doubtful.contains(&row.table) || own.is_some_and(|own| own.is_of(&row.table)) {
                continue;
            }
            let key = match &tables.kind(session, &row.table).storage {
                TableStorage::Rowid { key_column: Some(_) } => {
                    ChangeKey::Key(vec![Value::Integer(row.rowid)])
                }
                TableStorage::Rowid { key_column: None } => ChangeKey::Rowid(row.rowid),
                _ => continue,
            };
            let (table, operation) = (row.table, row.operation);
            command.push(Change::Row(RowChange { sequence, table, operation, key, revision: None }));
        }
    }
}

impl Own<'_> {
    fn is_of(&self, table: &str) -> bool {
        self.table.name.eq_ignore_ascii_case(table)
    }
}
