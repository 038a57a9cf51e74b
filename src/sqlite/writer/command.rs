//! What the writer can be asked to do.

use std::any::Any;
use std::borrow::Cow;

use super::rows::{BulkProgress, RowEffect};
use crate::error::{ClosureError, WriteError};
use crate::handle::{Params, Receipt, ResultRows};
use crate::protocol::level::AckLevel;
use crate::protocol::work::{Answer, Command, Work};
use crate::row::{BulkCommand, RowCommand, RowValues, TableShape, Value};
use crate::sqlite::reason::Reason;
use crate::sqlite::session::Tx;
use crate::sync::Arc;

/// What a queued command takes besides its own data: its place in the line, its answer slot, its future.
const OVERHEAD_BYTES: usize = 512;

/// A command for the writer.
pub(crate) struct WriteCommand {
    pub(crate) task: WriteTask,
    pub(crate) level: AckLevel,
    bytes: usize,
    /// A slice of the keeper's.
    pub(super) is_slice: bool,
}

/// The work of a command. Rare and large kinds are boxed: a command is moved many times on its way.
pub(crate) enum WriteTask {
    /// One statement.
    Statement(StatementCall),
    /// A closure. It may run again if its group was rolled back.
    Closure(WriteClosure),
    /// One change of one row.
    Row(RowCommand),
    /// Read, change and write one row. It may run again if its group was rolled back.
    Modify(Box<ModifyCall>),
    /// Several statements and row commands, all or none.
    Batch(Vec<BatchItem>),
    /// Work on many rows, piece by piece.
    Bulk(Box<BulkCall>),
    /// Gives up to so many free pages of the file back; with none it only looks.
    GiveBack(u32),
    /// Nothing but the wish to be answered when everything before is durable.
    Flush,
}

/// A closure that writes; what it returns is passed on as it is.
pub(crate) type WriteClosure = Box<dyn FnMut(&Tx<'_>) -> Result<Box<dyn Any + Send>, ClosureError> + Send>;

/// One statement with its parameters.
pub(crate) struct StatementCall {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) params: Params,
    /// The caller wants the rows that the statement returns.
    pub(crate) wants_rows: bool,
}

/// One part of a batch.
pub(crate) enum BatchItem {
    Statement(StatementCall),
    Row(RowCommand),
}

/// A read-modify-write of one row.
pub(crate) struct ModifyCall {
    pub(crate) table: Arc<TableShape>,
    pub(crate) key: RowValues,
    /// What the closure is given.
    pub(crate) columns: Arc<[usize]>,
    pub(crate) change: RowChange,
}

/// Gets the values of a row, and gives the columns to set and what the caller wants to know.
pub(crate) type RowChange =
    Box<dyn FnMut(Vec<Value>) -> Result<(RowValues, Box<dyn Any + Send>), ClosureError> + Send>;

/// Work on many rows, and how much of it is done.
pub(crate) struct BulkCall {
    pub(crate) command: BulkCommand,
    /// What is committed.
    committed: BulkProgress,
    /// What will be once the present group is committed.
    piece: Option<BulkProgress>,
}

impl BulkCall {
    pub(crate) fn new(command: BulkCommand) -> Self {
        Self { command, committed: BulkProgress::default(), piece: None }
    }

    /// From where the next piece goes on. A piece whose group was rolled back never was.
    pub(super) fn begin_piece(&mut self) -> BulkProgress {
        self.piece = None;
        self.committed.clone()
    }

    pub(super) fn end_piece(&mut self, progress: BulkProgress) {
        self.piece = Some(progress);
    }

    fn keep_piece(&mut self) {
        if let Some(piece) = self.piece.take() {
            self.committed = piece;
        }
    }
}

impl BatchItem {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Statement(call) => call.heap_bytes(),
            Self::Row(command) => command.heap_bytes(),
        }
    }

    fn largest_value(&self) -> usize {
        match self {
            Self::Statement(call) => call.params.largest_value(),
            Self::Row(command) => command.largest_value(),
        }
    }
}

