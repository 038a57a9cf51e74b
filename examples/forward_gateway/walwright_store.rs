//! The same store on Walwright: the statements go to the engine as they are, from whichever task has them.
//!
//! There is no mutex, no blocking thread and no transaction to begin here. What the forwarder's tasks
//! send at the same time shares a commit, and so a sync; every call returns when its own write
//! is durable. Reads run beside that on two reader threads.

use crate::Result;
use crate::session::{COUNT_IN_SANDBOX, FIND, INSERT, REVOKE, SCHEMA, Session};
use crate::session_store::SessionStore;
use std::path::Path;
use walwright::{Migration, Store};

const MIGRATIONS: &[Migration] = &[Migration::sql(SCHEMA)];
const READERS: usize = 2;

#[derive(Clone)]
pub struct WalwrightStore(Store);

impl SessionStore for WalwrightStore {
    async fn open(path: &Path, vfs: &str) -> Result<Self> {
        let builder = Store::builder(path).vfs(vfs).readers(READERS).migrations(MIGRATIONS);
        Ok(Self(builder.open().await?))
    }

    async fn insert(&self, session: Session) -> Result<()> {
        self.0.execute(INSERT, session.into_values()).await?;
        Ok(())
    }

    async fn insert_all(&self, sessions: Vec<Session>) -> Result<()> {
        self.0
            .write(move |tx| {
                // A write closure may run again, so it keeps its sessions.
                for session in sessions.iter().cloned() {
                    tx.execute(INSERT, session.into_values())?;
                }
                Ok(())
            })
            .await?;
        Ok(())
    }

    async fn find(&self, id: &str) -> Result<Option<Session>> {
        let id = id.to_owned();
        Ok(self.0.read(move |db| db.query_optional(FIND, [id], Session::from_row)).await?)
    }

    async fn revoke(&self, id: &str) -> Result<()> {
        self.0.execute(REVOKE, [id]).await?;
        Ok(())
    }

    async fn count_in_sandbox(&self, sandbox_id: &str) -> Result<i64> {
        let sandbox_id = sandbox_id.to_owned();
        Ok(self.0.read(move |db| db.query_row(COUNT_IN_SANDBOX, [sandbox_id], |row| row.get(0))).await?)
    }

    async fn delete_sandbox(&self, sandbox_id: &str) -> Result<()> {
        self.0.execute("DELETE FROM ssh_session WHERE sandbox_id = ?1", [sandbox_id]).await?;
        Ok(())
    }

    async fn finish_deletes(&self) -> Result<()> {
        // A delete is answered when it is done and durable.
        Ok(())
    }

    async fn close(self) -> Result<()> {
        Ok(self.0.close().await?)
    }
}
