//! Several statements and row commands that are applied all or none.

use std::borrow::Cow;
use std::future::IntoFuture;

use super::params::IntoParams;
use super::receipt::Receipt;
use super::store::Store;
use super::write::{Write, WriteFuture};
use crate::error::WriteError;
use crate::sqlite::writer::{BatchItem, StatementCall, WriteTask};
use crate::table::{Requested, RowRequest};

/// Statements and row commands that are applied all or none, in order. Made by [`Store::batch`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, cents INTEGER CHECK (cents >= 0))", ()).wait()?;
/// # store.execute("INSERT INTO account VALUES (1, 500), (2, 0)", ()).wait()?;
/// let receipt = store
///     .batch()
///     .execute("UPDATE account SET cents = cents - ?1 WHERE id = 1", (100,))
///     .execute("UPDATE account SET cents = cents + ?1 WHERE id = 2", (100,))
///     .send()
///     .wait()?;
/// assert_eq!(receipt.rows_changed, 2);
/// # Ok(())
/// # }
/// ```
#[must_use = "a batch does nothing until it is sent"]
pub struct Batch {
    store: Store,
    items: Result<Vec<BatchItem>, WriteError>,
}

impl Batch {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, items: Ok(Vec::new()) }
    }

    /// Adds one statement. Rows that it returns are dropped.
    ///
    /// A parameter that cannot be stored makes the whole batch fail when it is sent, with
    /// [`WriteError::InvalidValue`]; nothing of it runs then.
    pub fn execute(mut self, sql: impl Into<Cow<'static, str>>, params: impl IntoParams) -> Self {
        self.items = self.items.and_then(|mut items| {
            let params = params.into_params()?;
            items.push(BatchItem::Statement(StatementCall { sql: sql.into(), params, wants_rows: false }));
            Ok(items)
        });
        self
    }

    /// Adds one row command: what [`Table::insert`](crate::Table::insert), [`update`](crate::Table::update) and the
    /// like return. Its level and deadline do not count, those of the batch do.
    ///
    /// A guard that does not hold makes the whole batch fail, with [`WriteError::Conflict`]. A command on a table of
    /// another store makes it fail before it is queued, with [`WriteError::InvalidCommand`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use serde::{Deserialize, Serialize};
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT NOT NULL)", ()).wait()?;
    /// # store.execute("CREATE TABLE log (text TEXT)", ()).wait()?;
    /// #[derive(Serialize, Deserialize)]
    /// struct Job {
    ///     id: i64,
    ///     state: String,
    /// }
    ///
    /// let jobs = store.table::<Job>("job").open().wait()?;
    /// let receipt = store
    ///     .batch()
    ///     .add(jobs.insert(&Job { id: 1, state: "new".into() }))
    ///     .add(jobs.update(1).set("state", "taken").only_if("state", "new"))
    ///     .execute("INSERT INTO log VALUES ('taken')", ())
    ///     .send()
    ///     .wait()?;
    /// assert_eq!(receipt.rows_changed, 3);
    /// # Ok(())
    /// # }
    /// ```
    #[expect(clippy::should_implement_trait, reason = "a batch is not a number")]
    pub fn add(mut self, command: impl RowRequest) -> Self {
        self.items = self.items.and_then(|mut items| {
            let Requested { store, command } = command.into_request();
            let command = command?;
            if !self.store.is_same(&store) {
                let table = command.table.name.clone();
                return Err(WriteError::InvalidCommand { table, what: "the table is one of another store" });
            }
            items.push(BatchItem::Row(command));
            Ok(items)
        });
        self
    }

    /// The write that carries the batch out, to set its level or its deadline. Awaiting the batch sends it too.
    /// Its receipt counts the rows of all statements and commands; it does not tell of each, so an id that the
    /// database makes, or a revision, has to be read afterwards. An empty batch does nothing and succeeds.
    ///
    /// # Errors
    /// See [`WriteError`]. The error is that of the first part that failed; nothing of the batch is
    /// on disk, except after [`WriteError::Unknown`].
    pub fn send(self) -> Write<Receipt> {
        let task = self.items.map(WriteTask::Batch);
        self.store.write_task(task, |output| Ok(output.receipt))
    }
}

impl IntoFuture for Batch {
    type Output = Result<Receipt, WriteError>;
    type IntoFuture = WriteFuture<Receipt>;

    fn into_future(self) -> WriteFuture<Receipt> {
        self.send().into_future()
    }
}
