//! How others reach the keeper: they give it chores, wake them, and end it.

use std::fmt;
use std::io;
use std::time::Instant;

use super::chore::Chore;
use super::report::ChoreReports;
use crate::sync::{Condvar, Mutex, now, thread};

/// The keeper's ear. It exists from the start, the keeper's thread from the first chore on.
pub(crate) struct KeeperInbox {
    state: Mutex<InboxState>,
    changed: Condvar,
    pub(crate) reports: ChoreReports,
}

struct InboxState {
    news: News,
    is_closed: bool,
    thread: Option<thread::JoinHandle<()>>,
}

/// What came in since the keeper last listened.
#[derive(Default)]
pub(super) struct News {
    pub(super) chores: Vec<Box<dyn Chore>>,
    /// Names, each once.
    pub(super) woken: Vec<String>,
    pub(super) all_woken: bool,
}

/// Why the keeper did not take a chore.
#[derive(Debug)]
pub(crate) enum KeepError {
    /// The store is closing, or has stopped.
    Closed,
    /// The process was forked after the store was opened.
    Forked,
    /// The keeper's thread could not be started.
    NoThread(io::Error),
}

impl KeeperInbox {
    pub(crate) fn new() -> Self {
        let state = InboxState { news: News::default(), is_closed: false, thread: None };
        Self { state: Mutex::new(state), changed: Condvar::new(), reports: ChoreReports::default() }
    }

    /// Hands a chore over. `start` starts the keeper's thread, which the first chore needs.
    pub(crate) fn add(
        &self,
        chore: Box<dyn Chore>,
        start: impl FnOnce() -> io::Result<thread::JoinHandle<()>>,
    ) -> Result<(), KeepError> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(KeepError::Closed);
        }
        // Under the lock: a close that comes now has to find the thread, to wait for its end.
        if state.thread.is_none() {
            state.thread = Some(start().map_err(KeepError::NoThread)?);
        }
        self.reports.add(chore.name());
        state.news.chores.push(chore);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Has the chore of this name asked again what to do. Without effect if there is none.
    pub(crate) fn wake(&self, name: &str) {
        let mut state = self.state.lock();
        if state.thread.is_none() || state.news.woken.iter().any(|woken| woken == name) {
            return;
        }
        state.news.woken.push(name.to_owned());
        drop(state);
        self.changed.notify_one();
    }

    /// The same for all chores.
    pub(crate) fn wake_all(&self) {
        let mut state = self.state.lock();
        state.news.all_woken = state.thread.is_some();
        drop(state);
        self.changed.notify_one();
    }

    /// Ends the keeper, and waits for it. It waits for nothing itself but the answer to a slice, so the writer has to
    /// have answered all commands, or be about to.
    pub(crate) fn finish(&self) {
        let thread = self.close();
        if let Some(thread) = thread {
            // A panic there has ended the chores; there is nothing left to release.
            let _ = thread.join();
        }
    }

    /// Takes no more chores.
    pub(super) fn close(&self) -> Option<thread::JoinHandle<()>> {
        let mut state = self.state.lock();
        state.is_closed = true;
        let (thread, news) = (state.thread.take(), std::mem::take(&mut state.news));
        drop(state);
        self.changed.notify_one();
        drop(news);
        thread
    }

    /// Waits for news until a moment, or for ever. `None`: the keeper has to end.
    pub(super) fn listen(&self, until: Option<Instant>) -> Option<News> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if !state.news.is_empty() {
                return Some(std::mem::take(&mut state.news));
            }
            match until {
                None => self.changed.wait(&mut state),
                Some(at) if at <= now() => return Some(News::default()),
                Some(at) => {
                    self.changed.wait_until(&mut state, at);
                }
            }
        }
    }
}

impl News {
    fn is_empty(&self) -> bool {
        self.chores.is_empty() && self.woken.is_empty() && !self.all_woken
    }
}

impl fmt::Display for KeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the store is closing or has stopped: it takes no more work"),
            Self::Forked => {
                f.write_str("the process was forked after the store was opened; only the parent can use it")
            }
            Self::NoThread(source) => {
                write!(f, "a thread for work in the background could not start: {source}")
            }
        }
    }
}

impl std::error::Error for KeepError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoThread(source) => Some(source),
            Self::Closed | Self::Forked => None,
        }
    }
}
