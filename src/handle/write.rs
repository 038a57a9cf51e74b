//! A write on its way: the request, its submission, and the wait for its answer.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::blocking::{self, MustNotWait};
use super::process::Process;
use super::store::Store;
use crate::error::WriteError;
use crate::protocol::answer::Ticket;
use crate::protocol::level::AckLevel;
use crate::protocol::queue::{Entered, Entrance};
use crate::protocol::work::Answer;
use crate::sqlite::reason::Reason;
use crate::sqlite::writer::{WriteCommand, WriteOutput, WriteTask};

/// Makes the caller's result of what the writer gave.
pub(crate) type Extract<T> = fn(WriteOutput) -> Result<T, WriteError>;

/// A write that was not sent yet. Await it, [`wait`](Self::wait) for it, or [`submit`](Self::submit) it.
///
/// Nothing happens before that. Then it is admitted to the queue, or stands in line until there is room. Once
/// it is admitted nothing but its [`deadline`](Self::deadline) withdraws it: dropping the future does not.
///
/// # Errors
///
/// Awaiting gives a [`WriteError`], whose [`outcome`](WriteError::outcome) says what is on disk.
#[must_use = "a write does nothing until it is awaited, waited for or submitted"]
pub struct Write<T> {
    store: Store,
    command: Result<WriteCommand, WriteError>,
    deadline: Option<Duration>,
    extract: Extract<T>,
}

impl<T> Write<T> {
    pub(crate) fn new(store: Store, command: Result<WriteCommand, WriteError>, extract: Extract<T>) -> Self {
        Self { store, command, deadline: None, extract }
    }

    /// When to be answered. Default: that of [`StoreBuilder::ack`](crate::StoreBuilder::ack), which is
    /// [`AckLevel::Durable`] unless it was set.
    ///
    /// A write that deletes is answered at [`AckLevel::Durable`] whatever is asked for here. So may be others
    /// that share a group with it: the level is the least that is waited for.
    pub fn ack(mut self, level: AckLevel) -> Self {
        if let Ok(command) = &mut self.command {
            command.level = level;
        }
        self
    }

    /// Withdraws the write if it has not been started within this time of being sent, waiting for room
    /// included. It is answered [`WriteError::Expired`] at that moment, gives back its place and its bytes, and
    /// is not carried out later. A write that has started gets the answer of its group, however late; how long
    /// it may run is the matter of [`StoreBuilder::run_limit`](crate::StoreBuilder::run_limit). Default: no
    /// deadline.
    ///
    /// No timer of an async runtime is needed: the store has a clock of its own, which a step of the wall
    /// clock does not move.
    ///
    /// ```
    /// use std::time::Duration;
    /// use walwright::WriteError;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = walwright::Store::temporary().open().wait()?;
    /// # store.execute("CREATE TABLE hit (at INTEGER)", ()).wait()?;
    /// match store.execute("INSERT INTO hit VALUES (?1)", (7,)).deadline(Duration::from_millis(500)).wait() {
    ///     Ok(receipt) => println!("on disk, as number {}", receipt.sequence),
    ///     Err(WriteError::Expired) => println!("not on disk, and it never will be"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Declares memory that the write holds and that cannot be counted from outside, in bytes: what a
    /// closure has captured on the heap. It counts against the limits of queue and group, on top of what is
    /// counted by itself: values, SQL text that is not `'static`, the closure's own size, half a KiB.
    pub fn bytes(mut self, bytes: usize) -> Self {
        if let Ok(command) = &mut self.command {
            command.add_bytes(bytes);
        }
        self
    }

    /// Sends the write without waiting for its answer: the future is ready once the write is admitted. It
    /// waits while the queue is full, first come first served.
    ///
    /// Writes are carried out in the order in which they were admitted, so one task can send many and wait for
    /// them together. They share groups, and so syncs.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let store = walwright::Store::temporary().open().await?;
    /// # store.execute("CREATE TABLE hit (at INTEGER)", ()).await?;
    /// let mut pending = Vec::new();
    /// for at in 0..100 {
    ///     pending.push(store.execute("INSERT INTO hit VALUES (?1)", (at,)).submit().await?);
    /// }
    /// for answer in pending {
    ///     answer.await?; // a receipt each, in the order of the loop
    /// }
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    ///
    /// # Errors
    /// The future gives what refuses a write before it is admitted: [`WriteError::InvalidValue`],
    /// [`WriteError::TooLarge`], [`WriteError::Expired`], [`WriteError::Closed`], [`WriteError::Stopped`],
    /// [`WriteError::Reentrant`], [`WriteError::Forked`], and for row commands [`WriteError::UnknownColumn`],
    /// [`WriteError::WrongKey`] and [`WriteError::InvalidCommand`]. Nothing is on disk after any of them.
    pub fn submit(self) -> Submit<T> {
        let extract = self.extract;
        Submit { sending: Sending::Unsent(self), extract }
    }

