//! Opening a store, on a thread of its own.

use std::future::{Future, IntoFuture};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::blocking::{self, MustNotWait};
use super::latch::Latch;
use super::process::Process;
use super::store::Store;
use super::threads;
use crate::error::OpenError;
use crate::protocol::feed::FeedLimits;
use crate::protocol::level::AckLevel;
use crate::protocol::limits::QueueLimits;
use crate::retention::WallClock;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::reader::ReadLimits;
use crate::sqlite::writer::WriterLimits;
use crate::sync::Arc;

/// Where the file is.
#[derive(Clone)]
pub(crate) enum Place {
    At,
    Temporary,
}

/// Everything that a builder settles.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) plan: OpenPlan,
    pub(crate) writer: WriterLimits,
    pub(crate) read: ReadLimits,
    pub(crate) readers: usize,
    pub(crate) write_queue: QueueLimits,
    pub(crate) read_queue: QueueLimits,
    pub(crate) changes: FeedLimits,
    pub(crate) level: AckLevel,
    pub(crate) largest_value: usize,
    pub(crate) clock: WallClock,
}

/// A store about to be opened: await it, or [`wait`](Self::wait) for it.
#[must_use = "a store is not opened until this is awaited or waited for"]
pub struct Open {
    place: Place,
    options: Options,
}

impl Open {
    pub(crate) fn new(place: Place, options: Options) -> Self {
        Self { place, options }
    }

    /// Opens the store and blocks the thread until it is open.
    ///
    /// # Errors
    /// Those of awaiting it, and [`OpenError::WouldBlock`] on a thread that must not wait: one that drives
    /// tasks of tokio, or one of a store's own.
    pub fn wait(self) -> Result<Store, OpenError> {
        match blocking::may_wait() {
            Ok(()) => blocking::block_on(self.into_future()),
            Err(MustNotWait::EngineThread | MustNotWait::RuntimeThread) => {
                Err(OpenError::WouldBlock { path: self.options.plan.path })
            }
        }
    }
}

impl IntoFuture for Open {
    type Output = Result<Store, OpenError>;
    type IntoFuture = OpenFuture;

    fn into_future(self) -> OpenFuture {
        OpenFuture { path: self.options.plan.path.clone(), opening: Opening::Unsent(Box::new(self)) }
    }
}

/// The future of an [`Open`]. Dropped before it is ready, it closes the store again.
pub struct OpenFuture {
    path: PathBuf,
    opening: Opening,
}

enum Opening {
    Unsent(Box<Open>),
    Started { latch: Arc<Latch<Result<Store, OpenError>>>, process: Process },
    Over,
}

impl Future for OpenFuture {
    type Output = Result<Store, OpenError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if blocking::is_engine_thread() {
            // Waiting here would hold up another store; what was started before is closed again.
            self.opening = Opening::Over;
            return Poll::Ready(Err(OpenError::WouldBlock { path: self.path.clone() }));
        }
        if let Opening::Unsent(_) = self.opening
            && let Opening::Unsent(open) = std::mem::replace(&mut self.opening, Opening::Over)
        {
            let latch = Arc::new(Latch::new());
            threads::start(open.place, open.options, latch.clone())?;
            self.opening = Opening::Started { latch, process: Process::current() };
        }
        // Otherwise it was polled after it was ready, which no caller may do: pending for ever.
        let Opening::Started { latch, process } = &self.opening else { return Poll::Pending };
        if process.was_forked() {
            return Poll::Ready(Err(OpenError::Forked { path: self.path.clone() }));
        }
        let result = ready!(latch.poll_take(context));
        self.opening = Opening::Over;
        Poll::Ready(result)
    }
}