impl StatementCall {
    /// What it holds beside itself.
    fn heap_bytes(&self) -> usize {
        let text = match &self.sql {
            Cow::Borrowed(_) => 0,
            Cow::Owned(text) => text.capacity(),
        };
        text + self.params.bytes()
    }
}

/// What a successful command gives.
pub(crate) struct WriteOutput {
    pub(crate) receipt: Receipt,
    pub(crate) value: WriteValue,
}

/// The value beside the receipt. Rare and large kinds are boxed, as with [`WriteTask`].
pub(crate) enum WriteValue {
    None,
    Row(RowEffect),
    /// What a read-modify-write did, and what its closure returned.
    ///
    /// Boxed: it is rare, and an answer is moved often.
    Modified(Box<(RowEffect, Box<dyn Any + Send>)>),
    Rows(ResultRows),
    Closure(Box<dyn Any + Send>),
}

impl WriteCommand {
    // So that the kind of the task is known.
    #[inline(always)]
    pub(crate) fn new(task: WriteTask, level: AckLevel) -> Self {
        let data = match &task {
            WriteTask::Statement(call) => size_of::<StatementCall>() + call.heap_bytes(),
            // By capacity: a vector that has grown has room to spare.
            WriteTask::Batch(items) => {
                let heap: usize = items.iter().map(BatchItem::heap_bytes).sum();
                items.capacity() * size_of::<BatchItem>() + heap
            }
            WriteTask::Row(command) => command.heap_bytes(),
            WriteTask::Modify(call) => call.key.heap_bytes() + size_of_val(&*call.change),
            WriteTask::Bulk(call) => call.command.heap_bytes(),
            WriteTask::Closure(closure) => size_of_val(&**closure),
            WriteTask::GiveBack(_) | WriteTask::Flush => 0,
        };
        Self { task, level, bytes: OVERHEAD_BYTES + data, is_slice: false }
    }

    /// A slice of work that nobody waits for.
    pub(crate) fn of_keeper(task: WriteTask) -> Self {
        Self { is_slice: true, ..Self::new(task, AckLevel::Durable) }
    }

    /// Adds what cannot be counted from outside: the heap of a closure.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether a value is sent along that is larger than this, and how large it is.
    #[inline]
    pub(crate) fn value_beyond(&self, limit: usize) -> Option<usize> {
        // No value is larger than the whole, so nearly always there is none to look for.
        (self.bytes > limit).then(|| self.largest_value()).filter(|size| *size > limit)
    }

    fn largest_value(&self) -> usize {
        match &self.task {
            WriteTask::Statement(call) => call.params.largest_value(),
            WriteTask::Batch(items) => items.iter().map(BatchItem::largest_value).max().unwrap_or(0),
            WriteTask::Row(command) => command.largest_value(),
            WriteTask::Modify(call) => call.key.largest(),
            WriteTask::Bulk(call) => call.command.largest_value(),
            WriteTask::Closure(_) | WriteTask::GiveBack(_) | WriteTask::Flush => 0,
        }
    }
}

impl Work for WriteCommand {
    type Output = WriteOutput;
    type Error = WriteError;
    type Reason = Reason;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn lost() -> Reason {
        Reason::lost()
    }
}

impl Command for WriteCommand {
    fn level(&self) -> AckLevel {
        // A flush that is not durable would be none, whatever level its caller set.
        if let WriteTask::Flush = self.task { AckLevel::Durable } else { self.level }
    }

    fn keep_piece(&mut self) {
        if let WriteTask::Bulk(call) = &mut self.task {
            call.keep_piece();
        }
    }

    fn set_back(&self, answer: Answer<Self>) -> Answer<Self> {
        match &self.task {
            WriteTask::Bulk(call) if call.committed.rows > 0 => {
                let source = match answer {
                    Answer::Failed(error) => error,
                    Answer::NotStarted(refusal) => WriteError::from(refusal),
                    // Then nobody knows of the last piece either.
                    other => return other,
                };
                Answer::Failed(WriteError::Partial { rows: call.committed.rows, source: Box::new(source) })
            }
            _ => answer,
        }
    }

    fn waits_for_unfinished(&self) -> bool {
        matches!(self.task, WriteTask::Flush)
    }
}
