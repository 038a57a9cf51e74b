//! Commands that work in pieces, between two of them.
//!
//! A bulk command does its first piece where it stands in the hand, so whatever was admitted before it is
//! applied before it. Each later group does one more piece of the first one here, behind the commands of its
//! hand: these do not wait for the whole. While there are some the writer never sleeps for want of commands.

use std::collections::VecDeque;

use super::started::Started;
use crate::protocol::level::AckLevel;
use crate::protocol::line::Entry;
use crate::protocol::queue::CommandQueue;
use crate::protocol::work::Command;

/// The commands of which a piece is committed and the rest is not, and those that wait for them: first come
/// first served.
pub(super) struct Unfinished<W: Command> {
    entries: VecDeque<Entry<W>>,
}

impl<W: Command> Unfinished<W> {
    pub(super) fn new() -> Self {
        Self { entries: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The level of the one that goes on next.
    pub(super) fn level(&self) -> Option<AckLevel> {
        self.entries.front().map(|entry| entry.work.level())
    }

    /// Takes the one that goes on next, unless nothing may go on.
    pub(super) fn resume(&mut self, queue: &CommandQueue<W>) -> Option<Started<W>> {
        if self.is_empty() || queue.given_up().is_some() {
            return None;
        }
        self.take_front()
    }

    /// Takes the first one, whatever is to become of it.
    pub(super) fn take_front(&mut self) -> Option<Started<W>> {
        self.entries.pop_front().map(Started::resumed)
    }

    /// Keeps a command until its next piece. The one that was resumed goes on first.
    pub(super) fn keep(&mut self, started: Started<W>, queue: &CommandQueue<W>) {
        if started.is_resumed {
            self.entries.push_front(started.entry);
        } else {
            // The queue gave its room away when it was taken. From here on it may be long in the memory.
            queue.hold_unfinished(started.entry.bytes);
            self.entries.push_back(started.entry);
        }
    }
}
