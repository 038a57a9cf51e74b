//! The same store on Walwright: a typed table, and each task sends it what it has.
//!
//! There is no mutex, no blocking thread and no transaction to begin here. What the forwarder's tasks
//! send at the same time shares a commit, and so a sync; every call returns when its own write
//! is durable. Reads run beside that on two reader threads.

use crate::Result;
use crate::session::{FIRST_VERSION, SCHEMA, Session};
use crate::session_store::SessionStore;
use crate::work::Writes;
use std::path::Path;
use walwright::{Filter, Migration, Store, Table, Update};

const MIGRATIONS: &[Migration] = &[Migration::sql(SCHEMA)];
const READERS: usize = 2;

#[derive(Clone)]
pub struct WalwrightStore {
    store: Store,
    sessions: Table<Session>,
    pairs: Pairs,
}

/// When the second write of a connection, the update to revoked, is sent.
#[derive(Clone, Copy)]
pub enum Pairs {
    /// When the relay is over, as on the baseline: the record says "revoked" when the connection has ended.
    OneByOne,
    /// Right behind the insert: the record says "revoked" as soon as this connection has the session. That is
    /// what keeps a second connection from using it, and it needs no clean-up after a crash in mid-relay.
    Pipelined,
}

impl WalwrightStore {
    /// Makes the database at `path`, with all its I/O through the VFS of that name.
    pub async fn open(path: &Path, vfs: &str, pairs: Pairs) -> Result<Self> {
        let builder = Store::builder(path).vfs(vfs).readers(READERS).migrations(MIGRATIONS);
        let store = builder.open().await?;
        let sessions = store.table("ssh_session").revision("resource_version").open().await?;
        Ok(Self { store, sessions, pairs })
    }

    async fn forward_one_by_one(
        &self,
        session: &Session,
        relay: impl Future<Output = Result<()>> + Send,
    ) -> Result<()> {
        let inserted = self.sessions.insert(session).await?;
        let relayed = async {
            self.find(session).await?.check(&session.sandbox_id)?;
            relay.await
        };
        let relayed = relayed.await;
        self.revocation(session).if_revision(inserted.revision).await?;
        relayed
    }

    /// The client waits for the insert alone: the permission has to be on disk before a byte passes. The
    /// update is admitted behind it, so it finds the record without anybody waiting in between; its
    /// receipt is due when the connection is to count as ended.
    async fn forward_pipelined(
        &self,
        session: &Session,
        relay: impl Future<Output = Result<()>> + Send,
    ) -> Result<()> {
        let inserted = self.sessions.insert(session).submit().await?;
        let revoked = self.revocation(session).if_revision(FIRST_VERSION).submit().await?;
        inserted.await?;
        let relayed = async {
            self.find(session).await?.check_for_its_revoker(&session.sandbox_id)?;
            relay.await
        };
        let relayed = relayed.await;
        revoked.await?;
        relayed
    }

    async fn find(&self, session: &Session) -> Result<Session> {
        let found = self.sessions.get(&session.id).await?;
        found.ok_or_else(|| "a session that was just inserted is not there".into())
    }

    fn revocation(&self, session: &Session) -> Update<Session> {
        self.sessions.update(&session.id).set("revoked", true)
    }
}

impl SessionStore for WalwrightStore {
    async fn forward(&self, session: Session, relay: impl Future<Output = Result<()>> + Send) -> Result<()> {
        match self.pairs {
            Pairs::OneByOne => self.forward_one_by_one(&session, relay).await,
            Pairs::Pipelined => self.forward_pipelined(&session, relay).await,
        }
    }

    async fn insert_all(&self, sessions: Vec<Session>) -> Result<()> {
        self.sessions.insert_many(sessions).await?;
        Ok(())
    }

    async fn list(&self, sandbox_id: &str) -> Result<Vec<Session>> {
        Ok(self.sessions.page().filter(Filter::eq("sandbox_id", sandbox_id)).await?.rows)
    }

    async fn delete_sandbox(&self, sandbox_id: &str) -> Result<()> {
        self.sessions.delete_where("sandbox_id", sandbox_id).await?;
        Ok(())
    }

    async fn finish_deletes(&self) -> Result<()> {
        // A delete is answered when it is done and durable.
        Ok(())
    }

    fn writes(&self) -> Option<Writes> {
        let stats = self.store.stats();
        // The engine adds to its `commands` after it has answered them; these two before. The gateway sends
        // nothing but row commands while it is measured, and each of them is one or the other.
        Some(Writes { commands: stats.statements + stats.coalesced, statements: stats.statements })
    }

    async fn close(self) -> Result<()> {
        Ok(self.store.close().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use walwright_test_support::FaultVfs;

    #[tokio::test]
    async fn a_session_is_durable_before_the_relay_and_revoked_after_it() {
        for (pairs, relays) in [(Pairs::OneByOne, true), (Pairs::Pipelined, true), (Pairs::Pipelined, false)]
        {
            let folder = tempfile::tempdir().expect("a folder");
            let vfs = FaultVfs::unique("forward-gateway");
            let path = folder.path().join("gateway.db");
            let store = WalwrightStore::open(&path, vfs.name(), pairs).await.expect("open");
            let session = Session::new("box");
            let id = session.id.clone();

            let syncs_before = vfs.total_counts().syncs;
            let relay = async {
                assert!(vfs.total_counts().syncs > syncs_before);
                assert!(store.sessions.exists(&id).await?);
                if relays { Ok(()) } else { Err("the client hung up".into()) }
            };
            assert_eq!(store.forward(session, relay).await.is_ok(), relays);

            let left = store.sessions.get(&id).await.expect("read").expect("the record");
            assert!(left.revoked);
            assert_eq!(left.resource_version, FIRST_VERSION + 1);
            let writes = store.writes().expect("Walwright counts");
            assert_eq!(writes.commands, 2);
            store.close().await.expect("close");
        }
    }
}
