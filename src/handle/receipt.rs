//! What a successful write returns.

/// What a successful write returns.
///
/// Several commands of one group each get a receipt of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The write's place in the order of all writes to this file: it grows with the order in which
    /// commands were admitted, and is never used twice, also over restarts, crashes and power cuts.
    /// There may be gaps. Work on many rows takes the sequence of its last piece, and so does a flush that
    /// waits for it.
    pub sequence: u64,
    /// Rows inserted, updated or deleted by the command.
    ///
    /// For a statement those that it changed itself: changes made by triggers and foreign-key actions are not
    /// counted, as in SQLite's `changes()`, and a change of the schema counts as 0. For a batch the sum over
    /// its statements. For a closure all changes that SQLite counted while it ran, those of triggers and
    /// foreign-key actions too, as in SQLite's `total_changes()`.
    pub rows_changed: u64,
}

/// What a write that returns a value gives: the value and the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied<T> {
    /// What the closure or statement returned.
    pub value: T,
    /// The write's receipt.
    pub receipt: Receipt,
}
