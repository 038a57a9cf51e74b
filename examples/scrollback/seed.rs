//! The store as such a daemon is first written, which is what Walwright is compared with.
//!
//! One connection behind a mutex for everything; rollback journal (`journal_mode=DELETE`), `synchronous=FULL`, every
//! message its own commit, a search with LIKE that holds the same lock. It is no straw man in the rest: statements stay
//! prepared, blocking calls run on the runtime's blocking threads, pages are found by an index and by what they
//! hold, not by how many come before.

use crate::Result;
use crate::message::Message;
use crate::scrollback_store::{PAGE, ScrollbackStore};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Row, params};
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;

const INSERT: &str =
    "INSERT INTO message (buffer_id, sender, at_ms, mentions, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const COLUMNS: &str = "SELECT id, buffer_id, sender, at_ms, mentions, body FROM message";

#[derive(Clone)]
pub struct Seed(Arc<Mutex<Connection>>);

impl Seed {
    /// Opens the file at `path`, with all its I/O through the VFS of that name.
    pub async fn open(path: &Path, vfs: &str) -> Result<Self> {
        let (path, vfs) = (path.to_owned(), vfs.to_owned());
        let open = move || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs.as_str())?;
            connection.pragma_update(None, "journal_mode", "DELETE")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(connection)
        };
        Ok(Self(Arc::new(Mutex::new(spawn_blocking(open).await??))))
    }

    async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let connection = self.0.clone();
        Ok(spawn_blocking(move || work(&connection.lock())).await??)
    }
}

impl ScrollbackStore for Seed {
    type Place = (i64, i64);

    async fn append(&self, message: Message) -> Result<()> {
        self.run(move |db| {
            let Message { buffer_id, sender, at_ms, mentions, body, .. } = message;
            let mut insert = db.prepare_cached(INSERT)?;
            insert.execute(params![buffer_id, sender, at_ms, mentions, body]).map(drop)
        })
        .await
    }

    async fn backfill(&self, messages: Vec<Message>) -> Result<()> {
        for message in messages {
            self.append(message).await?;
        }
        Ok(())
    }

    async fn backlog(
        &self,
        buffer_id: i64,
        before: Option<(i64, i64)>,
    ) -> Result<(Vec<Message>, Option<(i64, i64)>)> {
        let (at_ms, id) = before.unwrap_or((i64::MAX, i64::MAX));
        let page = self
            .run(move |db| {
                let sql = format!(
                    "{COLUMNS} WHERE buffer_id = ?1 AND (at_ms, id) < (?2, ?3) ORDER BY at_ms DESC, id DESC LIMIT {PAGE}"
                );
                messages(db, &sql, params![buffer_id, at_ms, id])
            })
            .await?;
        let place = page.last().and_then(|last| Some((last.at_ms, last.id?)));
        Ok((page, place))
    }

    async fn search(&self, text: String) -> Result<Vec<Message>> {
        let pattern = walwright::like_contains(&text);
        self.run(move |db| {
            let sql =
                format!("{COLUMNS} WHERE body LIKE ?1 ESCAPE '\\' ORDER BY at_ms DESC, id DESC LIMIT {PAGE}");
            messages(db, &sql, [pattern])
        })
        .await
    }

    async fn mentions(&self, nick: &'static str) -> Result<Vec<Message>> {
        self.run(move |db| {
            let sql = format!("{COLUMNS} WHERE mentions = ?1 ORDER BY at_ms DESC, id DESC LIMIT {PAGE}");
            messages(db, &sql, [nick])
        })
        .await
    }
}

fn messages(db: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Vec<Message>> {
    db.prepare_cached(sql)?.query_map(params, message_from_row)?.collect()
}

fn message_from_row(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: row.get(0)?,
        buffer_id: row.get(1)?,
        sender: row.get(2)?,
        at_ms: row.get(3)?,
        mentions: row.get(4)?,
        body: row.get(5)?,
    })
}
