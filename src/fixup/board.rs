//! How the fix-ups of a store are doing.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::handle::{Engine, Latch, MustNotWait, block_on, may_wait};
use crate::sync::{Arc, Mutex};

/// How one [`Fixup`](crate::Fixup) is doing. See [`Store::fixups`](crate::Store::fixups).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FixupStatus {
    /// Its name.
    pub name: String,
    /// Whether its work is done.
    pub state: FixupState,
    /// Steps that were carried out since the store was opened.
    pub steps: u64,
    /// Rows that they changed.
    pub rows: u64,
    /// Why the last step failed, if that was the last thing that happened. It is tried again.
    pub last_error: Option<String>,
}

/// Where the work of a fix-up stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixupState {
    /// Those before it come first.
    Waiting,
    /// Its steps are being carried out.
    Running,
    /// It is done, now or in an earlier run.
    Done,
}

/// The fix-ups of a store.
#[derive(Default)]
pub(crate) struct FixupBoard {
    lines: Mutex<Vec<FixupStatus>>,
    ended: Latch<Result<(), FixupsError>>,
}

impl FixupBoard {
    /// Sets the list up, and says which of them there is to do.
    pub(super) fn begin(&self, names: impl Iterator<Item = String>, done: &[String]) {
        let line = |name: String| FixupStatus {
            state: if done.contains(&name) { FixupState::Done } else { FixupState::Waiting },
            name,
            steps: 0,
            rows: 0,
            last_error: None,
        };
        *self.lines.lock() = names.map(line).collect();
    }

    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut FixupStatus)) {
        if let Some(line) = self.lines.lock().iter_mut().find(|line| line.name == name) {
            change(line);
        }
    }

    /// Tells who waits. The first time counts.
    pub(super) fn end(&self, how: Result<(), FixupsError>) {
        self.ended.set(how);
    }

    pub(crate) fn all(&self) -> Vec<FixupStatus> {
        self.lines.lock().clone()
    }
}

/// Waits until all fix-ups of a store are done: await it, or [`wait`](Self::wait) for it. Made by
/// [`Store::fixups_done`](crate::Store::fixups_done). It does not keep the store open.
#[must_use = "nobody waits before this is awaited or waited for"]
pub struct FixupsDone {
    engine: Arc<Engine>,
}

impl FixupsDone {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Blocks the thread until all fix-ups are done.
    ///
    /// # Errors
    /// Those of awaiting it, and [`FixupsError::WouldBlock`] on a thread that must not wait: one that drives tasks of
    /// tokio, or one of a store's own.
    pub fn wait(self) -> Result<(), FixupsError> {
        match may_wait() {
            Ok(()) => block_on(self),
            Err(MustNotWait::EngineThread | MustNotWait::RuntimeThread) => Err(FixupsError::WouldBlock),
        }
    }
}

impl Future for FixupsDone {
    type Output = Result<(), FixupsError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.engine.is_forked() {
            return Poll::Ready(Err(FixupsError::Closed));
        }
        if let Err(MustNotWait::EngineThread) = may_wait() {
            // It would wait for itself.
            return Poll::Ready(Err(FixupsError::WouldBlock));
        }
        self.engine.fixups.ended.poll_copy(context)
    }
}

/// Why it is not known that the fix-ups of a store are done. What they did so far is on disk, and the next opening goes
/// on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixupsError {
    /// The store was closed, or stopped, before they were done; or it belongs to the parent of this process.
    Closed,
    /// It was to be waited for where that is not possible: with `wait()` on a thread that drives tasks of an async
    /// runtime, or inside a closure of a store.
    WouldBlock,
}

impl fmt::Display for FixupsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the store ended before its fix-ups were done; open it again and they go on",
            Self::WouldBlock => {
                "waiting for fix-ups would block here: use .await, outside of closures of a store"
            }
        })
    }
}

impl std::error::Error for FixupsError {}
