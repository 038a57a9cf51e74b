//! The store as such a gateway is first written, which is what the others are compared with.
//!
//! - One connection behind a mutex, for the forwarder's reads and for all writes; rollback journal
//!   (`journal_mode=DELETE`), `synchronous=FULL`, every statement its own commit. Blocking calls run on
//!   the runtime's blocking threads.
//! - A sandbox is deleted by listing its sessions, answering, and then removing them one by one in the
//!   background, each with its own commit.
//! - The control plane reads on a second connection, which does not wait for locks: while the
//!   first one commits, it is told "database is locked".
//!
//! It is no straw man in the rest: statements stay prepared, and the writer waits up to five seconds
//! for readers.

use crate::Result;
use crate::session::{COUNT_IN_SANDBOX, FIND, INSERT, REVOKE, SCHEMA, Session};
use crate::session_store::SessionStore;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_blocking};

const WRITER_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Baseline {
    main: SharedConnection,
    control_plane: SharedConnection,
    deleting: Arc<Mutex<Option<JoinHandle<Result<()>>>>>,
}

impl SessionStore for Baseline {
    async fn open(path: &Path, vfs: &str) -> Result<Self> {
        let main = SharedConnection::open(path, vfs, WRITER_PATIENCE).await?;
        main.run(|db| db.execute_batch(SCHEMA)).await?;
        let control_plane = SharedConnection::open(path, vfs, Duration::ZERO).await?;
        Ok(Self { main, control_plane, deleting: Arc::default() })
    }

    async fn insert(&self, session: Session) -> Result<()> {
        self.main.run(|db| insert(db, session)).await
    }

    async fn insert_all(&self, sessions: Vec<Session>) -> Result<()> {
        self.main
            .run(|db| {
                let transaction = db.unchecked_transaction()?;
                sessions.into_iter().try_for_each(|session| insert(db, session))?;
                transaction.commit()
            })
            .await
    }

    async fn find(&self, id: &str) -> Result<Option<Session>> {
        let id = id.to_owned();
        self.main.run(|db| db.prepare_cached(FIND)?.query_row([id], Session::from_row).optional()).await
    }

    async fn revoke(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.main.run(|db| db.prepare_cached(REVOKE)?.execute([id]).map(drop)).await
    }

    async fn count_in_sandbox(&self, sandbox_id: &str) -> Result<i64> {
        let sandbox_id = sandbox_id.to_owned();
        self.control_plane
            .run(|db| db.prepare_cached(COUNT_IN_SANDBOX)?.query_row([sandbox_id], |row| row.get(0)))
            .await
    }

    async fn delete_sandbox(&self, sandbox_id: &str) -> Result<()> {
        let sandbox_id = sandbox_id.to_owned();
        let ids: Vec<String> = self
            .main
            .run(|db| {
                let mut list = db.prepare("SELECT id FROM ssh_session WHERE sandbox_id = ?1")?;
                list.query_map([sandbox_id], |row| row.get(0))?.collect()
            })
            .await?;
        let removal = remove_one_by_one(self.main.clone(), ids);
        *self.deleting.lock() = Some(tokio::spawn(removal));
        Ok(())
    }

    async fn finish_deletes(&self) -> Result<()> {
        let deleting = self.deleting.lock().take();
        match deleting {
            Some(task) => task.await?,
            None => Ok(()),
        }
    }

    async fn close(self) -> Result<()> {
        self.finish_deletes().await
    }
}

async fn remove_one_by_one(main: SharedConnection, ids: Vec<String>) -> Result<()> {
    for id in ids {
        main.run(|db| db.prepare_cached("DELETE FROM ssh_session WHERE id = ?1")?.execute([id])).await?;
    }
    Ok(())
}

fn insert(db: &Connection, session: Session) -> rusqlite::Result<()> {
    db.prepare_cached(INSERT)?.execute(session.into_values()).map(drop)
}

/// A connection that one caller at a time uses, each on a blocking thread.
#[derive(Clone)]
struct SharedConnection(Arc<Mutex<Connection>>);

impl SharedConnection {
    async fn open(path: &Path, vfs: &str, busy_timeout: Duration) -> Result<Self> {
        let (path, vfs) = (path.to_owned(), vfs.to_owned());
        let open = move || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs.as_str())?;
            connection.busy_timeout(busy_timeout)?;
            connection.pragma_update(None, "journal_mode", "DELETE")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(connection)
        };
        Ok(Self(Arc::new(Mutex::new(spawn_blocking(open).await??))))
    }

    async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let connection = self.0.clone();
        Ok(spawn_blocking(move || work(&connection.lock())).await??)
    }
}
