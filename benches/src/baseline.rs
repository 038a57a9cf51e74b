//! The store as such servers are first written: one connection behind a mutex, each statement its own commit.

use crate::Result;
use rusqlite::{Connection, OpenFlags, params};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use walwright_bench_workload::{INSERT, REVOKE, SCHEMA, Session, Subject};

/// How SQLite keeps transactions whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    Rollback,
    Wal,
}

/// One mutexed connection, `synchronous=FULL`, statements prepared once. Blocking calls run on the runtime's
/// blocking threads, one at a time: who waits, waits for the mutex and not in a thread.
#[derive(Clone)]
pub struct Baseline(Arc<Mutex<Option<Connection>>>);

impl Baseline {
    /// Makes a new database with the table of sessions.
    pub fn create(path: &Path, vfs: &str, journal: Journal) -> Result<Self> {
        let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let journal = if journal == Journal::Wal { "WAL" } else { "DELETE" };
        connection.pragma_update(None, "journal_mode", journal)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Arc::new(Mutex::new(Some(connection)))))
    }

    async fn run<F>(&self, work: F) -> Result<()>
    where
        F: FnOnce(&Connection) -> rusqlite::Result<usize> + Send + 'static,
    {
        let mut place = Arc::clone(&self.0).lock_owned().await;
        spawn_blocking(move || {
            let connection = place.as_mut().ok_or("the store is closed")?;
            work(connection)?;
            Ok(())
        })
        .await?
    }

    /// Waits for what is in progress and closes the connection.
    pub async fn close(&self) {
        let connection = self.0.lock().await.take();
        drop(connection);
    }
}

impl Subject for Baseline {
    const PIPELINES: bool = false;

    async fn insert(&self, row: Session) -> Result<()> {
        self.run(move |connection| {
            connection.prepare_cached(INSERT)?.execute(params![
                row.id,
                row.sandbox_id,
                row.token,
                row.created_at_ms,
                row.expires_at_ms,
                row.revoked,
                row.resource_version
            ])
        })
        .await
    }

    async fn revoke(&self, id: String) -> Result<()> {
        self.run(move |connection| connection.prepare_cached(REVOKE)?.execute([id])).await
    }

    async fn pair(&self, row: Session) -> Result<()> {
        let id = row.id.clone();
        self.insert(row).await?;
        self.revoke(id).await
    }
}