    /// Sends the write if there is room now and nobody waits for some. Never blocks.
    ///
    /// # Errors
    /// [`WriteError::Overloaded`] if not, and everything that refuses a write before it is admitted (see
    /// [`submit`](Self::submit)). Nothing is on disk after any of them.
    pub fn try_submit(self) -> Result<Pending<T>, WriteError> {
        let extract = self.extract;
        let (store, entered) = self.enter(Entrance::Try)?;
        let process = store.engine().process().clone();
        Ok(Pending { ticket: Some(entered.ticket), extract, process })
    }

    /// Sends the write and blocks the thread until it is answered.
    ///
    /// # Errors
    /// Those of awaiting it, and [`WriteError::Reentrant`] inside a store's closure or
    /// [`WriteError::WouldBlockRuntime`] on a thread that drives tasks of tokio; then it was not sent. In
    /// `spawn_blocking` and `block_in_place` waiting is fine. Other runtimes, and tokio's `unconstrained` tasks,
    /// are not noticed: there it blocks the thread.
    pub fn wait(self) -> Result<T, WriteError> {
        blocking::may_wait().map_err(|reason| cannot_wait(reason, false))?;
        blocking::block_on(self.into_future())
    }

    /// What it would have the writer of which store do.
    pub(crate) fn into_task(self) -> (Store, Result<WriteTask, WriteError>) {
        (self.store, self.command.map(|command| command.task))
    }

    fn enter(self, entrance: Entrance) -> Result<(Store, Entered<WriteCommand>), WriteError> {
        let engine = self.store.engine();
        // First of all: a forked child must touch no lock.
        if engine.is_forked() {
            return Err(WriteError::Forked { admitted: false });
        }
        let command = self.command?;
        if blocking::is_engine_thread() {
            return Err(WriteError::Reentrant { admitted: false });
        }
        let limit = self.store.largest_value();
        if let Some(size) = command.value_beyond(limit) {
            return Err(WriteError::TooLarge { size, limit });
        }
        let deadline = self.deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        let entered = engine.writes.enter(command, deadline, entrance).map_err(WriteError::from)?;
        if let Some(deadline) = deadline {
            engine.alarm.set(deadline);
        }
        Ok((self.store, entered))
    }
}

impl<T> IntoFuture for Write<T> {
    type Output = Result<T, WriteError>;
    type IntoFuture = WriteFuture<T>;

    fn into_future(self) -> WriteFuture<T> {
        let extract = self.extract;
        WriteFuture { sending: Sending::Unsent(self), extract }
    }
}

/// The future of a [`Write`]: sends it at the first poll and waits for the answer.
///
/// Dropped before the write is admitted, it takes the write back: nothing has happened. Dropped later, the
/// write is carried out all the same.
pub struct WriteFuture<T> {
    sending: Sending<T>,
    extract: Extract<T>,
}

/// The future of [`Write::submit`]: ready once the write is admitted.
///
/// Dropped before that, it takes the write back: nothing has happened.
#[must_use = "a write that is submitted has to be polled until it is admitted"]
pub struct Submit<T> {
    sending: Sending<T>,
    extract: Extract<T>,
}

/// A write that is admitted. Await it or [`wait`](Self::wait) for its answer.
///
/// It is carried out whatever becomes of this, unless its deadline passes before it starts or the store ends
/// first. It does not keep the store open, but a store that closes answers it.
#[must_use = "the write is admitted, but only awaiting or waiting tells what became of it"]
pub struct Pending<T> {
    /// Taken only by the drop.
    ticket: Option<Ticket<WriteCommand>>,
    extract: Extract<T>,
    /// Where the engine's threads are that will answer.
    process: Process,
}

/// A write between the caller and the queue.
enum Sending<T> {
    Unsent(Write<T>),
    Sent(InLine),
    /// The answer was given, or the write was refused.
    Over,
}

/// A place in the line, given back if the write was not admitted when this is dropped.
struct InLine {
    /// Keeps the store open until the write is admitted.
    store: Store,
    entered: Option<Entered<WriteCommand>>,
}

impl<T> Sending<T> {
    /// The write's ticket. At the first call puts the write in the line.
    fn ticket(&mut self) -> Result<Option<&mut Ticket<WriteCommand>>, WriteError> {
        if let Self::Unsent(_) = self
            && let Self::Unsent(write) = std::mem::replace(self, Self::Over)
        {
            let (store, entered) = write.enter(Entrance::Wait)?;
            *self = Self::Sent(InLine { store, entered: Some(entered) });
        }
        Ok(match self {
            // Sent before the fork: nobody answers here.
            Self::Sent(in_line) if in_line.store.engine().is_forked() => {
                return Err(WriteError::Forked { admitted: true });
            }
            Self::Sent(InLine { entered: Some(entered), .. }) => Some(&mut entered.ticket),
            _ => None,
        })
    }

    /// Gives the place in the line up, unless the write is admitted, and tells whether it had to.
    fn leave(&self) -> bool {
        let Self::Sent(InLine { store, entered: Some(entered) }) = self else { return false };
        store.engine().writes.leave(entered.number);
        entered.ticket.is_refused()
    }

