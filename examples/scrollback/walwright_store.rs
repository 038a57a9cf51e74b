//! The same on Walwright: the old file is adopted, and each task sends what it has.
//!
//! What came while the daemon was away is one command of many rows, whose pieces share their syncs with the messages
//! that come meanwhile. Pages, searches and mentions run on readers beside that, and wait for none of it.

use crate::Result;
use crate::message::{BUFFERS, Message, OLD_SCHEMA};
use crate::scrollback_store::{PAGE, ScrollbackStore};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use walwright::{
    Cursor, Filter, Fixup, Migration, Retention, SearchIndex, Settings, Store, StoreBuilder, Table,
};

/// The first is what the old file has.
const MIGRATIONS: &[Migration] = &[
    Migration::sql(OLD_SCHEMA),
    Migration::sql(
        "CREATE TABLE marker (nick TEXT, buffer_id INTEGER, read_to INTEGER, PRIMARY KEY (nick, buffer_id))",
    ),
];
const READERS: usize = 4;
/// What the old file lacks for mentions. Nobody has to wait for it at the opening.
const INDEX_OF_MENTIONS: &str =
    "CREATE INDEX message_mentions ON message (mentions, at_ms) WHERE mentions IS NOT NULL";

/// Between two looks whether the sweep is done.
const LOOK: Duration = Duration::from_millis(250);
/// So long after the last row or page went it is over. Freed space is looked for every ten seconds.
const NOTHING_GOES: Duration = Duration::from_secs(15);

#[derive(Clone)]
pub struct WalwrightStore {
    store: Store,
    messages: Table<Message>,
    search: SearchIndex<Message>,
}

impl WalwrightStore {
    /// Opens the file at `path`, with all its I/O through the VFS of that name. Indexes for search and mentions are
    /// built behind the open store.
    pub async fn open(path: &Path, vfs: &str) -> Result<Self> {
        let store = builder(path, vfs).fixup(Fixup::sql("index mentions", INDEX_OF_MENTIONS)).open().await?;
        let messages: Table<Message> = store.table("message").open().await?;
        let search = open_search(&messages).await?;
        Ok(Self { store, messages, search })
    }

    /// Waits until searches and mentions go by their indexes.
    pub async fn ready(&self) -> Result<()> {
        self.store.fixups_done().await?;
        Ok(self.search.ready().await?)
    }

    /// Opens the file again, rebuilt so that it can shrink, with a sweep of all but the newest messages of each buffer,
    /// and waits until the space that this frees, also in the search index, is given back. Gives how many messages were
    /// there before and after.
    pub async fn sweep(path: &Path, vfs: &str, newest: u32) -> Result<(u64, u64)> {
        let policy = Retention::of("message").newest(newest, "buffer_id", "at_ms");
        let store = builder(path, vfs).open().await?;
        let messages: Table<Message> = store.table("message").open().await?;
        let before = messages.count().await?;
        store.close().await?;
        let store = builder(path, vfs).rebuild_to_reclaim().retention(policy).open().await?;
        let messages: Table<Message> = store.table("message").open().await?;
        let search = open_search(&messages).await?;
        let most = u64::from(newest) * BUFFERS.unsigned_abs();
        let (mut seen, mut since) = (u64::MAX, Instant::now());
        while messages.count().await? > most || is_at_work(&store) || has_much_free(&store).await? {
            let slices = store.stats().chores.iter().map(|chore| chore.rows).sum();
            if std::mem::replace(&mut seen, slices) != slices {
                since = Instant::now();
            } else if since.elapsed() > NOTHING_GOES {
                break;
            }
            sleep(LOOK).await;
        }
        drop(search);
        let after = messages.count().await?;
        store.close().await?;
        Ok((before, after))
    }

    pub fn settings(&self) -> &Settings {
        self.store.settings()
    }

    pub async fn close(self) -> Result<()> {
        Ok(self.store.close().await?)
    }
}

fn builder(path: &Path, vfs: &str) -> StoreBuilder {
    Store::builder(path)
        .vfs(vfs)
        .readers(READERS)
        .migrations(MIGRATIONS)
        .recognise(|schema| Ok(schema.has_column("message", "mentions")?.then_some(1)))
}

async fn open_search(messages: &Table<Message>) -> Result<SearchIndex<Message>> {
    Ok(messages.search_index("message_search").columns(["body"]).substrings().open().await?)
}

/// Whether something is being done in the background.
fn is_at_work(store: &Store) -> bool {
    store.stats().chores.iter().any(|chore| chore.working_for.is_some())
}

/// Whether more than an eighth of the file is free, and not just a few pages, which is when the store gives space back.
async fn has_much_free(store: &Store) -> Result<bool> {
    let sql = "SELECT freelist_count >= 64 AND freelist_count * 8 > page_count FROM pragma_freelist_count, pragma_page_count";
    Ok(store.query(sql, ()).await?[0].get(0)?)
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
        Ok(self.search.find(text).order_by_desc("at_ms").limit(PAGE).await?.rows)
    }

    async fn mentions(&self, nick: &'static str) -> Result<Vec<Message>> {
        let filter = Filter::eq("mentions", nick);
        Ok(self.messages.page().filter(filter).order_by_desc("at_ms").limit(PAGE).await?.rows)
    }
}
