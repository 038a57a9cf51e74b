//! What a chore is, and how its slices are made.

use std::any::Any;
use std::time::{Duration, Instant};

use crate::error::{ClosureError, WriteError};
use crate::sqlite::session::Tx;
use crate::sqlite::writer::{WriteOutput, WriteTask, WriteValue};

/// Work that nobody waits for.
///
/// The keeper asks what comes [`next`](Self::next), sends the slice, and tells with [`done`](Self::done) what became
/// of it, in turns. All of it happens on the keeper's thread: a chore must not wait for anything there, or the others
/// wait with it. What it has to remember over a restart it writes in its slices.
pub(crate) trait Chore: Send {
    /// For the log and for `stats()`. Names of tables and columns, never values of rows.
    fn name(&self) -> &str;

    /// What to do now. `time` is what a slice may take on the writer's thread: see [`SliceRows`].
    ///
    /// After a slice that failed it is asked again, and should do the same work.
    fn next(&mut self, time: Duration, now: Instant) -> ChoreStep;

    /// What became of the slice.
    ///
    /// After an error nothing of it is on disk, unless the store has stopped for good. The keeper itself logs and
    /// counts errors, and lets the chore rest for a growing time.
    fn done(&mut self, result: Result<WriteOutput, WriteError>);

    /// How long ago the first of what is left should have been done, if that can be told.
    fn behind(&self) -> Option<Duration> {
        None
    }

    /// Whether a slice carries out what the program wrote, and so may change anything.
    fn is_of_program(&self) -> bool {
        false
    }

    /// How many rows a slice changed, for `stats()`. Its receipt counts what triggers and cascades did, too.
    fn rows(&self, output: &WriteOutput) -> u64 {
        output.receipt.rows_changed
    }
}

/// What a chore wants to do.
pub(crate) enum ChoreStep {
    /// Some of its work. Sent as durable: while all that callers write is durable, no reader may see a slice that a
    /// power cut could take back.
    Slice(WriteTask),
    /// Nothing for this long, or until it is woken.
    Rest(Duration),
    /// Nothing until it is woken.
    Sleep,
    /// Nothing ever again. The keeper forgets it.
    Over,
}

/// A slice that is a closure. It may run again, as all write closures.
pub(crate) fn slice<R, F>(mut closure: F) -> WriteTask
where
    F: FnMut(&Tx<'_>) -> Result<R, ClosureError> + Send + 'static,
    R: Send + 'static,
{
    WriteTask::Closure(Box::new(move |tx| {
        closure(tx).map(|value| -> Box<dyn Any + Send> { Box::new(value) })
    }))
}

/// What the closure of a slice returned.
pub(crate) fn slice_value<R: 'static>(output: WriteOutput) -> Option<R> {
    match output.value {
        WriteValue::Closure(value) => value.downcast().ok().map(|value| *value),
        _ => None,
    }
}

/// A look at it.
pub(crate) fn peek_slice_value<R: 'static>(output: &WriteOutput) -> Option<&R> {
    match &output.value {
        WriteValue::Closure(value) => value.downcast_ref(),
        _ => None,
    }
}

/// How many rows a slice may touch, fitted to what the last one took.
///
/// Doubled and halved, since what a row costs is known only afterwards, and differs with its size and indexes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceRows(u32);

impl SliceRows {
    const FIRST: u32 = 16;
    /// Beside what a slice costs anyway, fewer rows save nothing.
    const LEAST: u32 = 4;
    const MOST: u32 = 4096;

    pub(crate) fn new() -> Self {
        Self(Self::FIRST)
    }

    pub(crate) fn rows(self) -> u32 {
        self.0
    }

    /// Takes what the rows of a slice of this size took on the writer's thread, and how long they might have.
    pub(crate) fn fit(&mut self, took: Duration, time: Duration) {
        if took > time {
            self.0 = (self.0 / 2).max(Self::LEAST);
        } else if took < time / 2 {
            self.0 = (self.0 * 2).min(Self::MOST);
        }
    }
}
