//! The handle of a search index.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::check::{self, SearchCheck};
use super::definition::IndexDefinition;
use super::request::SearchIndexRequest;
use super::schema;
use super::state::{BuildEnd, IndexState, SearchIndexes};
use super::text::{SearchPlan, SearchText};
use crate::error::{SearchIndexError, WriteError};
use crate::handle::{Latch, Process, Read, block_on, may_wait_for_write};
use crate::row::{SearchTerm, Value, quoted};
use crate::sqlite::SEARCH_TABLE;
use crate::sync::{Arc, Mutex};
use crate::table::{Filter, PageRequest, PageSearch, Table};

/// A handle of a search index: finds rows of a table by what somebody typed. Made by [`Table::search_index`]; cheap to
/// clone.
///
/// The index is in the database file and in step with the table from the moment it is made, whatever changes a row:
/// row commands, statements, closures, cascades, REPLACE, other programs. It is part of the transaction that
/// changes the row. A search reads one snapshot on a reader, and holds up no write.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use walwright::Filter;
///
/// #[derive(Serialize, Deserialize)]
/// struct Message { id: i64, room: String, at: i64, text: String }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, room TEXT NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL)", ()).wait()?;
/// # store.execute("INSERT INTO message VALUES (1, 'a', 5, 'up 50%'), (2, 'a', 6, 'Up 50%!'), (3, 'b', 7, 'up 500')", ()).wait()?;
/// let messages = store.table::<Message>("message").open().wait()?;
/// let index = messages.search_index("message_search").columns(["text"]).substrings().open().wait()?;
/// index.ready().wait()?;
///
/// // The newest first, in one room, page by page.
/// let found = index.find("up 50%").filter(Filter::eq("room", "a")).order_by_desc("at").limit(50).wait()?;
/// assert_eq!(found.rows.iter().map(|message| message.id).collect::<Vec<_>>(), [2, 1]);
///
/// // The best first.
/// assert_eq!(index.find_ranked("500").wait()?.rows[0].id, 3);
/// # Ok(())
/// # }
/// ```
///
/// # What it costs
///
/// A table with an index has triggers, so that its row commands are carried out one after the other (they do not
/// coalesce), and each takes some 0.1 to 0.3 ms more on the writer for a text of 100 letters in an index of
/// substrings. The file grows by the size of the texts and more (substrings: two to three times; words: half).
///
/// Open each index whenever the store is opened. One that is not is kept in step all the same, but the store does not
/// look after it: searches slow down bit by bit, and what it takes for rows that are gone is not given back.
///
/// # When it is damaged
///
/// A damaged page of the index fails searches with [`ReadError::IndexDamaged`](crate::ReadError::IndexDamaged), and
/// changes of the table with [`WriteError::Corrupt`](crate::WriteError::Corrupt), each by itself, as if it had not been
/// sent. Nothing of the table is lost. [`rebuild`](Self::rebuild) makes the index anew from the table, and
/// [`drop_index`](Self::drop_index) makes the table writable without it.
///
/// Ask [`check`](Self::check) whether it is damaged. `PRAGMA integrity_check` as a query of the store may say so of an
/// index that is whole: FTS5 then goes by what the reader's last search remembers.
pub struct SearchIndex<T> {
    table: Table<T>,
    definition: Arc<IndexDefinition>,
    state: Arc<IndexState>,
}

// By hand: a derived one would ask `T` to be `Clone`.
impl<T> Clone for SearchIndex<T> {
    fn clone(&self) -> Self {
        let (definition, state) = (Arc::clone(&self.definition), Arc::clone(&self.state));
        Self { table: self.table.clone(), definition, state }
    }
}

impl<T> std::fmt::Debug for SearchIndex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

/// How far building is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchProgress {
    /// Rows that were put in.
    pub done: u64,
    /// So many rows are left at most: it is a span of numbers, in which there may be gaps. 0 if the index is ready.
    pub left_at_most: u64,
}

impl SearchProgress {
    /// Whether the index can be searched.
    pub fn is_ready(&self) -> bool {
        self.left_at_most == 0
    }
}

