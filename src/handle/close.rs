//! Closing a store, and those who wait for it.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::blocking::{self, MustNotWait};
use super::engine::Engine;
use super::latch::Latch;
use super::process::Process;
use crate::error::CloseError;
use crate::sync::{Arc, Mutex};

/// After its time is up, a close waits this much longer for what it has interrupted.
const GRACE: Duration = Duration::from_millis(500);

type CloseResult = Result<(), CloseError>;
/// One who waits, until when at most and how long that was, and where it hears of the end.
type Waiting = (Option<(Instant, Duration)>, Arc<Latch<CloseResult>>);

/// Those who wait for the end of the store, and by when.
pub(crate) struct Closers(Mutex<ClosersState>);

struct ClosersState {
    abandon_at: Option<Instant>,
    waiting: Vec<Waiting>,
    result: Option<CloseResult>,
}

impl Closers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(ClosersState { abandon_at: None, waiting: Vec::new(), result: None }))
    }

    /// What has not started at `at` is given up. The earliest moment counts.
    pub(crate) fn abandon_at(&self, at: Instant) {
        let mut state = self.0.lock();
        state.abandon_at = Some(state.abandon_at.map_or(at, |before| before.min(at)));
    }

    /// Whether the time of the close is up. Says so once.
    pub(crate) fn must_abandon(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        let due = state.abandon_at.is_some_and(|at| at <= now);
        if due {
            state.abandon_at = None;
        }
        due
    }

    /// A place to wait at, with a limit for the wait.
    fn wait(&self, limit: Option<(Instant, Duration)>) -> Arc<Latch<CloseResult>> {
        let latch = Arc::new(Latch::new());
        let mut state = self.0.lock();
        match state.result.clone() {
            Some(result) => {
                drop(state);
                latch.set(result);
            }
            None => state.waiting.push((limit, latch.clone())),
        }
        latch
    }

    /// Tells those whose limit has passed. Gives the next moment to look.
    pub(crate) fn expire(&self, now: Instant, still_running: impl Fn() -> String) -> Option<Instant> {
        let mut state = self.0.lock();
        let (due, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition(|(limit, _)| limit.is_some_and(|(at, _)| at <= now));
        let next =
            waiting.iter().filter_map(|(limit, _)| limit.map(|(at, _)| at)).chain(state.abandon_at).min();
        state.waiting = waiting;
        drop(state);
        for (limit, latch) in due {
            let limit = limit.map_or(Duration::ZERO, |(_, limit)| limit);
            latch.set(Err(CloseError::StillRunning { what: still_running(), limit }));
        }
        next
    }

    /// The store is closed: everybody hears of it, now and later.
    pub(crate) fn finish(&self, result: CloseResult) {
        let mut state = self.0.lock();
        let waiting = std::mem::take(&mut state.waiting);
        state.result = Some(result.clone());
        drop(state);
        for (_, latch) in waiting {
            latch.set(result.clone());
        }
    }
}

/// A close in progress: await it, or [`wait`](Self::wait). It goes on also when this is dropped.
#[must_use = "the store is closing, but only awaiting or waiting tells when it is closed"]
pub struct Close {
    state: Result<Arc<Latch<CloseResult>>, CloseError>,
    process: Process,
}

impl Close {
    /// Starts closing.
    pub(crate) fn start(engine: &Engine, limit: Option<Duration>) -> Self {
        if engine.is_forked() {
            return Self { state: Err(CloseError::Forked), process: Process::current() };
        }
        let now = Instant::now();
        // A limit beyond the range of the clock is none.
        let limit = limit.and_then(|limit| Some((now.checked_add(limit)?, limit)));
        let wait_limit = limit.and_then(|(at, limit)| Some((at.checked_add(GRACE)?, limit)));
        let latch = engine.closers.wait(wait_limit);
        match limit {
            Some((at, _)) => engine.close_until(at),
            None => engine.close(),
        }
        Self { state: Ok(latch), process: Process::current() }
    }

    /// Blocks the thread until the store is closed.
    ///
    /// # Errors
    /// Those of awaiting, and [`CloseError::Reentrant`] or [`CloseError::WouldBlockRuntime`] where waiting
    /// is not possible; the store closes all the same.
    pub fn wait(self) -> Result<(), CloseError> {
        match blocking::may_wait() {
            Ok(()) => blocking::block_on(self.into_future()),
            Err(MustNotWait::EngineThread) => Err(CloseError::Reentrant),
            Err(MustNotWait::RuntimeThread) => Err(CloseError::WouldBlockRuntime),
        }
    }
}

impl IntoFuture for Close {
    type Output = Result<(), CloseError>;
    type IntoFuture = CloseFuture;

    fn into_future(self) -> CloseFuture {
        CloseFuture { state: self.state, process: self.process }
    }
}

/// The future of a [`Close`].
pub struct CloseFuture {
    state: Result<Arc<Latch<CloseResult>>, CloseError>,
    process: Process,
}

impl Future for CloseFuture {
    type Output = Result<(), CloseError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.state {
            // Begun before the fork: nobody tells the end of it here.
            Ok(_) if self.process.was_forked() => Poll::Ready(Err(CloseError::Forked)),
            Ok(_) if blocking::is_engine_thread() => Poll::Ready(Err(CloseError::Reentrant)),
            Ok(latch) => latch.poll_copy(context),
            Err(error) => Poll::Ready(Err(error.clone())),
        }
    }
}
