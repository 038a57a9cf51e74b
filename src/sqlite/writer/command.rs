//! What the writer can be asked to do.

use std::any::Any;
use std::borrow::Cow;

use crate::error::{ClosureError, WriteError};
use crate::handle::{Params, Receipt, ResultRows};
use crate::protocol::level::AckLevel;
use crate::protocol::work::{Command, Work};
use crate::sqlite::reason::Reason;
use crate::sqlite::session::Tx;

/// What a queued command takes besides its own data: its place in the line, its answer slot, its future.
const OVERHEAD_BYTES: usize = 512;

/// A command for the writer.
pub(crate) struct WriteCommand {
    pub(crate) task: WriteTask,
    pub(crate) level: AckLevel,
    bytes: usize,
}

/// The work of a command.
pub(crate) enum WriteTask {
    /// One statement.
    Statement(StatementCall),
    /// A closure. It may run again if its group was rolled back.
    Closure(WriteClosure),
    /// Several statements, all or none.
    Batch(Vec<StatementCall>),
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

/// The value beside the receipt.
pub(crate) enum WriteValue {
    None,
    Rows(ResultRows),
    Closure(Box<dyn Any + Send>),
}

impl WriteCommand {
    pub(crate) fn new(task: WriteTask, level: AckLevel) -> Self {
        let data = match &task {
            WriteTask::Statement(call) => size_of::<StatementCall>() + call.heap_bytes(),
            // By capacity: a vector that has grown has room to spare.
            WriteTask::Batch(calls) => {
                let heap: usize = calls.iter().map(StatementCall::heap_bytes).sum();
                calls.capacity() * size_of::<StatementCall>() + heap
            }
            WriteTask::Closure(closure) => size_of_val(&**closure),
            WriteTask::Flush => 0,
        };
        Self { task, level, bytes: OVERHEAD_BYTES + data }
    }

    /// Adds what cannot be counted from outside: the heap of a closure.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The size of the largest value that is sent along.
    pub(crate) fn largest_value(&self) -> usize {
        match &self.task {
            WriteTask::Statement(call) => call.params.largest_value(),
            WriteTask::Batch(calls) => {
                calls.iter().map(|call| call.params.largest_value()).max().unwrap_or(0)
            }
            WriteTask::Closure(_) | WriteTask::Flush => 0,
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

    fn waits_for_unfinished(&self) -> bool {
        matches!(self.task, WriteTask::Flush)
    }
}
