//! The line that callers stand in: one order for those admitted and those who wait for room.
//!
//! Plain data without a lock. A mark divides it: what stands before the mark is admitted and counts against
//! the limits; behind it callers wait for room. The mark only moves past the first of those who wait, so
//! nobody is overtaken, and the order of arrival is the order of admission.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Instant;

use super::answer::Responder;
use super::limits::{GroupLimits, QueueLimits};
use super::work::Work;

/// Work in the line, with the one who gets its answer. Once an engine thread has started it nothing withdraws it.
pub(crate) struct Entry<W: Work> {
    pub(crate) work: W,
    pub(crate) responder: Responder<W>,
    /// Counted once, at arrival: what is given back must be what was taken.
    pub(crate) bytes: usize,
    pub(crate) deadline: Option<Instant>,
}

/// A place in the line. Its entry is gone once the caller withdrew.
pub(crate) struct Place<W: Work> {
    pub(crate) number: u64,
    pub(crate) entry: Option<Entry<W>>,
}

/// The line of one queue.
pub(crate) struct Line<W: Work> {
    places: VecDeque<Place<W>>,
    /// `places[..mark]` are admitted.
    mark: usize,
    limits: QueueLimits,
    commands: usize,
    bytes: usize,
    /// Commands taken of which a piece is done, and the rest is not: they count against the limits again.
    unfinished_commands: usize,
    unfinished_bytes: usize,
    next_number: u64,
    /// Places whose entry was withdrawn; swept away when they outnumber the others.
    vacant: usize,
}

