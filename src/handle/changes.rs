//! Taking what was committed, one change after the other.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use super::blocking::{self, MustNotWait};
use super::engine::Engine;
use super::process::Process;
use crate::changes::{Change, ChangeSubscription};
use crate::error::{ChangesError, StoreFailure};
use crate::protocol::feed::Delivery;
use crate::sync::Arc;

/// What was committed, one change after the other, in the order of commits. Made by
/// [`Store::changes`](crate::Store::changes) and [`Table::changes`](crate::Table::changes).
///
/// A change is told once it is as safe as the answer to its command promises: of durable commands nothing is told
/// that a power cut could take back. Who has the receipt of a command finds its changes here. A command that failed or
/// was undone is never told, and one that had to be carried out anew is told once.
///
/// # What is told
///
/// Every command that is sent after the stream was made; of commands in progress, some. The stream ends when the store
/// is closed, and with [`ChangesError::Stopped`] when it has failed. It does not keep the store open.
///
/// | what | how it is told |
/// |---|---|
/// | [row commands](crate::Table), of whatever kind and table, one by one, in batches or many as one | each row with key and revision. Of commands that were coalesced each its own, as if they had been carried out one after the other. A row that gets another key is deleted and inserted. |
/// | statements, batches and closures, triggers and foreign-key actions, on tables with rowids | each row: by its key if that is an INTEGER PRIMARY KEY, else [by its rowid](crate::ChangeKey::Rowid). A DELETE of a whole table too. |
/// | the same on tables WITHOUT ROWID and on virtual tables | [`Change::Table`] |
/// | REPLACE (in a statement, a table's `ON CONFLICT`, a trigger) | [`Change::Table`] for the tables in which it may have removed rows |
/// | SQL that gives rows another rowid | [`Change::Table`] |
/// | a table that SQL makes, drops, alters or renames | [`Change::Table`], for both names |
/// | a row command whose own table is changed by a trigger, too | its own row, and [`Change::Table`] behind it |
/// | a statement that failed in a closure after it had changed rows, if the closure goes on | [`Change::Table`] for the tables that the closure writes |
/// | more than 10,000 rows changed by SQL in one transaction, or rows by one `delete_where` or `update_where` that is atomic | [`Change::Table`] |
/// | another program writes | [`Change::Anything`], in its place, when the next command finds it |
///
/// Never told: a command that changed nothing, and what is written to the tables of the engine (search indexes are
/// among them), of SQLite, and behind virtual tables. For one command and table either every row is told, or
/// [`Change::Table`] behind those that are.
///
/// # Keeping up
///
/// The writer waits for no subscriber. What is not taken is kept, within the limits of
/// [`StoreBuilder::change_buffer`](crate::StoreBuilder::change_buffer); beyond them changes are missed, and
/// [`Change::Lagged`] stands in their place. While nobody subscribes nothing is recorded.
///
/// ```
/// use walwright::{Change, Operation};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let store = walwright::Store::temporary().open().await?;
/// store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)", ()).await?;
/// let mut changes = store.changes();
/// let receipt = store.execute("INSERT INTO note VALUES (7, 'a')", ()).await?;
/// store.close().await?;
///
/// while let Some(change) = changes.next().await {
///     match change? {
///         Change::Row(row) => {
///             assert_eq!((row.sequence, &*row.table, row.operation), (receipt.sequence, "note", Operation::Insert));
///             assert_eq!(row.key.values(), Some(&[7.into()][..]));
///         }
///         // Read again what is kept in memory: of one table, or of all.
///         other => println!("{:?} has changed", other.table()),
///     }
/// }
/// # Ok(())
/// # })
/// # }
/// ```
#[must_use = "changes are kept for the stream until they are taken"]
pub struct ChangeStream {
    /// `None` in a forked child from the start.
    subscription: Option<ChangeSubscription>,
    process: Process,
    /// Changes up to this sequence are known already.
    behind: u64,
    is_over: bool,
}

