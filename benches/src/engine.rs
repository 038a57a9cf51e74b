//! Walwright under measurement.

use std::path::Path;
use walwright::{Migration, Stats, Store, StoreBuilder, Table};
use walwright_bench_workload::{Result, SCHEMA, Session, Subject, TABLE};

const MIGRATIONS: &[Migration] = &[Migration::sql(SCHEMA)];

/// A store with the table of sessions, written by row commands.
#[derive(Clone)]
pub struct Engine {
    pub store: Store,
    pub table: Table<Session>,
}

impl Engine {
    /// Makes a new database with the defaults of a store.
    pub async fn create(path: &Path, vfs: &str) -> Result<Self> {
        Self::create_with(Store::builder(path).vfs(vfs)).await
    }

    /// Makes a new database with settings of the caller's.
    pub async fn create_with(builder: StoreBuilder) -> Result<Self> {
        let store = builder.migrations(MIGRATIONS).open().await?;
        let table = store.table(TABLE).revision("resource_version").open().await?;
        Ok(Self { store, table })
    }

    pub fn stats(&self) -> Stats {
        self.store.stats()
    }

    pub async fn close(&self) -> Result<()> {
        Ok(self.store.close().await?)
    }
}

impl Subject for Engine {
    const PIPELINES: bool = true;

    async fn insert(&self, row: Session) -> Result<()> {
        self.table.insert(&row).await?;
        Ok(())
    }

    async fn revoke(&self, id: String) -> Result<()> {
        self.table.update(id).set("revoked", true).await?;
        Ok(())
    }

    async fn pair(&self, row: Session) -> Result<()> {
        let inserted = self.table.insert(&row).submit().await?;
        let updated = self.table.update(row.id).set("revoked", true).submit().await?;
        inserted.await?;
        updated.await?;
        Ok(())
    }
}
