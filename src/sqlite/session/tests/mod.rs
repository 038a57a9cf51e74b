//! Sessions on connections to real files, the writer's kind and the readers'.

mod allowed;
mod deletes;
mod left;
mod run;
mod stopped;

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::{NotAllowed, Session, SessionState, StopCheck, Tx};
use crate::error::ClosureError;
use crate::handle::params::Params;
use crate::handle::rows::ResultRows;

/// What a statement did, and whether its session holds it for a delete.
struct Ran {
    rows_changed: u64,
    rows: Option<ResultRows>,
    deletes: bool,
}

/// A database file with one prepared connection to it.
struct Bench {
    connection: Connection,
    state: SessionState,
    _folder: TempDir,
}

impl Bench {
    /// The writer's kind of connection, inside a transaction.
    fn writer(schema: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("a.db")).unwrap();
        connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON;").unwrap();
        connection.execute_batch(schema).unwrap();
        let state = SessionState::install(&mut connection, StopCheck::new()).unwrap();
        let bench = Self { connection, state, _folder: folder };
        bench.begin();
        bench
    }

    /// A reader's kind of connection, inside a transaction.
    fn reader(schema: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode=WAL;").unwrap();
        writer.execute_batch(schema).unwrap();
        let mut connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let state = SessionState::install(&mut connection, StopCheck::new()).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        Self { connection, state, _folder: folder }
    }

    fn begin(&self) {
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        self.state.refresh_schema(&self.connection).unwrap();
    }

    fn session(&self) -> Session<'_> {
        Session::new(&self.connection, &self.state)
    }

    fn run(&self, sql: &str) -> Ran {
        let session = self.session();
        let outcome = session.run_statement(sql, &Params::default(), Some(1 << 20)).unwrap();
        Ran { rows_changed: outcome.rows_changed, rows: outcome.rows, deletes: session.deletes() }
    }

    fn closure<T>(&self, body: impl FnOnce(&Tx<'_>) -> Result<T, ClosureError>) -> Result<T, ClosureError> {
        let session = self.session();
        body(&Tx::new(&session))
    }

    fn one(&self, sql: &str) -> i64 {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// What was refused, if the only error is a refusal.
    fn refusal(&self, sql: &str) -> Option<String> {
        let error = self.closure(|tx| tx.query(sql, [], |_| Ok(()))).err()?;
        let refused = error.downcast_ref::<NotAllowed>();
        Some(refused.map_or_else(|| format!("another error: {error}"), |refused| refused.what.clone()))
    }
}
