//! A page of rows and what follows it, without a gap and without a repeat.
//!
//! The writer knows the order of commits, a reader its snapshot. To bring the two together, the writer puts its last
//! sequence down in the engine's table with each commit, within the same transaction, as long as a live view is being
//! made. The view subscribes, asks for that, and sends a command that does nothing: from that one's commit on each
//! snapshot tells where it stands, and each later change is in the stream. Nobody waits for a lock, and nothing is tried
//! again.

use serde::de::DeserializeOwned;

use super::page::{Page, PageRequest, page_of_rows};
use crate::error::{LiveError, ReadError};
use crate::handle::{ChangeStream, Read, Receipt, Write};
use crate::protocol::level::AckLevel;
use crate::row::RowQuery;
use crate::sqlite::reader::{ReadOutput, ReadTask};
use crate::sqlite::writer::WriteTask;

/// A page of rows and the changes of its table that are not in it. Made by [`PageRequest::live`].
#[derive(Debug)]
#[non_exhaustive]
pub struct LiveView<T> {
    /// The rows.
    pub page: Page<T>,
    /// Every change of the table that was committed behind the page's snapshot, each once, and none that the page
    /// shows already. They are those of the whole table: the page's filter and limit do not confine them.
    pub changes: ChangeStream,
    /// The last commit that the page shows.
    pub sequence: u64,
}

/// What has to be done for a live view, in this order, while `_placing` lives.
struct Making<T> {
    changes: ChangeStream,
    mark: Write<Receipt>,
    read: Read<(Page<T>, u64)>,
    _placing: Box<dyn Send>,
}

/// Live views.
impl<T: DeserializeOwned> PageRequest<T> {
    /// Reads the page, and gives with it a stream of every change of the table that is not in the page's snapshot: none
    /// is missing, none comes twice. See [`ChangeStream`] for what is told of what.
    ///
    /// [`Change::Anything`](crate::Change::Anything) may tell of another program's write that the page shows already.
    /// While views are being made, each commit writes one page more, of the engine's own table. A
    /// [`deadline`](Self::deadline) holds for each of the two steps: finding the place in the order of commits, and
    /// reading.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use walwright::Change;
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Message { id: i64, text: String }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let store = walwright::Store::temporary().open().await?;
    /// # store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT NOT NULL)", ()).await?;
    /// let messages = store.table::<Message>("message").open().await?;
    /// messages.insert(&Message { id: 1, text: "before".into() }).await?;
    ///
    /// let mut view = messages.page().order_by_desc("id").limit(50).live().await?;
    /// assert_eq!(view.page.rows[0].text, "before");
    ///
    /// messages.insert(&Message { id: 2, text: "behind".into() }).await?;
    /// let Some(Ok(Change::Row(row))) = view.changes.next().await else { panic!("a row") };
    /// assert_eq!(row.key.values(), Some(&[2.into()][..]));
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LiveError::Read`] as for a [page](Self::wait). [`LiveError::Write`] when the writer cannot say where the
    /// snapshot stands; it has written nothing of the program's.
    pub async fn live(self) -> Result<LiveView<T>, LiveError> {
        let Making { changes, mark, read, _placing } = self.make()?;
        let mark = mark.await.map_err(LiveError::Write)?;
        let read = read.await.map_err(LiveError::Read)?;
        view(changes, mark, read)
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// Those of [`live`](Self::live), and those of [`Write::wait`].
    pub fn wait_live(self) -> Result<LiveView<T>, LiveError> {
        let Making { changes, mark, read, _placing } = self.make()?;
        let mark = mark.wait().map_err(LiveError::Write)?;
        let read = read.wait().map_err(LiveError::Read)?;
        view(changes, mark, read)
    }

    fn make(&self) -> Result<Making<T>, LiveError> {
        let query = self.query().map_err(LiveError::Read)?;
        let store = &self.table.store;
        // In this order: whatever is committed with the mark, or later, is in the stream and puts its place down.
        let changes = self.table.changes();
        let placing = Box::new(store.engine().changes.place_commits());
        let nothing = WriteTask::Batch(Vec::new());
        let mut mark = store.write_task(Ok(nothing), |output| Ok(output.receipt)).ack(AckLevel::Committed);
        let mut read = self.placed(query);
        if let Some(deadline) = self.deadline {
            mark = mark.deadline(deadline);
            read = read.deadline(deadline);
        }
        Ok(Making { changes, mark, read, _placing: placing })
    }

    fn placed(&self, query: RowQuery) -> Read<(Page<T>, u64)> {
        let task = Ok(ReadTask::PlacedRows(query));
        Read::new(self.table.store.clone(), task, |output| match output {
            ReadOutput::PlacedRows(rows, place) => Ok::<_, ReadError>((page_of_rows(rows)?, place)),
            _ => unreachable!("a question for rows and their place is answered with both"),
        })
    }
}

fn view<T>(
    mut changes: ChangeStream,
    mark: Receipt,
    (page, sequence): (Page<T>, u64),
) -> Result<LiveView<T>, LiveError> {
    // Every snapshot from the mark on has the mark's sequence or a later one.
    if sequence < mark.sequence {
        return Err(LiveError::Unplaced);
    }
    changes.skip_to(sequence);
    Ok(LiveView { page, changes, sequence })
}
