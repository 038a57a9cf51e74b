//! One command inside the group's transaction, undone alone if it fails.

use std::cell::Cell;

use super::rows::{RowFailure, TableDesk};
use super::transaction::Transaction;
use super::wal_log::has_open_foreign_keys;
use crate::error::{SqliteError, WriteError};
use crate::row::TableShape;
use crate::sqlite::session::{Session, SessionError};
use crate::sync::Arc;

/// One command in a session, and the savepoint that undoes the command alone, if it needs one.
pub(super) struct Isolation<'i> {
    pub(super) session: &'i Session<'i>,
    transaction: &'i Transaction,
    is_set: Cell<bool>,
    /// Rows that the connection had changed when the command began.
    changes_before: u64,
    /// Rows that setting the savepoint changed.
    rows_of_savepoint: Cell<u64>,
}

impl<'i> Isolation<'i> {
    pub(super) fn new(session: &'i Session<'i>, transaction: &'i Transaction) -> Self {
        let changes_before = transaction.connection.total_changes();
        let (is_set, rows_of_savepoint) = (Cell::new(false), Cell::new(0));
        Self { session, transaction, is_set, changes_before, rows_of_savepoint }
    }

    /// Sets the savepoint, once.
    pub(super) fn set_savepoint(&self) -> Result<(), SqliteError> {
        if self.is_set.replace(true) {
            return Ok(());
        }
        let connection = &self.transaction.connection;
        let (before, heard) = (connection.total_changes(), self.session.state().row_hook().mark());
        self.session.as_engine(|| self.transaction.savepoint.run())?;
        self.session.state().row_hook().cut(heard);
        self.rows_of_savepoint.set(connection.total_changes() - before);
        Ok(())
    }

    /// How many rows SQLite changed when the savepoint was set: a virtual table writes then what it held back. The
    /// command has nothing to do with them.
    pub(super) fn rows_of_savepoint(&self) -> u64 {
        self.rows_of_savepoint.get()
    }

    /// Runs `work` on the desk of a table, behind a savepoint if the table needs one.
    pub(super) fn on_desk<T, E: From<RowFailure>>(
        &self,
        table: &Arc<TableShape>,
        work: impl FnOnce(&mut TableDesk) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut desks = self.transaction.desks.borrow_mut();
        let desk = desks.desk(self.session, table)?;
        if desk.needs_savepoint() {
            self.set_savepoint().map_err(|error| RowFailure::Session(SessionError::Sqlite(error)))?;
        }
        work(desk)
    }

    /// Ends the command: after a failure nothing of it is left. The transaction may be gone afterwards.
    #[inline]
    pub(super) fn settle<T>(self, result: Result<T, WriteError>) -> Result<T, WriteError> {
        if result.is_ok() && !self.is_set.get() { result } else { self.undo_or_release(result) }
    }

    #[inline(never)]
    fn undo_or_release<T>(self, mut result: Result<T, WriteError>) -> Result<T, WriteError> {
        let transaction = self.transaction;
        if transaction.connection.is_autocommit() {
            return result;
        }
        if !self.is_set.get() {
            // A statement by itself leaves nothing behind, but of two the second may fail.
            if result.is_err() && transaction.connection.total_changes() != self.changes_before {
                self.give_up_transaction();
            }
            return result;
        }
        if result.is_ok() && has_open_foreign_keys(&transaction.connection) {
            result = Err(open_foreign_key());
        }
        let ended = self.session.as_engine(|| match &result {
            Ok(_) => transaction.release.run(),
            Err(_) => transaction.rollback_to.run().and_then(|_| transaction.release.run()),
        });
        if let Err(error) = ended {
            self.give_up_transaction();
            result = result.and(Err(error.into()));
        }
        result
    }

    /// Without its savepoint the command can only be undone together with the whole group.
    fn give_up_transaction(&self) {
        let transaction = self.transaction;
        let _ = self.session.as_engine(|| transaction.rollback.run());
        transaction.stuck.set(!transaction.connection.is_autocommit());
    }
}

fn open_foreign_key() -> WriteError {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
    let text = "FOREIGN KEY constraint failed".to_owned();
    WriteError::Constraint(rusqlite::Error::SqliteFailure(error, Some(text)).into())
}
