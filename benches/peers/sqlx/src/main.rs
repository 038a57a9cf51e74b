//! sqlx: a pool of one connection for writes and a pool of readers, as its users arrive at for SQLite.

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use std::path::PathBuf;
use std::time::Duration;
use walwright_bench_workload::{INSERT, REVOKE, Result, SCHEMA, Session, Subject, peer};

#[derive(Clone)]
struct Peer {
    writer: SqlitePool,
    /// Open, as in a program that reads too; the workload only writes.
    _readers: SqlitePool,
}

impl Peer {
    async fn open(path: PathBuf) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .foreign_keys(true)
            .pragma("cache_size", "-8192");
        // A thousand clients at one connection wait longer than the default of half a minute.
        let patience = Duration::from_secs(600);
        let pool =
            |connections| SqlitePoolOptions::new().max_connections(connections).acquire_timeout(patience);
        let writer = pool(1).connect_with(options.clone()).await?;
        sqlx::query(SCHEMA).execute(&writer).await?;
        let readers = pool(4).connect_with(options.read_only(true)).await?;
        Ok(Self { writer, _readers: readers })
    }
}

/// The insert of a row. sqlx keeps statements prepared by itself.
fn insert(row: &Session) -> sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    sqlx::query(INSERT)
        .bind(&row.id)
        .bind(&row.sandbox_id)
        .bind(&row.token)
        .bind(row.created_at_ms)
        .bind(row.expires_at_ms)
        .bind(row.revoked)
        .bind(row.resource_version)
}

impl Subject for Peer {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        insert(&row).execute(&self.writer).await?;
        Ok(())
    }

    async fn revoke(&self, id: String) -> Result<()> {
        sqlx::query(REVOKE).bind(id).execute(&self.writer).await?;
        Ok(())
    }

    async fn pair(&self, row: Session) -> Result<()> {
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        insert(&row).execute(&mut *transaction).await?;
        sqlx::query(REVOKE).bind(&row.id).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    peer::main(Peer::open)
}