impl ChangeStream {
    /// Subscribes. With a table, to what may concern that one.
    pub(crate) fn new(engine: &Engine, table: Option<&str>) -> Self {
        let subscription = (!engine.is_forked()).then(|| engine.changes.subscribe(table.map(Arc::from)));
        Self { subscription, process: Process::current(), behind: 0, is_over: false }
    }

    /// Leaves out what was done up to this sequence. What another program did has no place among the sequences, and
    /// stays.
    pub(crate) fn skip_to(&mut self, sequence: u64) {
        self.behind = sequence;
    }

    /// The next change; `None` after the last, when the store is closed.
    ///
    /// Dropping the future loses no change.
    ///
    /// # Errors
    /// [`ChangesError::Stopped`] when the store has failed, behind the last change that it answered for. Then nothing
    /// follows.
    pub async fn next(&mut self) -> Option<Result<Change, ChangesError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// Those of [`next`](Self::next), [`ChangesError::Reentrant`] inside a store's closure, and
    /// [`ChangesError::WouldBlockRuntime`] on a thread that drives tasks of tokio. The stream stays as it is.
    pub fn wait_next(&mut self) -> Option<Result<Change, ChangesError>> {
        match blocking::may_wait() {
            Ok(()) => blocking::block_on(self.next()),
            Err(MustNotWait::EngineThread) => Some(Err(ChangesError::Reentrant)),
            Err(MustNotWait::RuntimeThread) => Some(Err(ChangesError::WouldBlockRuntime)),
        }
    }

    /// The next change if it is there already. Never waits; `None` may also mean that the stream has ended, which
    /// [`next`](Self::next) tells.
    ///
    /// # Errors
    /// Those of [`next`](Self::next).
    pub fn try_next(&mut self) -> Option<Result<Change, ChangesError>> {
        loop {
            let next = match self.subscription() {
                Ok(Some(subscription)) => subscription.try_take()?,
                Ok(None) => return None,
                Err(error) => return self.end(Some(error)),
            };
            if let Some(next) = self.receive(next) {
                return next;
            }
        }
    }

    /// For types that implement a `Stream` of their own: ready with what [`next`](Self::next) gives.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Change, ChangesError>>> {
        loop {
            let next = match self.subscription() {
                Ok(Some(subscription)) => ready!(subscription.poll_take(context)),
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(self.end(Some(error))),
            };
            if let Some(next) = self.receive(next) {
                return Poll::Ready(next);
            }
        }
    }

    /// `None` once the stream is over.
    fn subscription(&self) -> Result<Option<&ChangeSubscription>, ChangesError> {
        match &self.subscription {
            _ if self.is_over => Ok(None),
            Some(subscription) if !self.process.was_forked() => Ok(Some(subscription)),
            // No lock is touched.
            _ => Err(ChangesError::Forked),
        }
    }

    /// `None` if what was delivered is known already.
    #[expect(clippy::option_option, reason = "the inner one is what the stream gives")]
    fn receive(
        &mut self,
        delivery: Delivery<Arc<Change>, Arc<StoreFailure>>,
    ) -> Option<Option<Result<Change, ChangesError>>> {
        match delivery {
            Delivery::Record(change) => {
                let is_known = change.sequence() <= self.behind && change.table().is_some();
                (!is_known).then(|| Some(Ok(Arc::unwrap_or_clone(change))))
            }
            Delivery::Missed { from } => Some(Some(Ok(Change::Lagged { missed_from: from }))),
            Delivery::Ended(failure) => Some(self.end(failure.map(ChangesError::Stopped))),
        }
    }

    fn end(&mut self, error: Option<ChangesError>) -> Option<Result<Change, ChangesError>> {
        self.is_over = true;
        error.map(Err)
    }
}

impl Drop for ChangeStream {
    fn drop(&mut self) {
        // A lock that another thread held when the process was forked is never given back here.
        if self.process.was_forked() {
            std::mem::forget(self.subscription.take());
        }
    }
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeStream").finish_non_exhaustive()
    }
}
