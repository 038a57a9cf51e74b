//! tokio-rusqlite: one connection on a thread of its own, which runs the closures that it is sent.

use tokio_rusqlite::rusqlite;
#[path = "../../sqlite.rs"]
mod sqlite;

use std::path::PathBuf;
use tokio_rusqlite::Connection;
use walwright_bench_workload::{Result, Session, Subject, peer};

#[derive(Clone)]
struct Peer(Connection);

impl Peer {
    async fn open(path: PathBuf) -> Result<Self> {
        let connection = Connection::open(path).await?;
        connection.call(|connection| sqlite::settle(connection)).await?;
        Ok(Self(connection))
    }
}

impl Subject for Peer {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        Ok(self.0.call(move |connection| sqlite::insert(connection, &row)).await?)
    }

    async fn revoke(&self, id: String) -> Result<()> {
        Ok(self.0.call(move |connection| sqlite::revoke(connection, &id)).await?)
    }

    async fn pair(&self, row: Session) -> Result<()> {
        Ok(self.0.call(move |connection| sqlite::pair(connection, &row)).await?)
    }
}

fn main() -> std::process::ExitCode {
    peer::main(Peer::open)
}
