//! async-sqlite: one client, a connection on a thread of its own.

use async_sqlite::rusqlite;
#[path = "../../sqlite.rs"]
mod sqlite;

use async_sqlite::{Client, ClientBuilder, JournalMode};
use std::path::PathBuf;
use walwright_bench_workload::{Result, Session, Subject, peer};

#[derive(Clone)]
struct Peer(Client);

impl Peer {
    async fn open(path: PathBuf) -> Result<Self> {
        let client = ClientBuilder::new().path(path).journal_mode(JournalMode::Wal).open().await?;
        client.conn(sqlite::settle).await?;
        Ok(Self(client))
    }
}

impl Subject for Peer {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        Ok(self.0.conn(move |connection| sqlite::insert(connection, &row)).await?)
    }

    async fn revoke(&self, id: String) -> Result<()> {
        Ok(self.0.conn(move |connection| sqlite::revoke(connection, &id)).await?)
    }

    async fn pair(&self, row: Session) -> Result<()> {
        Ok(self.0.conn_mut(move |connection| sqlite::pair(connection, &row)).await?)
    }
}

fn main() -> std::process::ExitCode {
    peer::main(Peer::open)
}
