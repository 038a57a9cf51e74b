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
use crate::session::{FIRST_VERSION, SCHEMA, Session};
use crate::session_store::SessionStore;
use crate::work::Writes;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_blocking};

const INSERT: &str = "
    INSERT INTO ssh_session (id, sandbox_id, created_at_ms, expires_at_ms, revoked, resource_version)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const FIND: &str = "
    SELECT id, sandbox_id, created_at_ms, expires_at_ms, revoked, resource_version
    FROM ssh_session WHERE id = ?1";
const REVOKE: &str = "
    UPDATE ssh_session SET revoked = 1, resource_version = resource_version + 1
    WHERE id = ?1 AND resource_version = ?2";
const LIST: &str = "
    SELECT id, sandbox_id, created_at_ms, expires_at_ms, revoked, resource_version
    FROM ssh_session WHERE sandbox_id = ?1 ORDER BY id LIMIT 100";

const WRITER_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Baseline {
    main: SharedConnection,
    control_plane: SharedConnection,
    deleting: Arc<Mutex<Option<JoinHandle<Result<()>>>>>,
}

impl Baseline {
    /// Makes the database at `path`, with all its I/O through the VFS of that name.
    pub async fn open(path: &Path, vfs: &str) -> Result<Self> {
        let main = SharedConnection::open(path, vfs, WRITER_PATIENCE).await?;
        main.run(|db| db.execute_batch(SCHEMA)).await?;
        let control_plane = SharedConnection::open(path, vfs, Duration::ZERO).await?;
        Ok(Self { main, control_plane, deleting: Arc::default() })
    }

    async fn find(&self, id: &str) -> Result<Session> {
        let id = id.to_owned();
        let find = |db: &Connection| db.prepare_cached(FIND)?.query_row([id], session_from_row).optional();
        let found = self.main.run(find).await?;
        found.ok_or_else(|| "a session that was just inserted is not there".into())
    }

    async fn revoke(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        let revoke = |db: &Connection| db.prepare_cached(REVOKE)?.execute((id, FIRST_VERSION));
        match self.main.run(revoke).await? {
            1 => Ok(()),
            _ => Err("a session was changed by somebody else".into()),
        }
    }
}

impl SessionStore for Baseline {
    async fn forward(&self, session: Session, relay: impl Future<Output = Result<()>> + Send) -> Result<()> {
        let (id, sandbox_id) = (session.id.clone(), session.sandbox_id.clone());
        self.main.run(|db| insert(db, session)).await?;
        let relayed = async {
            self.find(&id).await?.check(&sandbox_id)?;
            relay.await
        };
        let relayed = relayed.await;
        self.revoke(&id).await?;
        relayed
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

    async fn list(&self, sandbox_id: &str) -> Result<Vec<Session>> {
        let sandbox_id = sandbox_id.to_owned();
        self.control_plane
            .run(|db| db.prepare_cached(LIST)?.query_map([sandbox_id], session_from_row)?.collect())
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

    fn writes(&self) -> Option<Writes> {
        None
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
    let Session { id, sandbox_id, created_at_ms, expires_at_ms, revoked, resource_version } = session;
    let values = (id, sandbox_id, created_at_ms, expires_at_ms, revoked, resource_version);
    db.prepare_cached(INSERT)?.execute(values).map(drop)
}

fn session_from_row(row: &rusqlite::Row) -> rusqlite::Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        sandbox_id: row.get(1)?,
        created_at_ms: row.get(2)?,
        expires_at_ms: row.get(3)?,
        revoked: row.get(4)?,
        resource_version: row.get(5)?,
    })
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
