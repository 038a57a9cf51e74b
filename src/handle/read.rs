//! A read on its way: the request, and the wait for its result.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::blocking::{self, MustNotWait};
use super::store::Store;
use crate::error::ReadError;
use crate::protocol::answer::Ticket;
use crate::protocol::queue::{Entered, Entrance};
use crate::protocol::work::{Answer, Refusal};
use crate::sqlite::reader::{ReadCommand, ReadOutput, ReadTask};
use crate::sqlite::reason::Reason;

/// Makes the caller's result of what the reader gave.
pub(crate) type ReadExtract<T> = fn(ReadOutput) -> Result<T, ReadError>;

/// A read that was not sent yet. Await it or [`wait`](Self::wait) for it.
///
/// Nothing happens before that. Then it waits in the queue of reads, in order, until a reader is idle.
///
/// # Errors
///
/// Awaiting gives a [`ReadError`]. A read changes nothing, whatever becomes of it.
#[must_use = "a read does nothing until it is awaited or waited for"]
pub struct Read<T> {
    store: Store,
    task: Result<ReadTask, ReadError>,
    deadline: Option<Duration>,
    extract: ReadExtract<T>,
}

impl<T> Read<T> {
    pub(crate) fn new(store: Store, task: Result<ReadTask, ReadError>, extract: ReadExtract<T>) -> Self {
        Self { store, task, deadline: None, extract }
    }

    /// Ends the read if it has no result within this time of being sent, waiting in the queue included:
    /// [`ReadError::Expired`]. SQL that runs is stopped at its next step or statement; one long call of a
    /// built-in function, and a closure that runs no SQL, are not. Default: no deadline, but the greatest
    /// age of reads applies to all.
    ///
    /// ```
    /// use std::time::Duration;
    /// use walwright::ReadError;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    /// let result = store.query(endless, ()).deadline(Duration::from_millis(20)).wait();
    /// assert!(matches!(result, Err(ReadError::Expired)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sends the read and blocks the thread until its result is there.
    ///
    /// # Errors
    /// Those of awaiting it, and [`ReadError::Reentrant`] inside a store's closure or
    /// [`ReadError::WouldBlockRuntime`] on a thread that drives tasks of tokio.
    pub fn wait(self) -> Result<T, ReadError> {
        match blocking::may_wait() {
            Ok(()) => blocking::block_on(self.into_future()),
            Err(MustNotWait::EngineThread) => Err(ReadError::Reentrant),
            Err(MustNotWait::RuntimeThread) => Err(ReadError::WouldBlockRuntime),
        }
    }

    /// Sends the read now, if there is room in the queue of reads and nobody waits for some; the future
    /// gives its result.
    ///
    /// # Errors
    /// [`ReadError::Overloaded`] if there is no room, and everything that refuses a read before it is queued.
    pub fn try_submit(self) -> Result<ReadFuture<T>, ReadError> {
        let extract = self.extract;
        Ok(ReadFuture { sending: Sending::Sent(self.enter(Entrance::Try)?), extract })
    }

    fn enter(self, entrance: Entrance) -> Result<InLine, ReadError> {
        let engine = self.store.engine();
        // First of all: a forked child must touch no lock.
        if engine.is_forked() {
            return Err(ReadError::Forked);
        }
        let task = self.task?;
        if blocking::is_engine_thread() {
            return Err(ReadError::Reentrant);
        }
        let (size, limit) = (task.largest_value(), self.store.largest_value());
        if size > limit {
            return Err(ReadError::TooLarge { size, limit });
        }
        let deadline = self.deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        let command = ReadCommand::new(task, deadline);
        let entered = engine.reads.enter(command, deadline, entrance).map_err(refused)?;
        if let Some(deadline) = deadline {
            engine.alarm.set(deadline);
        }
        Ok(InLine { store: self.store, entered: Some(entered), answered: false })
    }
}

