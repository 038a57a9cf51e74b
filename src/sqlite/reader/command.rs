//! What a reader can be asked to do.

use std::any::Any;
use std::borrow::Cow;
use std::time::Instant;

use super::row_query::TableRows;
use crate::error::{ClosureError, ReadError, TableError};
use crate::handle::{Params, ResultRows};
use crate::protocol::work::Work;
use crate::row::{RowQuery, ShapeRequest, TableShape};
use crate::sqlite::reason::Reason;
use crate::sqlite::session::Db;

/// What a queued read takes besides its own data.
const OVERHEAD_BYTES: usize = 512;

/// A command for one of the readers.
pub(crate) struct ReadCommand {
    pub(crate) task: ReadTask,
    pub(crate) deadline: Option<Instant>,
    pub(crate) sent: Instant,
    bytes: usize,
}

/// The work of a read.
pub(crate) enum ReadTask {
    /// A closure on one snapshot.
    Closure(ReadClosure),
    /// One statement, whose rows are returned.
    Query { sql: Cow<'static, str>, params: Params },
    /// A question about the rows of a table.
    Rows(RowQuery),
    /// The same, and where its snapshot stands in the order of commits.
    PlacedRows(RowQuery),
    /// The shape of a table.
    Shape(ShapeRequest),
}

impl ReadTask {
    /// The size of the largest value that is sent along.
    pub(crate) fn largest_value(&self) -> usize {
        match self {
            Self::Closure(_) | Self::Shape(_) => 0,
            Self::Query { params, .. } => params.largest_value(),
            Self::Rows(query) | Self::PlacedRows(query) => query.largest_value(),
        }
    }
}

/// A closure that reads; what it returns is passed on as it is.
pub(crate) type ReadClosure = Box<dyn FnOnce(&Db<'_>) -> Result<Box<dyn Any + Send>, ClosureError> + Send>;

/// What a successful read gives.
pub(crate) enum ReadOutput {
    Closure(Box<dyn Any + Send>),
    Rows(ResultRows),
    TableRows(TableRows),
    /// With the sequence of the last commit in the snapshot, as the writer has put it down.
    PlacedRows(TableRows, u64),
    Count(u64),
    Exist(Vec<bool>),
    Shape(Result<TableShape, TableError>),
}

impl ReadCommand {
    pub(crate) fn new(task: ReadTask, deadline: Option<Instant>) -> Self {
        let data = match &task {
            ReadTask::Closure(closure) => size_of_val(&**closure),
            ReadTask::Shape(_) => 0,
            ReadTask::Query { sql: Cow::Borrowed(_), params } => params.bytes(),
            ReadTask::Query { sql: Cow::Owned(sql), params } => sql.len() + params.bytes(),
            ReadTask::Rows(query) | ReadTask::PlacedRows(query) => query.heap_bytes(),
        };
        Self { task, deadline, sent: Instant::now(), bytes: OVERHEAD_BYTES + data }
    }
}

impl Work for ReadCommand {
    type Output = ReadOutput;
    type Error = ReadError;
    type Reason = Reason;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn lost() -> Reason {
        Reason::lost()
    }
}
