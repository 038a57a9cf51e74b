//! A page of rows, found by what they hold and not by how many come before.

use std::future::IntoFuture;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::cursor::Cursor;
use super::filter::{Filter, known_column};
use super::read::{decoded, rows_of};
use super::stream::RowStream;
use super::table::Table;
use crate::error::ReadError;
use crate::handle::{Read, ReadFuture};
use crate::row::{
    Order, OrderTerm, PageQuery, PageStart, RowPart, RowQuery, RowQueryKind, SearchTerm, Value, total_order,
};
use crate::sqlite::reader::{ReadOutput, TableRows};
use crate::sync::Arc;

const DEFAULT_LIMIT: usize = 100;
const GREATEST_LIMIT: usize = 10_000;

/// A request for a page of rows, made by [`Table::page`]. Await it or [`wait`](Self::wait) for it.
///
/// Walking from page to page with [`after`](Self::after), or backward with [`before`](Self::before), gives every
/// row that is there throughout exactly once, whatever others insert, delete or change meanwhile, also where many
/// rows are equal in the columns of the order. (A row whose own place in the order is changed may be met at its
/// old place, its new one, both or neither.) Each page is one snapshot of its own.
///
/// The columns of the key follow those of the order, in the direction of the last of them, so that every row has a
/// place of its own. NULL comes before everything else, or last in a descending order, as SQLite sorts it. An index
/// on the columns of the order and then the key, such as `(at, id)` for `order_by("at")` of a table with the key
/// `id`, makes each page cost what it returns; if a filter holds one column to one value, put that column first.
/// Without an index every page reads and sorts the whole table.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use walwright::{Cursor, Filter};
///
/// #[derive(Serialize, Deserialize)]
/// struct Message { id: i64, room: String, at: i64 }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, room TEXT NOT NULL, at INTEGER NOT NULL)", ()).wait()?;
/// # store.execute("INSERT INTO message VALUES (1, 'a', 5), (2, 'a', 5), (3, 'b', 5), (4, 'a', 6)", ()).wait()?;
/// let messages = store.table::<Message>("message").open().wait()?;
/// let newest = || messages.page().filter(Filter::eq("room", "a")).order_by_desc("at").limit(2);
/// let ids = |rows: &[Message]| rows.iter().map(|message| message.id).collect::<Vec<_>>();
///
/// let first = newest().wait()?;
/// assert_eq!(ids(&first.rows), [4, 2]);
/// assert!(first.previous.is_none());
///
/// // The cursor goes to a client as a text, and comes back.
/// let text = first.next.expect("there is more").to_string();
/// let cursor: Cursor = text.parse()?;
/// let second = newest().after(&cursor).wait()?;
/// assert_eq!(ids(&second.rows), [1]);
/// assert!(second.next.is_none());
/// # Ok(())
/// # }
/// ```
#[must_use = "a page is read only when it is awaited or waited for"]
pub struct PageRequest<T> {
    pub(super) table: Table<T>,
    search: Option<PageSearch>,
    /// Names of columns, and whether they descend.
    order: Vec<(String, bool)>,
    filter: Option<Filter>,
    limit: usize,
    start: Start,
    pub(super) deadline: Option<Duration>,
}

/// What a page of found rows is found by.
#[derive(Clone)]
pub(crate) struct PageSearch {
    /// `None`: a filter finds them.
    pub(crate) term: Option<SearchTerm>,
    /// The best first.
    pub(crate) is_ranked: bool,
    /// The text is too long to be searched for.
    pub(crate) is_too_long: bool,
}

#[derive(Clone)]
enum Start {
    First,
    Last,
    After(Cursor),
    Before(Cursor),
}

/// Some rows of a table, one after the other in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, always in the order that was asked for, whichever way they were found.
    pub rows: Vec<T>,
    /// Where the page after this one starts: for [`PageRequest::after`].
    ///
    /// Of a page that was read forward (the first one, or after a cursor) it is `None` exactly if no row that meets
    /// the filter came behind in the page's snapshot. A page that was read before a cursor always has one, if it
    /// has rows: it came from there. (If what was there has been deleted, the page after it is empty.) The
    /// [last](PageRequest::last) page has none, and neither has a page without rows.
    pub next: Option<Cursor>,
    /// Where the page before this one ends: for [`PageRequest::before`].
    ///
    /// Of a page that was read backward (the last one, or before a cursor) it is `None` exactly if no row that meets
    /// the filter came before in the page's snapshot. A page that was read after a cursor always has one, if it
    /// has rows. The first page has none, and neither has a page without rows.
    pub previous: Option<Cursor>,
}

impl<T> PageRequest<T> {
    pub(super) fn new(table: Table<T>, search: Option<PageSearch>) -> Self {
        let (order, filter, start) = (Vec::new(), None, Start::First);
        Self { table, search, order, filter, limit: DEFAULT_LIMIT, start, deadline: None }
    }

    /// Orders the rows by this column, smallest first. Of several the first decides, the next where rows are equal in
    /// it, and so on. Default: the order of the key.
    ///
    /// Values compare as the column does: by its collation, and with values of different types in SQLite's order
    /// (NULL, numbers, texts, BLOBs).
    pub fn order_by(mut self, column: impl Into<String>) -> Self {
        self.order.push((column.into(), false));
        self
    }

    /// The same, greatest first.
    pub fn order_by_desc(mut self, column: impl Into<String>) -> Self {
        self.order.push((column.into(), true));
        self
    }

