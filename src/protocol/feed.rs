//! The feed of what was committed: the writer publishes, any number of subscribers take.
//!
//! Each subscriber has a mailbox of its own, bounded in records and bytes. The writer never waits for one: who does
//! not keep up misses records, and is told so in their place, with the sequence from which on.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use super::foreign_code::wake;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex};

/// What is published. A clone should be cheap: each mailbox gets one.
pub(crate) trait Record: Clone {
    /// What a subscriber may confine itself to.
    type Topic;

    /// The commit sequence of the command that did it.
    fn sequence(&self) -> u64;

    /// Memory that it holds, in bytes.
    fn bytes(&self) -> usize;

    /// Whether somebody who is interested in the topic has to hear of it.
    fn concerns(&self, topic: &Self::Topic) -> bool;
}

/// What a mailbox holds at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedLimits {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
}

/// What a subscriber takes out of its mailbox.
#[derive(Debug, PartialEq)]
pub(crate) enum Delivery<R, E> {
    Record(R),
    /// Records from this sequence on were missed. What follows comes behind them.
    Missed {
        from: u64,
    },
    /// There is nothing more, and the reason if it is not a plain close. The reason is told once.
    Ended(Option<E>),
}

/// Where the writer publishes. `E` is the reason why it stopped.
pub(crate) struct Feed<R: Record, E> {
    limits: FeedLimits,
    state: Mutex<FeedState<R, E>>,
    /// How many subscribers there are, for a look without the lock.
    subscribers: AtomicUsize,
    /// How many snapshots are being taken that have to know where they stand in the order of commits.
    placing: AtomicUsize,
}

struct FeedState<R: Record, E> {
    mailboxes: Vec<Arc<Mailbox<R, E>>>,
    /// Set when nothing more will be published.
    end: Option<Option<E>>,
}

struct Mailbox<R: Record, E> {
    /// `None`: everything.
    topic: Option<R::Topic>,
    state: Mutex<MailboxState<R, E>>,
}

struct MailboxState<R, E> {
    records: VecDeque<R>,
    bytes: usize,
    /// Records were missed behind those that are here, from this sequence on. Until the subscriber has heard of it
    /// nothing is taken in: what it gets has no gap that it does not know of.
    missed_from: Option<u64>,
    end: Option<Option<E>>,
    waker: Option<Waker>,
}

impl<R: Record, E: Clone> Feed<R, E> {
    pub(crate) fn new(limits: FeedLimits) -> Self {
        Self {
            limits,
            state: Mutex::new(FeedState { mailboxes: Vec::new(), end: None }),
            subscribers: AtomicUsize::new(0),
            placing: AtomicUsize::new(0),
        }
    }

    /// Adds a subscriber: it gets what is published from now on.
    pub(crate) fn subscribe(self: &Arc<Self>, topic: Option<R::Topic>) -> Subscription<R, E> {
        let mut state = self.state.lock();
        let mailbox = Arc::new(Mailbox {
            topic,
            state: Mutex::new(MailboxState {
                records: VecDeque::new(),
                bytes: 0,
                missed_from: None,
                end: state.end.clone(),
                waker: None,
            }),
        });
        if state.end.is_none() {
            state.mailboxes.push(mailbox.clone());
            self.count(&state);
        }
        Subscription { feed: self.clone(), mailbox }
    }

