//! The command of the models.

use crate::protocol::level::AckLevel;
use crate::protocol::work::{Answer, Command, Work};

/// What a command does when it is applied; one that works in pieces, what it does with the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Appends its record to the log.
    Insert,
    /// Appends its record to the log, and counts as a delete.
    Delete,
    /// Counts as a delete, but finds nothing to delete: writes nothing.
    DeleteNothing,
    /// Fails by itself.
    Fail,
    /// Fails and takes the whole transaction with it, each time.
    Lose,
}

/// A command of the models: one record for each of its pieces, with an id of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) id: u8,
    pub(crate) deed: Deed,
    pub(crate) level: AckLevel,
    pub(crate) bytes: usize,
    /// May be carried out together with its neighbours.
    pub(crate) joins: bool,
    /// Is answered after everything that was admitted before it.
    pub(crate) waits: bool,
    /// How many transactions it takes.
    pub(crate) pieces: u8,
    /// How many of them it knows to be committed.
    pub(crate) kept: u8,
}

impl Write {
    /// A command of one byte and one piece that stands for itself.
    pub(crate) fn new(id: u8, deed: Deed, level: AckLevel) -> Self {
        Self { id, deed, level, bytes: 1, joins: false, waits: false, pieces: 1, kept: 0 }
    }

    /// An insert that is answered once committed.
    pub(crate) fn committed(id: u8) -> Self {
        Self::new(id, Deed::Insert, AckLevel::Committed)
    }

    /// An insert that is answered once durable.
    pub(crate) fn durable(id: u8) -> Self {
        Self::new(id, Deed::Insert, AckLevel::Durable)
    }

    /// The same command with another size.
    pub(crate) fn of_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// The same command, carried out together with its neighbours.
    pub(crate) fn joining(self) -> Self {
        Self { joins: true, ..self }
    }

    /// The same command, answered after everything that was admitted before it.
    pub(crate) fn waiting(self) -> Self {
        Self { waits: true, ..self }
    }

    /// The same command as bulk work.
    pub(crate) fn in_pieces(self, pieces: u8) -> Self {
        Self { pieces, ..self }
    }

    /// Whether `piece` leaves a record in the log.
    pub(crate) fn leaves_record(&self, piece: u8) -> bool {
        match self.deed {
            Deed::Insert | Deed::Delete => true,
            Deed::DeleteNothing => false,
            Deed::Fail | Deed::Lose => !self.is_last(piece),
        }
    }

    /// The pieces that are in the log once the first `pieces` are committed.
    pub(crate) fn records_of(&self, pieces: u8) -> Vec<u8> {
        (0..pieces).filter(|piece| self.leaves_record(*piece)).collect()
    }

    pub(crate) fn is_last(&self, piece: u8) -> bool {
        piece + 1 >= self.pieces
    }

    /// Whether it counts as a delete.
    pub(crate) fn deletes(&self) -> bool {
        matches!(self.deed, Deed::Delete | Deed::DeleteNothing)
    }

    /// Whether only a sync allows it to be answered.
    pub(crate) fn needs_sync(&self) -> bool {
        self.level == AckLevel::Durable || self.deletes()
    }
}

/// What a success returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) sequence: u64,
    /// How much of the log this result has seen, its own record included: all of it must be safe first.
    pub(crate) seen: usize,
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing of it is there.
    Undone,
    /// So many of its pieces are there, and no more.
    Partly(u8),
}

impl Work for Write {
    type Output = Receipt;
    type Error = Failure;
    type Reason = &'static str;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn lost() -> Self::Reason {
        "dropped without an answer"
    }
}

impl Command for Write {
    fn level(&self) -> AckLevel {
        self.level
    }

    fn waits_for_unfinished(&self) -> bool {
        self.waits
    }

    fn keep_piece(&mut self) {
        self.kept += 1;
    }

    fn set_back(&self, answer: Answer<Self>) -> Answer<Self> {
        match answer {
            Answer::Failed(_) | Answer::NotStarted(_) if self.kept > 0 => {
                Answer::Failed(Failure::Partly(self.kept))
            }
            answer => answer,
        }
    }
}
