//! deadpool-sqlite: a pool. SQLite has one writer at a time, so the pool for writes has one connection:
//! with more of them callers would wait for SQLite's lock instead, which is not fair and polls.

use deadpool_sqlite::rusqlite;
#[path = "../../sqlite.rs"]
mod sqlite;

use deadpool_sqlite::{Config, Pool, PoolConfig, Runtime};
use std::path::PathBuf;
use walwright_bench_workload::{Result, Session, Subject, peer};

#[derive(Clone)]
struct Peer(Pool);

impl Peer {
    async fn open(path: PathBuf) -> Result<Self> {
        let config = Config { pool: Some(PoolConfig::new(1)), ..Config::new(path) };
        let peer = Self(config.create_pool(Runtime::Tokio1)?);
        peer.run(|connection| sqlite::settle(connection)).await?;
        Ok(peer)
    }

    async fn run<F>(&self, work: F) -> Result<()>
    where
        F: FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<()> + Send + 'static,
    {
        let connection = self.0.get().await?;
        // Its error holds a panic, which cannot be sent on.
        connection.interact(work).await.map_err(|error| error.to_string())??;
        Ok(())
    }
}

impl Subject for Peer {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        self.run(move |connection| sqlite::insert(connection, &row)).await
    }

    async fn revoke(&self, id: String) -> Result<()> {
        self.run(move |connection| sqlite::revoke(connection, &id)).await
    }

    async fn pair(&self, row: Session) -> Result<()> {
        self.run(move |connection| sqlite::pair(connection, &row)).await
    }
}

fn main() -> std::process::ExitCode {
    peer::main(Peer::open)
}
