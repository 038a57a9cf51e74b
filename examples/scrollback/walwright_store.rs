//! The same on Walwright: the old file is adopted, and each task sends what it has.
//!
//! What came while the daemon was away is one command of many rows, whose pieces share their syncs with the messages
//! that come meanwhile. Pages, searches and mentions run on readers beside that, and wait for none of it.

use crate::Result;
use crate::message::{Message, OLD_SCHEMA};
use crate::scrollback_store::{PAGE, ScrollbackStore};
use std::path::Path;
use walwright::{Cursor, Filter, Migration, Settings, Store, Table};

/// The first is what the old file has.
const MIGRATIONS: &[Migration] = &[
    Migration::sql(OLD_SCHEMA),
    Migration::sql(
        "CREATE TABLE marker (nick TEXT, buffer_id INTEGER, read_to INTEGER, PRIMARY KEY (nick, buffer_id))",
    ),
];
const READERS: usize = 4;

#[derive(Clone)]
pub struct WalwrightStore {
    pub store: Store,
    messages: Table<Message>,
}

impl WalwrightStore {
    /// Opens the file at `path`, with all its I/O through the VFS of that name.
    pub async fn open(path: &Path, vfs: &str) -> Result<Self> {
        let store = Store::builder(path)
            .vfs(vfs)
            .readers(READERS)
            .migrations(MIGRATIONS)
            .recognise(|schema| Ok(schema.has_column("message", "mentions")?.then_some(1)))
            .open()
            .await?;
        let messages = store.table("message").open().await?;
        Ok(Self { store, messages })
    }

    pub fn settings(&self) -> &Settings {
        self.store.settings()
    }

    pub async fn close(self) -> Result<()> {
        Ok(self.store.close().await?)
    }
}

impl ScrollbackStore for WalwrightStore {
    type Place = Cursor;

    async fn append(&self, message: Message) -> Result<()> {
        self.messages.insert(&message).await?;
        Ok(())
    }

    async fn backfill(&self, messages: Vec<Message>) -> Result<()> {
        self.messages.insert_many(messages).await?;
        Ok(())
    }

    async fn backlog(
        &self,
        buffer_id: i64,
        before: Option<Cursor>,
    ) -> Result<(Vec<Message>, Option<Cursor>)> {
        let filter = Filter::eq("buffer_id", buffer_id);
        let mut page = self.messages.page().filter(filter).order_by_desc("at_ms").limit(PAGE);
        if let Some(place) = &before {
            page = page.after(place);
        }
        let page = page.await?;
        Ok((page.rows, page.next))
    }

    async fn search(&self, text: String) -> Result<Vec<Message>> {
        let filter = Filter::contains("body", text);
        Ok(self.messages.page().filter(filter).order_by_desc("at_ms").limit(PAGE).await?.rows)
    }

    async fn mentions(&self, nick: &'static str) -> Result<Vec<Message>> {
        let filter = Filter::eq("mentions", nick);
        Ok(self.messages.page().filter(filter).order_by_desc("at_ms").limit(PAGE).await?.rows)
    }
}
