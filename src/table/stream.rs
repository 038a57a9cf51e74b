//! Many rows, one after the other.

use std::vec;

use serde::de::DeserializeOwned;

use super::page::{Page, PageRequest};
use crate::error::ReadError;

/// Rows of a table, one after the other, made by [`Table::stream`](super::Table::stream) and
/// [`PageRequest::stream`]. There is no limit to how many.
///
/// They are read in pages of [`PageRequest::limit`] rows (100 by default, 10,000 at most), the next one when the last
/// row of the one before was taken; so the memory is that of one page, and each page is a snapshot of its own. A
/// row that is there throughout comes exactly once, whatever others insert and delete meanwhile. For one snapshot of
/// everything, ask for one page or use [`Store::read`](crate::Store::read).
///
/// Rows come in the order that was asked for. A stream that starts at [`PageRequest::last`] or
/// [`PageRequest::before`] walks backward: the nearest row first, against the order. A
/// [deadline](PageRequest::deadline) is one for each page.
///
/// Dropping the future of [`next`](Self::next) loses no row. The stream ends with the last row, or after an error
/// that [cannot be retried](ReadError::is_retryable); after one that can, the next call reads the same page again.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use walwright::Filter;
///
/// #[derive(Serialize, Deserialize)]
/// struct Session { id: String, expires_at_ms: i64 }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let store = walwright::Store::temporary().open().await?;
/// # store.execute("CREATE TABLE session (id TEXT PRIMARY KEY, expires_at_ms INTEGER NOT NULL)", ()).await?;
/// # store.execute("INSERT INTO session VALUES ('a', 1), ('b', 2), ('c', 9)", ()).await?;
/// let sessions = store.table::<Session>("session").open().await?;
/// let mut expired = sessions.page().filter(Filter::sql("expires_at_ms < ?", (5,))).stream();
/// let mut ids = Vec::new();
/// while let Some(session) = expired.next().await {
///     ids.push(session?.id);
/// }
/// assert_eq!(ids, ["a", "b"]);
/// # Ok(())
/// # })
/// # }
/// ```
#[must_use = "a stream reads only when its rows are taken"]
pub struct RowStream<T> {
    request: PageRequest<T>,
    rows: vec::IntoIter<T>,
    /// No page follows the one whose rows are being given.
    is_over: bool,
}

impl<T: DeserializeOwned> RowStream<T> {
    pub(super) fn new(request: PageRequest<T>) -> Self {
        Self { request, rows: Vec::new().into_iter(), is_over: false }
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// Those of a [page](PageRequest::wait).
    pub async fn next(&mut self) -> Option<Result<T, ReadError>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            if self.is_over {
                return None;
            }
            let page = self.request.read().await;
            if let Err(error) = self.take(page) {
                return Some(Err(error));
            }
        }
    }

    /// The next row, for a thread that may block; `None` after the last.
    ///
    /// # Errors
    /// Those of [`next`](Self::next), and those of [`Read::wait`](crate::Read::wait).
    pub fn wait_next(&mut self) -> Option<Result<T, ReadError>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            if self.is_over {
                return None;
            }
            let page = self.request.read().wait();
            if let Err(error) = self.take(page) {
                return Some(Err(error));
            }
        }
    }

    fn take(&mut self, page: Result<Page<T>, ReadError>) -> Result<(), ReadError> {
        let page = page.inspect_err(|error| self.is_over = !error.is_retryable())?;
        let Page { mut rows, next, previous } = page;
        let behind = if self.request.is_backward() {
            rows.reverse();
            previous
        } else {
            next
        };
        match behind {
            Some(cursor) => self.request.move_to(cursor),
            None => self.is_over = true,
        }
        self.rows = rows.into_iter();
        Ok(())
    }
}
