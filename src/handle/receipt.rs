//! What a successful write returns.

/// What a successful write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The write's place in the order of all writes to this file: it grows with the order in which
    /// commands were admitted, and is never used twice, also over restarts, crashes and power cuts.
    /// There may be gaps.
    pub sequence: u64,
    /// Rows inserted, updated or deleted by the command's own SQL. Changes made by triggers and
    /// foreign-key actions are not counted, as in SQLite's `changes()`.
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