impl<T: 'static> SearchIndex<T> {
    pub(super) fn new(table: Table<T>, definition: Arc<IndexDefinition>, state: Arc<IndexState>) -> Self {
        Self { table, definition, state }
    }

    /// The index's name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Starts a request for a page of the rows that this finds: the first 100 in the order of the key, unless it is told
    /// otherwise. See [`PageRequest`] for filters, orders, limits and cursors, and [`SearchText`] for what is found.
    ///
    /// In the order of the `INTEGER PRIMARY KEY`, in either direction, a page costs what it returns. In any other
    /// order up to a thousand rows that are found are sorted for each page, which takes next to no time. Of a text that
    /// more rows hold a page is found in the rows that come first, if an index gives them in this order (and for the
    /// filter: see [`PageRequest`]). That takes some milliseconds, however many hold it. Without such an index all that
    /// are found are sorted for each page, about a second for a million of them; so they are where the filter leaves few
    /// rows that no index leads to, or where the order has nothing to do with that in which rows came.
    ///
    /// A cursor of an ordinary page with the same order fits, and the other way round. A text with nothing to look for
    /// in it (it is empty, or only blanks; for words, only signs) finds nothing.
    ///
    /// # Errors
    /// Those of a page; [`ReadError::IndexNotReady`](crate::ReadError::IndexNotReady) while the index is built,
    /// [`ReadError::NoSearchIndex`](crate::ReadError::NoSearchIndex) if it was dropped,
    /// [`ReadError::IndexDamaged`](crate::ReadError::IndexDamaged), and
    /// [`ReadError::SearchTooLong`](crate::ReadError::SearchTooLong) for more than 1,000 characters.
    pub fn find(&self, text: impl Into<SearchText>) -> PageRequest<T> {
        self.page(text.into(), false)
    }

    /// The same, but the rows that fit best come first: those in which the text stands more often, and takes up more of
    /// the row (FTS5's `bm25`). Rows that fit equally well come in the orders that are asked for, then in that of the
    /// key. All rows that are found are ranked for each page.
    ///
    /// How well a row fits depends on all others. Where no row comes, goes or changes between two pages,
    /// nothing is lost and nothing repeats; otherwise rows near the edge of a page may do either. Rows that were
    /// found by a text of one or two characters in an index of substrings fit equally well.
    pub fn find_ranked(&self, text: impl Into<SearchText>) -> PageRequest<T> {
        self.page(text.into(), true)
    }

    fn page(&self, text: SearchText, is_ranked: bool) -> PageRequest<T> {
        let index = &self.definition;
        let mut search = PageSearch { term: None, is_ranked, is_too_long: false };
        let mut filter = None;
        match text.plan(index.mode) {
            SearchPlan::Ask(query) => {
                search.term = Some(SearchTerm { index: index.name.clone(), query: Value::Text(query) });
            }
            SearchPlan::Look(text) => {
                let columns = index.columns.iter().filter_map(|column| index.table.columns.get(*column));
                let contains = columns.map(|column| Filter::contains(column.name.as_str(), text.as_str()));
                filter = contains.reduce(Filter::or);
            }
            SearchPlan::Nothing => filter = Some(Filter::sql("0", ())),
            SearchPlan::TooLong => search.is_too_long = true,
        }
        let page = self.table.page_of_found(search);
        match filter {
            Some(filter) => page.filter(filter),
            None => page,
        }
    }

    /// How far building is. Reads one row.
    ///
    /// # Errors
    /// See [`ReadError`](crate::ReadError).
    pub fn progress(&self) -> Read<SearchProgress> {
        let index = Arc::clone(&self.definition);
        self.table.store().read(move |db| {
            let place = format!("SELECT done, next, last FROM {SEARCH_TABLE} WHERE name = ?1");
            let place = db.query_optional(&place, [&index.name], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })?;
            let Some((done, next, last)) = place else {
                return Ok(SearchProgress { done: 0, left_at_most: 0 });
            };
            let first = format!("SELECT min({}) FROM {}", index.key_column(), quoted(&index.table.name));
            let first: Option<i64> = db.query_row(&first, [], |row| row.get(0))?;
            let next = next.max(first.unwrap_or(last));
            // Without rows the walk has yet to see that there are none.
            let left = i128::from(last) - i128::from(next) + 1;
            let left_at_most = u64::try_from(left).unwrap_or(0).max(1);
            Ok(SearchProgress { done: done.unsigned_abs(), left_at_most })
        })
    }

    /// Waits until the index can be searched. At once, if it can be.
    ///
    /// The engine builds it in slices of some 8 ms between what others write: so long can one of their commands be held
    /// up. While others write, it takes a quarter of the writer's time at most. After a restart it goes on where it
    /// stood, once the index is opened again.
    pub fn ready(&self) -> SearchReady {
        // In a forked child no lock is touched.
        let ended = (!self.table.store().engine().is_forked()).then(|| self.state.ended());
        SearchReady { index: self.definition.name.clone(), ended, process: Process::current() }
    }

    /// Drops the index's content and builds it anew behind the running store; what changes meanwhile is right. Until it
    /// is [`ready`](Self::ready), searches fail with
    /// [`ReadError::IndexNotReady`](crate::ReadError::IndexNotReady).
    ///
    /// It does not need the old content, which may be damaged. Freeing its pages takes the writer, for about
    /// a second for 500 MB.
    ///
    /// # Errors
    /// See [`SearchIndexError`]. After any of them the index is as it was.
    pub fn rebuild(&self) -> SearchIndexRequest<()> {
        let wanted = Arc::clone(&self.definition);
        let engine = Arc::downgrade(&self.table.store().engine_handle());
        let write = self.table.store().write(move |tx| {
            // Here, since the future may be dropped once this is admitted.
            if let Some(engine) = engine.upgrade() {
                SearchIndexes::reopen(&engine, &wanted.name);
            }
            schema::rebuild(tx, &wanted)
        });
        let (store, index) = (self.table.store().clone(), Arc::clone(&self.definition));
        SearchIndexRequest::new(write, move |is_waiting| {
            SearchIndexes::keep(&store, &index, is_waiting)?;
            Ok(())
        })
    }

    /// Compares the index with the table, on a reader: see [`SearchCheck`].
    ///
    /// It reads all of the index, a million messages in some ten seconds, and counts as one read: raise
    /// [`StoreBuilder::read_age`](crate::StoreBuilder::read_age) if that is not enough for it.
    ///
    /// # Errors
    /// See [`ReadError`](crate::ReadError). That the index is damaged or out of step is no error but its result.
    pub fn check(&self) -> Read<SearchCheck> {
        let index = Arc::clone(&self.definition);
        self.table.store().read(move |db| check::check(db, &index))
    }

    /// Drops the index, with its triggers. Other handles of it fail from then on with
    /// [`ReadError::NoSearchIndex`](crate::ReadError::NoSearchIndex).
    ///
    /// # Errors
    /// See [`SearchIndexError`]. After any of them the index is as it was. It is no error if there is none.
    pub fn drop_index(&self) -> SearchIndexRequest<()> {
        let wanted = Arc::clone(&self.definition);
        let engine = Arc::downgrade(&self.table.store().engine_handle());
        let dropped = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&dropped);
        let write = self.table.store().write(move |tx| {
            *noted.lock() = engine.upgrade().and_then(|engine| SearchIndexes::opened(&engine, &wanted.name));
            Ok(schema::remove(tx, &wanted)?.map(|()| false))
        });
        let (store, index) = (self.table.store().clone(), Arc::clone(&self.definition));
        SearchIndexRequest::new(write, move |_| {
            SearchIndexes::forget(store.engine(), &index.name, dropped.lock().take());
            Ok(())
        })
    }
}

