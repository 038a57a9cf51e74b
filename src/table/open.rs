//! Opening a table: its schema is read and compared with the row type.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;

use super::fields::{Fields, fields_of};
use super::sorter::RowSorter;
use super::table::Table;
use crate::error::{ReadError, TableError};
use crate::handle::{Read, ReadFuture, Store};
use crate::retention::TimeUnit;
use crate::row::{Affinity, RevisionKind, ShapeRequest, TableShape};
use crate::sqlite::reader::{ReadOutput, ReadTask};
use crate::sync::Arc;

/// A table that was not opened yet, made by [`Store::table`]. [`open`](Self::open) opens it.
#[must_use = "a table has to be opened"]
pub struct TableBuilder<T> {
    store: Store,
    request: ShapeRequest,
    hidden: Option<(String, TimeUnit)>,
    rows: PhantomData<fn(T) -> T>,
}

impl<T> TableBuilder<T> {
    pub(crate) fn new(store: Store, table: String) -> Self {
        let request = ShapeRequest { table, key: None, revision: None };
        Self { store, request, hidden: None, rows: PhantomData }
    }

    /// The columns that tell rows apart, for a table without a primary key, or to name rows by another unique key.
    /// They must be exactly those of the primary key or of a UNIQUE index. Default: the primary key.
    ///
    /// Columns that may be NULL make a poor key: no row with a NULL in it is ever found by it.
    pub fn key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.request.key = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// The column in which the engine counts the changes of a row: 1 at insert, one more with every row command
    /// that changes the row. An INTEGER column outside of the key. Default: none.
    ///
    /// A row in which it is NULL, because the column was added later, counts from 0. Statements and closures leave it
    /// to their SQL. A row that is deleted and inserted again starts at 1 again, so
    /// that a guard from before the delete can hold for the new row; where rows come back under their old keys,
    /// choose [`revision_by_sequence`](Self::revision_by_sequence).
    pub fn revision(mut self, column: impl Into<String>) -> Self {
        self.request.revision = Some((column.into(), RevisionKind::Counter));
        self
    }

    /// The column in which the engine writes the commit sequence of the row command that changed the row last. It
    /// is never used twice, also over deletes, restarts and power cuts, but it does not count the changes. An
    /// INTEGER column outside of the key.
    pub fn revision_by_sequence(mut self, column: impl Into<String>) -> Self {
        self.request.revision = Some((column.into(), RevisionKind::Sequence));
        self
    }

    /// Leaves rows whose time has passed out of every read, as if they were gone: a sweep removes them later (see
    /// [`RetentionOf::expires`](crate::RetentionOf::expires)), or nobody does. Default: reads show what is there.
    ///
    /// What has expired is what [`StoreBuilder::wall_clock`](crate::StoreBuilder::wall_clock) says when the read is
    /// made; NULL never expires. Writes see all rows: an insert under the key of a row that has expired and is still
    /// there fails as ever, an upsert takes that row over.
    ///
    /// ```
    /// use walwright::{Row, TimeUnit};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER)", ()).wait()?;
    /// store.execute("INSERT INTO session VALUES (1, 1000), (2, NULL)", ()).wait()?; // one has expired in 1970
    /// let sessions = store.table::<Row>("session").hide_expired("expires", TimeUnit::Seconds).open().wait()?;
    /// assert!(!sessions.exists(1).wait()?);
    /// assert_eq!(sessions.count().wait()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A column that is of type TEXT is refused with [`TableError::NotATime`].
    pub fn hide_expired(mut self, column: impl Into<String>, unit: TimeUnit) -> Self {
        self.hidden = Some((column.into(), unit));
        self
    }
}

impl<T: DeserializeOwned> TableBuilder<T> {
    /// Reads the table's schema and compares it with `T`.
    ///
    /// # Errors
    /// See [`TableError`]. Nothing is changed by it.
    pub fn open(self) -> OpenTable<T> {
        let read = Read::new(self.store.clone(), Ok(ReadTask::Shape(self.request)), |output| match output {
            ReadOutput::Shape(shape) => Ok(shape),
            _ => unreachable!("a question for a shape is answered with one"),
        });
        OpenTable { store: self.store, read, hidden: self.hidden, rows: PhantomData }
    }
}