impl<T> IntoFuture for Read<T> {
    type Output = Result<T, ReadError>;
    type IntoFuture = ReadFuture<T>;

    fn into_future(self) -> ReadFuture<T> {
        let extract = self.extract;
        ReadFuture { sending: Sending::Unsent(self), extract }
    }
}

/// The future of a [`Read`]: sends it at the first poll and waits for the result.
///
/// Dropped before the read has started, it takes the read out of the queue. Dropped later, the read runs to its
/// end, and its result is dropped.
pub struct ReadFuture<T> {
    sending: Sending<T>,
    extract: ReadExtract<T>,
}

enum Sending<T> {
    Unsent(Read<T>),
    Sent(InLine),
    Over,
}

/// A place in the line. A read that nobody waits for any more is taken out, if it has not started.
struct InLine {
    store: Store,
    /// Taken only by the drop.
    entered: Option<Entered<ReadCommand>>,
    answered: bool,
}

impl Drop for InLine {
    fn drop(&mut self) {
        let Some(entered) = self.entered.take() else { return };
        if self.store.engine().is_forked() {
            // Its drop would take a lock that the parent's threads may have held.
            std::mem::forget(entered);
        } else if !self.answered {
            self.store.engine().reads.withdraw(entered.number);
        }
    }
}

// Nothing in the future is pinned: reads and tickets may move.
impl<T> Unpin for ReadFuture<T> {}

impl<T> Future for ReadFuture<T> {
    type Output = Result<T, ReadError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Sending::Unsent(_) = self.sending
            && let Sending::Unsent(read) = std::mem::replace(&mut self.sending, Sending::Over)
        {
            self.sending = Sending::Sent(read.enter(Entrance::Wait)?);
        }
        // Otherwise it was polled after it was ready, which no caller may do: pending for ever.
        let Sending::Sent(in_line) = &mut self.sending else { return Poll::Pending };
        // Sent before the fork: nobody answers here.
        if in_line.store.engine().is_forked() {
            return Poll::Ready(Err(ReadError::Forked));
        }
        let Some(entered) = &mut in_line.entered else { return Poll::Pending };
        let answer = ready!(poll_answer(&mut entered.ticket, context));
        in_line.answered = true;
        self.sending = Sending::Over;
        Poll::Ready(answer.and_then(self.extract))
    }
}

fn poll_answer(
    ticket: &mut Ticket<ReadCommand>,
    context: &mut Context<'_>,
) -> Poll<Result<ReadOutput, ReadError>> {
    match ticket.poll_answer(context) {
        Poll::Ready(Answer::Done(output)) => Poll::Ready(Ok(output)),
        Poll::Ready(Answer::Failed(error)) => Poll::Ready(Err(error)),
        Poll::Ready(Answer::NotStarted(refusal)) => Poll::Ready(Err(refused(refusal))),
        Poll::Ready(Answer::Unknown(reason)) => Poll::Ready(Err(stopped(reason))),
        // A reader may be waiting for itself here.
        Poll::Pending if blocking::is_engine_thread() => Poll::Ready(Err(ReadError::Reentrant)),
        Poll::Pending => Poll::Pending,
    }
}

fn refused(refusal: Refusal<Reason>) -> ReadError {
    match refusal {
        Refusal::Overloaded => ReadError::Overloaded,
        Refusal::TooLarge { bytes, limit } => ReadError::TooLarge { size: bytes, limit },
        Refusal::Expired => ReadError::Expired,
        Refusal::Closed => ReadError::Closed,
        Refusal::Stopped(reason) | Refusal::Begin(reason) => stopped(reason),
    }
}

fn stopped(reason: Reason) -> ReadError {
    match reason {
        Reason::Failure(failure) => ReadError::Stopped(failure),
        // Readers begin no transaction that could be refused; kept so that no reason is lost.
        Reason::Begin(_) => ReadError::Closed,
    }
}