    /// Whether anybody listens. A command that was admitted after a subscription finds it: the queue's lock lies
    /// between the two.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.subscribers.load(Ordering::Relaxed) > 0
    }

    /// Whether commits have to say where they stand, for the same commands as [`Self::has_subscribers`].
    pub(crate) fn is_placing(&self) -> bool {
        self.placing.load(Ordering::Relaxed) > 0
    }

    /// Asks the writer to say in the storage, with each commit, where it stands in the order. Until the value is
    /// dropped.
    pub(crate) fn place_commits(self: &Arc<Self>) -> Placing<R, E> {
        self.placing.fetch_add(1, Ordering::Relaxed);
        Placing(self.clone())
    }

    /// Tells every subscriber, in order. Never waits for one.
    pub(crate) fn publish(&self, records: &[R]) {
        if records.is_empty() {
            return;
        }
        let mut wakers = Vec::new();
        let state = self.state.lock();
        for mailbox in &state.mailboxes {
            wakers.extend(mailbox.take_in(records, self.limits));
        }
        drop(state);
        wake(wakers);
    }

    /// Nothing more will be published, for this reason unless it is a plain close.
    pub(crate) fn end(&self, reason: Option<E>) {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return;
        }
        state.end = Some(reason.clone());
        let mailboxes = std::mem::take(&mut state.mailboxes);
        self.count(&state);
        drop(state);
        let end = |mailbox: Arc<Mailbox<R, E>>| {
            let mut state = mailbox.state.lock();
            state.end = Some(reason.clone());
            state.waker.take()
        };
        wake(mailboxes.into_iter().filter_map(end));
    }

    fn leave(&self, mailbox: &Arc<Mailbox<R, E>>) {
        let mut state = self.state.lock();
        state.mailboxes.retain(|one| !Arc::ptr_eq(one, mailbox));
        self.count(&state);
    }

    fn count(&self, state: &FeedState<R, E>) {
        self.subscribers.store(state.mailboxes.len(), Ordering::Relaxed);
    }
}

impl<R: Record, E> Mailbox<R, E> {
    /// Takes in what there is room for. Gives the waker of a subscriber that waits.
    fn take_in(&self, records: &[R], limits: FeedLimits) -> Option<Waker> {
        let mut state = self.state.lock();
        let concerned = |record: &&R| self.topic.as_ref().is_none_or(|topic| record.concerns(topic));
        let mut came = false;
        for record in records.iter().filter(concerned) {
            if state.missed_from.is_some() {
                break;
            }
            came = true;
            let bytes = state.bytes.saturating_add(record.bytes());
            if state.records.len() < limits.records && bytes <= limits.bytes {
                state.bytes = bytes;
                state.records.push_back(record.clone());
            } else {
                state.missed_from = Some(record.sequence());
            }
        }
        if came { state.waker.take() } else { None }
    }
}

/// A subscriber's half. Dropped, it leaves the feed.
pub(crate) struct Subscription<R: Record, E: Clone> {
    feed: Arc<Feed<R, E>>,
    mailbox: Arc<Mailbox<R, E>>,
}

impl<R: Record, E: Clone> Subscription<R, E> {
    /// Ready with what comes next in the order.
    pub(crate) fn poll_take(&self, context: &Context<'_>) -> Poll<Delivery<R, E>> {
        let mut state = self.mailbox.state.lock();
        match state.take() {
            Some(delivery) => Poll::Ready(delivery),
            None => {
                state.watch(context);
                Poll::Pending
            }
        }
    }

    /// What comes next, if it is there.
    pub(crate) fn try_take(&self) -> Option<Delivery<R, E>> {
        self.mailbox.state.lock().take()
    }
}

impl<R: Record, E: Clone> Drop for Subscription<R, E> {
    fn drop(&mut self) {
        self.feed.leave(&self.mailbox);
    }
}

impl<R: Record, E> MailboxState<R, E> {
    fn take(&mut self) -> Option<Delivery<R, E>> {
        if let Some(record) = self.records.pop_front() {
            self.bytes = self.bytes.saturating_sub(record.bytes());
            return Some(Delivery::Record(record));
        }
        if let Some(from) = self.missed_from.take() {
            return Some(Delivery::Missed { from });
        }
        let end = self.end.as_mut()?;
        Some(Delivery::Ended(end.take()))
    }

    /// A stream may be polled by another task each time: the last one counts.
    fn watch(&mut self, context: &Context<'_>) {
        match &self.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => self.waker = Some(context.waker().clone()),
        }
    }
}

/// Commits say where they stand as long as it is there.
pub(crate) struct Placing<R: Record, E: Clone>(Arc<Feed<R, E>>);

impl<R: Record, E: Clone> Drop for Placing<R, E> {
    fn drop(&mut self) {
        self.0.placing.fetch_sub(1, Ordering::Relaxed);
    }
}