/// Waits until a search index can be searched. Await it or [`wait`](Self::wait) for it.
///
/// It does not keep the store open.
///
/// # Errors
/// [`SearchIndexError::Dropped`], and [`SearchIndexError::Closed`] if the store closes first. In a
/// [`SearchIndexError::Write`] [`WriteError::Forked`] in a forked child: it is the parent who builds the index.
#[must_use = "nobody waits before this is awaited or waited for"]
pub struct SearchReady {
    index: String,
    /// `None` in a forked child from the start.
    ended: Option<Arc<Latch<BuildEnd>>>,
    process: Process,
}

impl SearchReady {
    /// Blocks the thread until the index can be searched.
    ///
    /// # Errors
    /// Those of awaiting it, and in a [`SearchIndexError::Write`] [`WriteError::Reentrant`] or
    /// [`WriteError::WouldBlockRuntime`] where waiting is not possible.
    pub fn wait(self) -> Result<(), SearchIndexError> {
        may_wait_for_write().map_err(SearchIndexError::Write)?;
        block_on(self.into_future())
    }
}

impl Future for SearchReady {
    type Output = Result<(), SearchIndexError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // On one of the store's threads it may wait for itself.
        if let Err(error @ WriteError::Reentrant { .. }) = may_wait_for_write() {
            return Poll::Ready(Err(SearchIndexError::Write(error)));
        }
        let Some(ended) = self.ended.as_ref().filter(|_| !self.process.was_forked()) else {
            return Poll::Ready(Err(SearchIndexError::Write(WriteError::Forked { admitted: true })));
        };
        ended.poll_copy(context).map(|end| match end {
            BuildEnd::Ready => Ok(()),
            BuildEnd::Dropped => Err(SearchIndexError::Dropped { index: self.index.clone() }),
            BuildEnd::Closed => Err(SearchIndexError::Closed),
        })
    }
}
