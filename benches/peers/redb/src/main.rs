//! redb: no SQLite, and no SQL. One transaction writes at a time; each is durable by itself.

use redb::{Database, ReadableTable, TableDefinition};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use walwright_bench_workload::{Result, Session, Subject, peer};

/// Sandbox, token, times, revoked, version: by id.
type Row = (&'static str, &'static str, i64, i64, bool, i64);
const SESSIONS: TableDefinition<'_, &str, Row> = TableDefinition::new("session");

/// Who waits, waits for the mutex and not in a thread.
#[derive(Clone)]
struct Peer(Arc<Mutex<Database>>);

impl Peer {
    async fn open(path: PathBuf) -> Result<Self> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(SESSIONS)?;
        transaction.commit()?;
        Ok(Self(Arc::new(Mutex::new(database))))
    }

    async fn run<F>(&self, work: F) -> Result<()>
    where
        F: FnOnce(&mut redb::Table<'_, &'static str, Row>) -> Result<()> + Send + 'static,
    {
        let database = Arc::clone(&self.0).lock_owned().await;
        spawn_blocking(move || {
            let transaction = database.begin_write()?;
            work(&mut transaction.open_table(SESSIONS)?)?;
            transaction.commit()?;
            Ok(())
        })
        .await?
    }
}

fn insert(table: &mut redb::Table<'_, &'static str, Row>, row: &Session) -> Result<()> {
    let Session { id, sandbox_id, token, created_at_ms, expires_at_ms, revoked, resource_version } = row;
    let values = (&**sandbox_id, &**token, *created_at_ms, *expires_at_ms, *revoked, *resource_version);
    table.insert(&**id, values)?;
    Ok(())
}

fn revoke(table: &mut redb::Table<'_, &'static str, Row>, id: &str) -> Result<()> {
    let found = table.get(id)?.map(|row| {
        let (sandbox_id, token, created_at_ms, expires_at_ms, _, version) = row.value();
        (sandbox_id.to_owned(), token.to_owned(), created_at_ms, expires_at_ms, version)
    });
    let (sandbox_id, token, created_at_ms, expires_at_ms, version) = found.ok_or("there is no such row")?;
    table.insert(id, (&*sandbox_id, &*token, created_at_ms, expires_at_ms, true, version + 1))?;
    Ok(())
}

impl Subject for Peer {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        self.run(move |table| insert(table, &row)).await
    }

    async fn revoke(&self, id: String) -> Result<()> {
        self.run(move |table| revoke(table, &id)).await
    }

    async fn pair(&self, row: Session) -> Result<()> {
        self.run(move |table| {
            insert(table, &row)?;
            revoke(table, &row.id)
        })
        .await
    }
}

fn main() -> std::process::ExitCode {
    peer::main(Peer::open)
}