impl<W: Work> Line<W> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self {
            places: VecDeque::new(),
            mark: 0,
            limits,
            commands: 0,
            bytes: 0,
            unfinished_commands: 0,
            unfinished_bytes: 0,
            next_number: 0,
            vacant: 0,
        }
    }

    pub(crate) fn limits(&self) -> QueueLimits {
        self.limits
    }

    /// Commands admitted and not yet taken.
    pub(crate) fn commands(&self) -> usize {
        self.commands
    }

    /// How many have come so far.
    pub(crate) fn entered(&self) -> u64 {
        self.next_number
    }

    /// Commands taken and unfinished.
    pub(crate) fn unfinished_commands(&self) -> usize {
        self.unfinished_commands
    }

    /// Bytes of the commands that count against the limits: not yet taken, or unfinished.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.unfinished_bytes
    }

    /// Callers that wait for room.
    pub(crate) fn waiting(&self) -> usize {
        self.places.len() - self.vacant - self.commands
    }

    /// Places held in memory, also the vacant ones.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether place `number` still holds its entry.
    pub(crate) fn holds(&self, number: u64) -> bool {
        self.find(number).is_some_and(|index| self.places[index].entry.is_some())
    }

    fn fits(&self, bytes: usize) -> bool {
        self.commands + self.unfinished_commands < self.limits.commands
            && bytes <= self.limits.bytes.saturating_sub(self.bytes())
    }

    /// Whether work of this size would be admitted at once: there is room and nobody waits.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.waiting() == 0 && self.fits(bytes)
    }

    /// Puts an entry at the end; `admitted` is what [`has_room`](Self::has_room) said. Gives its number.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry<W>, admitted: bool) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        if admitted {
            self.commands += 1;
            self.bytes += entry.bytes;
        }
        self.places.push_back(Place { number, entry: Some(entry) });
        if admitted {
            self.mark = self.places.len();
        }
        number
    }

    /// Moves the mark over those who fit now, first come first served, and gives the wakers of those who
    /// wait for that.
    pub(crate) fn admit_waiting(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(place) = self.places.get(self.mark) {
            if let Some(entry) = &place.entry {
                let bytes = entry.bytes;
                if !self.fits(bytes) {
                    return;
                }
                wakers.extend(entry.responder.admit());
                self.commands += 1;
                self.bytes += bytes;
            }
            self.mark += 1;
        }
    }

    /// Takes the entry of place `number` out, wherever it stands, and gives its room back.
    pub(crate) fn withdraw(&mut self, number: u64) -> Option<Entry<W>> {
        let index = self.find(number)?;
        let entry = self.places[index].entry.take()?;
        if index < self.mark {
            self.release(entry.bytes);
        }
        self.vacant += 1;
        self.sweep();
        Some(entry)
    }

    /// Like [`withdraw`](Self::withdraw), but leaves an admitted entry where it is.
    pub(crate) fn withdraw_waiting(&mut self, number: u64) -> Option<Entry<W>> {
        if self.find(number)? < self.mark {
            return None;
        }
        self.withdraw(number)
    }

    /// Moves one group from the front into `hand`, which is empty: as much as `limits` allow, and at least one.
    pub(crate) fn take_group(&mut self, limits: &GroupLimits, hand: &mut VecDeque<Place<W>>) {
        debug_assert!(hand.is_empty(), "one group at a time");
        if self.is_one_group(limits) {
            // Callers wait for the line's lock meanwhile: the whole changes hands at once.
            std::mem::swap(&mut self.places, hand);
            (self.mark, self.commands, self.bytes, self.vacant) = (0, 0, 0, 0);
            return;
        }
        let (mut places, mut commands, mut bytes) = (0, 0, 0usize);
        for place in self.places.range(..self.mark) {
            if let Some(entry) = &place.entry {
                let with_next = bytes.saturating_add(entry.bytes);
                if commands > 0 && (commands >= limits.commands || with_next > limits.bytes) {
                    break;
                }
                (commands, bytes) = (commands + 1, with_next);
            }
            places += 1;
        }
        hand.extend(self.places.drain(..places));
        self.mark -= places;
        self.vacant -= places - commands;
        self.commands -= commands;
        self.bytes -= bytes;
    }

    /// Whether all that stand in the line are admitted and fit into one group.
    fn is_one_group(&self, limits: &GroupLimits) -> bool {
        let fits = self.commands <= limits.commands && self.bytes <= limits.bytes;
        self.mark == self.places.len() && self.commands > 0 && (fits || self.commands == 1)
    }

    /// Takes the first admitted entry, with the number of its place.
    pub(crate) fn pop_admitted(&mut self) -> Option<(u64, Entry<W>)> {
        self.front_admitted_bytes()?;
        let Place { number, entry } = self.places.pop_front()?;
        self.mark -= 1;
        let entry = entry?;
        self.release(entry.bytes);
        Some((number, entry))
    }

    /// The size of the first admitted entry, after vacant places before it were dropped.
    pub(crate) fn front_admitted_bytes(&mut self) -> Option<usize> {
        while self.mark > 0 {
            match self.places.front()? {
                Place { entry: Some(entry), .. } => return Some(entry.bytes),
                Place { entry: None, .. } => {
                    self.places.pop_front();
                    self.mark -= 1;
                    self.vacant -= 1;
                }
            }
        }
        None
    }

    /// Counts a command again that was taken and is unfinished. Its room may be taken by now: then the line
    /// is over its limits, by one group at most, until as much was given back.
    pub(crate) fn hold_unfinished(&mut self, bytes: usize) {
        self.unfinished_commands += 1;
        self.unfinished_bytes += bytes;
    }

    /// Gives the room of an unfinished command back.
    pub(crate) fn release_unfinished(&mut self, bytes: usize) {
        self.unfinished_commands -= 1;
        self.unfinished_bytes -= bytes;
    }

    /// Takes out all who wait for room.
    pub(crate) fn drain_waiting(&mut self) -> Vec<Entry<W>> {
        let entries: Vec<_> = self.places.drain(self.mark..).filter_map(|place| place.entry).collect();
        self.vacant = self.places.iter().filter(|place| place.entry.is_none()).count();
        entries
    }

    /// Takes out everybody.
    pub(crate) fn drain(&mut self) -> Vec<Entry<W>> {
        (self.mark, self.commands, self.bytes, self.vacant) = (0, 0, 0, 0);
        self.places.drain(..).filter_map(|place| place.entry).collect()
    }

    fn release(&mut self, bytes: usize) {
        self.commands -= 1;
        self.bytes -= bytes;
    }

    fn find(&self, number: u64) -> Option<usize> {
        self.places.binary_search_by_key(&number, |place| place.number).ok()
    }

    /// Drops vacant places once they are the greater part, so that callers who come and withdraw while the
    /// writer is stuck do not fill the memory. Each sweep is paid for by the withdrawals before it.
    fn sweep(&mut self) {
        if self.vacant < 32 || self.vacant * 2 < self.places.len() {
            return;
        }
        let vacant_admitted =
            self.places.iter().take(self.mark).filter(|place| place.entry.is_none()).count();
        self.mark -= vacant_admitted;
        self.places.retain(|place| place.entry.is_some());
        self.vacant = 0;
    }
}
