//! The command of the models.

use crate::protocol::level::AckLevel;
use crate::protocol::work::{Command, Work};

/// What a command does when it is applied.
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

/// A command of the models: one record with an id of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) id: u8,
    pub(crate) deed: Deed,
    pub(crate) level: AckLevel,
    pub(crate) bytes: usize,
}

impl Write {
    /// A command of one byte.
    pub(crate) fn new(id: u8, deed: Deed, level: AckLevel) -> Self {
        Self { id, deed, level, bytes: 1 }
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

    /// Whether carrying it out leaves a record in the log.
    pub(crate) fn leaves_record(&self) -> bool {
        matches!(self.deed, Deed::Insert | Deed::Delete)
    }

    /// Whether only a sync allows it to be answered.
    pub(crate) fn needs_sync(&self) -> bool {
        self.level == AckLevel::Durable || matches!(self.deed, Deed::Delete | Deed::DeleteNothing)
    }
}

/// What a success returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) sequence: u64,
    /// How much of the log this result has seen, its own record included: all of it must be safe first.
    pub(crate) seen: usize,
}

impl Work for Write {
    type Output = Receipt;
    type Error = &'static str;
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
}
