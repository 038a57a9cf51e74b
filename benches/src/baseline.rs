//! The store as such servers are first written: one connection behind a mutex, each statement its own commit.

use crate::{Result, sqlite};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use walwright_bench_workload::{Session, Subject};

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
        sqlite::settle(&connection)?;
        if journal == Journal::Rollback {
            connection.pragma_update(None, "journal_mode", "DELETE")?;
        }
        Ok(Self(Arc::new(Mutex::new(Some(connection)))))
    }

    async fn run<F>(&self, work: F) -> Result<()>
    where
        F: FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    {
        let mut place = Arc::clone(&self.0).lock_owned().await;
        spawn_blocking(move || {
            let connection = place.as_mut().ok_or("the store is closed")?;
            Ok(work(connection)?)
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
        self.run(move |connection| sqlite::insert(connection, &row)).await
    }

    async fn revoke(&self, id: String) -> Result<()> {
        self.run(move |connection| sqlite::revoke(connection, &id)).await
    }

    async fn pair(&self, row: Session) -> Result<()> {
        let id = row.id.clone();
        self.insert(row).await?;
        self.revoke(id).await
    }
}
