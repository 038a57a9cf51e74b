//! tinystore: writes of many callers share a commit, each in a savepoint of it. The closest rival.

use std::path::PathBuf;
use tinystore::aio::Store;
use tinystore::aio::sql::Database;
use tinystore::sql::Sql;
use tinystore::{Durability, Options, sql};
use walwright_bench_workload::{INSERT, REVOKE, Result, SCHEMA, Session, Subject, peer};

#[derive(Clone)]
struct Peer {
    database: Database,
    /// The database closes with it.
    _store: Store,
}

impl Peer {
    async fn open(path: PathBuf) -> Result<Self> {
        let store = Store::open(path, Options::default())?;
        let database = store.database("bench").durability(Durability::Full).open()?;
        database.exec(SCHEMA).await?;
        Ok(Self { database, _store: store })
    }
}

fn insert(row: &Session) -> Sql {
    sql!(
        INSERT,
        row.id,
        row.sandbox_id,
        row.token,
        row.created_at_ms,
        row.expires_at_ms,
        row.revoked,
        row.resource_version
    )
}

impl Subject for Peer {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        self.database.exec(insert(&row)).await?;
        Ok(())
    }

    async fn revoke(&self, id: String) -> Result<()> {
        self.database.exec(sql!(REVOKE, id)).await?;
        Ok(())
    }

    async fn pair(&self, row: Session) -> Result<()> {
        self.database.batch([insert(&row), sql!(REVOKE, row.id)]).await?;
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    peer::main(Peer::open)
}