    /// Takes only rows that meet the filter; given several times, all of them.
    ///
    /// A cursor does not remember it: give the same filter for each page.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter {
            Some(before) => before.and(filter),
            None => filter,
        });
        self
    }

    /// How many rows the page has, at most. Default: 100; at least 1, and at most 10,000. Its bytes are bounded, too:
    /// [`StoreBuilder::largest_result`](crate::StoreBuilder::largest_result).
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// Takes the rows right behind this place. Of this call, [`before`](Self::before) and [`last`](Self::last) the
    /// last one counts.
    pub fn after(mut self, cursor: &Cursor) -> Self {
        self.start = Start::After(cursor.clone());
        self
    }

    /// Takes the rows right before this place.
    pub fn before(mut self, cursor: &Cursor) -> Self {
        self.start = Start::Before(cursor.clone());
        self
    }

    /// Takes the last rows of the order.
    pub fn last(mut self) -> Self {
        self.start = Start::Last;
        self
    }

    /// Ends the read if it has no result within this time of being sent: see [`Read::deadline`].
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    pub(super) fn query(&self) -> Result<RowQuery, ReadError> {
        let table = &self.table.shape;
        if !(1..=GREATEST_LIMIT).contains(&self.limit) {
            return Err(ReadError::InvalidLimit { limit: self.limit, greatest: GREATEST_LIMIT });
        }
        let asked = self.order.iter().map(|(name, descending)| {
            Ok(Order { column: known_column(table, name)?, descending: *descending })
        });
        let asked: Vec<_> = asked.collect::<Result<_, ReadError>>()?;
        let mut order = total_order(table, &asked)
            .ok_or_else(|| ReadError::NoTotalOrder { table: table.name.clone() })?;
        if self.search.as_ref().is_some_and(|search| search.is_too_long) {
            return Err(ReadError::SearchTooLong);
        }
        if self.search.as_ref().is_some_and(|search| search.is_ranked) {
            order.insert(0, OrderTerm { of: RowPart::Rank, descending: false, nullable: false });
        }
        let search = self.search.as_ref().and_then(|search| search.term.clone()).map(Box::new);
        let start = match &self.start {
            Start::First | Start::Last => PageStart::Edge,
            Start::After(cursor) | Start::Before(cursor) => PageStart::Behind(cursor.values(table, &order)?),
        };
        let condition = match &self.filter {
            Some(filter) => filter.condition(table)?,
            None => Default::default(),
        };
        let backward = self.is_backward();
        let page = PageQuery { search, condition, order, start, backward, limit: self.limit };
        let columns = Arc::clone(&self.table.columns);
        Ok(RowQuery {
            table: Arc::clone(table),
            columns,
            kind: RowQueryKind::Page(Box::new(page)),
            live: self.table.unexpired(),
        })
    }

    pub(super) fn is_backward(&self) -> bool {
        matches!(self.start, Start::Last | Start::Before(_))
    }

    /// Goes on where a page ended.
    pub(super) fn move_to(&mut self, cursor: Cursor) {
        self.start = if self.is_backward() { Start::Before(cursor) } else { Start::After(cursor) };
    }
}

impl<T: DeserializeOwned> PageRequest<T> {
    /// Reads the page and blocks the thread until it is there.
    ///
    /// # Errors
    /// Before anything is queued: [`ReadError::UnknownColumn`], [`ReadError::InvalidLimit`],
    /// [`ReadError::InvalidCursor`] for a cursor of another table, order or key,
    /// [`ReadError::InvalidFilter`] and [`ReadError::InvalidValue`] for what is wrong with the filter, and
    /// [`ReadError::NoTotalOrder`]. Then those of every read; and those of [`Read::wait`].
    pub fn wait(self) -> Result<Page<T>, ReadError> {
        self.read().wait()
    }

    /// All rows from here on, read page by page, each of [`limit`](Self::limit) rows. See [`RowStream`].
    pub fn stream(self) -> RowStream<T> {
        RowStream::new(self)
    }

    pub(super) fn read(&self) -> Read<Page<T>> {
        let read = self.table.ask(self.query(), page_of);
        match self.deadline {
            Some(deadline) => read.deadline(deadline),
            None => read,
        }
    }
}

impl<T: DeserializeOwned> IntoFuture for PageRequest<T> {
    type Output = Result<Page<T>, ReadError>;
    type IntoFuture = ReadFuture<Page<T>>;

    fn into_future(self) -> ReadFuture<Page<T>> {
        self.read().into_future()
    }
}

fn page_of<T: DeserializeOwned>(output: ReadOutput) -> Result<Page<T>, ReadError> {
    page_of_rows(rows_of(output))
}

pub(super) fn page_of_rows<T: DeserializeOwned>(mut found: TableRows) -> Result<Page<T>, ReadError> {
    let RowQueryKind::Page(page) = &found.query.kind else {
        unreachable!("a question for a page is answered with its rows")
    };
    let backward = page.backward;
    let came_from_a_row = matches!(page.start, PageStart::Behind(_));
    let near = if came_from_a_row { found.rows.first() } else { None };
    let far = if found.more { found.rows.last() } else { None };
    let near = near.map(|row| cursor_of(&found, page, row));
    let far = far.map(|row| cursor_of(&found, page, row));
    let (previous, next) = if backward { (far, near) } else { (near, far) };
    if backward {
        found.rows.reverse();
    }
    Ok(Page { rows: decoded(found)?, next, previous })
}

/// The cursor of a row that was found.
fn cursor_of(found: &TableRows, page: &PageQuery, row: &[Value]) -> Cursor {
    let selected = found.query.selected();
    let place = |of| selected.iter().position(|part| *part == of);
    let values = page.order.iter().filter_map(|term| place(term.of).and_then(|at| row.get(at)));
    Cursor::new(&found.query.table, &page.order, &values.collect::<Vec<_>>())
}