    /// Takes the ticket of a write that is admitted or answered.
    fn finish(&mut self) -> Option<Ticket<WriteCommand>> {
        match std::mem::replace(self, Self::Over) {
            Self::Sent(mut in_line) => in_line.entered.take().map(|entered| entered.ticket),
            _ => None,
        }
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        let Some(entered) = self.entered.take() else { return };
        if self.store.engine().is_forked() {
            // Its drop would take a lock, too.
            std::mem::forget(entered);
        } else {
            self.store.engine().writes.leave(entered.number);
        }
    }
}

// Nothing in these futures is pinned: commands and tickets may move.
impl<T> Unpin for WriteFuture<T> {}
impl<T> Unpin for Submit<T> {}

impl<T> Future for WriteFuture<T> {
    type Output = Result<T, WriteError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Without a ticket it was polled after it was ready, which no caller may do: pending for ever.
        let extract = self.extract;
        let Some(ticket) = self.sending.ticket()? else { return Poll::Pending };
        let mut result = ready!(poll_answer(ticket, context, extract));
        if let Err(WriteError::Reentrant { admitted: true }) = result
            && self.sending.leave()
        {
            result = Err(WriteError::Reentrant { admitted: false });
        }
        self.sending.finish();
        Poll::Ready(result)
    }
}

impl<T> Future for Submit<T> {
    type Output = Result<Pending<T>, WriteError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(ticket) = self.sending.ticket()? else { return Poll::Pending };
        if ticket.poll_admitted(context).is_pending() {
            if !blocking::is_engine_thread() {
                return Poll::Pending;
            }
            // Waiting for room here could be waiting for oneself. If it was admitted this very moment, it is
            // as good as if it had been before.
            if self.sending.leave() {
                self.sending.finish();
                return Poll::Ready(Err(WriteError::Reentrant { admitted: false }));
            }
        }
        match self.sending.finish() {
            // Refused while it waited for room: that is the answer to the submission.
            Some(ticket) => Poll::Ready(match ticket.try_refusal() {
                Some(refusal) => Err(refusal.into()),
                None => {
                    let (ticket, extract) = (Some(ticket), self.extract);
                    Ok(Pending { ticket, extract, process: Process::current() })
                }
            }),
            None => Poll::Pending,
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, WriteError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.process.was_forked() {
            return Poll::Ready(Err(WriteError::Forked { admitted: true }));
        }
        let extract = self.extract;
        match &mut self.ticket {
            Some(ticket) => poll_answer(ticket, context, extract),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if self.process.was_forked() {
            // It would take a lock that the parent's threads may have held.
            std::mem::forget(self.ticket.take());
        }
    }
}

impl<T> Pending<T> {
    /// Blocks the thread until the write is answered.
    ///
    /// # Errors
    /// Those of awaiting it, and [`WriteError::Reentrant`] or [`WriteError::WouldBlockRuntime`] where
    /// waiting is not possible: the write is carried out, only its answer is lost.
    pub fn wait(self) -> Result<T, WriteError> {
        if self.process.was_forked() {
            return Err(WriteError::Forked { admitted: true });
        }
        if let Some(answer) = self.ticket.as_ref().and_then(Ticket::try_answer) {
            return settle(answer, self.extract);
        }
        blocking::may_wait().map_err(|reason| cannot_wait(reason, true))?;
        blocking::block_on(self)
    }
}

fn poll_answer<T>(
    ticket: &mut Ticket<WriteCommand>,
    context: &mut Context<'_>,
    extract: Extract<T>,
) -> Poll<Result<T, WriteError>> {
    match ticket.poll_answer(context) {
        Poll::Ready(answer) => Poll::Ready(settle(answer, extract)),
        // Waiting here would wait for the very closure that waits.
        Poll::Pending if blocking::is_engine_thread() => {
            Poll::Ready(Err(WriteError::Reentrant { admitted: true }))
        }
        Poll::Pending => Poll::Pending,
    }
}

/// The result that an answer is for its caller.
pub(crate) fn settle<T>(answer: Answer<WriteCommand>, extract: Extract<T>) -> Result<T, WriteError> {
    match answer {
        Answer::Done(output) => extract(output),
        Answer::Failed(error) => Err(error),
        Answer::NotStarted(refusal) => Err(refusal.into()),
        Answer::Unknown(reason) => Err(match reason {
            Reason::Failure(failure) => WriteError::Unknown(failure),
            Reason::Begin(error) => WriteError::Begin(error),
        }),
    }
}

/// Whether the thread may wait for a write that is on its way.
pub(crate) fn may_wait_for_write() -> Result<(), WriteError> {
    blocking::may_wait().map_err(|reason| cannot_wait(reason, true))
}

fn cannot_wait(reason: MustNotWait, admitted: bool) -> WriteError {
    match reason {
        MustNotWait::EngineThread => WriteError::Reentrant { admitted },
        MustNotWait::RuntimeThread => WriteError::WouldBlockRuntime { admitted },
    }
}