/// A table that is being opened. Await it or [`wait`](Self::wait) for it.
#[must_use = "a table is opened only when this is awaited or waited for"]
pub struct OpenTable<T> {
    store: Store,
    read: Read<Result<TableShape, TableError>>,
    hidden: Option<(String, TimeUnit)>,
    rows: PhantomData<fn(T) -> T>,
}

impl<T: DeserializeOwned> OpenTable<T> {
    /// Opens the table and blocks the thread until it is open.
    ///
    /// # Errors
    /// Those of awaiting it; in a [`TableError::Read`] those of [`Read::wait`].
    pub fn wait(self) -> Result<Table<T>, TableError> {
        finish(self.store, self.read.wait(), self.hidden)
    }
}

impl<T: DeserializeOwned> IntoFuture for OpenTable<T> {
    type Output = Result<Table<T>, TableError>;
    type IntoFuture = OpenTableFuture<T>;

    fn into_future(self) -> OpenTableFuture<T> {
        let Self { store, read, hidden, rows } = self;
        OpenTableFuture { store, read: read.into_future(), hidden, rows }
    }
}

/// The future of an [`OpenTable`].
pub struct OpenTableFuture<T> {
    store: Store,
    read: ReadFuture<Result<TableShape, TableError>>,
    hidden: Option<(String, TimeUnit)>,
    rows: PhantomData<fn(T) -> T>,
}

impl<T: DeserializeOwned> Future for OpenTableFuture<T> {
    type Output = Result<Table<T>, TableError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (store, hidden) = (self.store.clone(), self.hidden.clone());
        Pin::new(&mut self.read).poll(context).map(|shape| finish(store, shape, hidden))
    }
}

fn finish<T: DeserializeOwned>(
    store: Store,
    shape: Result<Result<TableShape, TableError>, ReadError>,
    hidden: Option<(String, TimeUnit)>,
) -> Result<Table<T>, TableError> {
    let shape = shape.map_err(TableError::Read)??;
    let columns = columns_of::<T>(&shape)?;
    let hidden = hidden.map(|(column, unit)| Ok((time_column(&shape, column)?, unit))).transpose()?;
    let sorter = RowSorter::of::<T>(&shape);
    Ok(Table { store, shape: Arc::new(shape), columns, sorter, rows: PhantomData, hidden })
}

/// The place of a column that holds times.
fn time_column(shape: &TableShape, column: String) -> Result<usize, TableError> {
    match shape.column(&column) {
        None => Err(TableError::UnknownColumn { table: shape.name.clone(), column }),
        Some(at) if shape.columns[at].affinity == Affinity::Text => {
            Err(TableError::NotATime { table: shape.name.clone(), column })
        }
        Some(at) => Ok(at),
    }
}

/// The columns of the fields of `T`, which must all be there; and no column may be missing that every insert has to
/// give.
fn columns_of<T: DeserializeOwned>(shape: &TableShape) -> Result<Arc<[usize]>, TableError> {
    let fields = match fields_of::<T>() {
        Fields::Any => return Ok((0..shape.columns.len()).collect()),
        Fields::Named(fields) => fields,
    };
    let place = |field: &&str| {
        shape.column(field).ok_or_else(|| TableError::UnknownColumn {
            table: shape.name.clone(),
            column: (*field).to_owned(),
        })
    };
    let columns: Arc<[usize]> = fields.iter().map(place).collect::<Result<_, _>>()?;
    let is_required = |place: &usize| {
        let column = &shape.columns[*place];
        let is_revision = shape.revision.is_some_and(|revision| revision.column == *place);
        let is_made = column.is_generated
            || column.default.is_some()
            || is_revision
            || shape.rowid_column == Some(*place);
        column.not_null && !is_made
    };
    let missing = (0..shape.columns.len()).find(|place| is_required(place) && !columns.contains(place));
    match missing {
        Some(place) => {
            let (table, column) = (shape.name.clone(), shape.columns[place].name.clone());
            Err(TableError::MissingColumn { table, column })
        }
        None => Ok(columns),
    }
}
