//! What coalescing has to know of a table.

/// What coalescing has to know of a table, beside its shape. Vectors go by the shape's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableFacts {
    /// Commands on it touch this table's rows alone and fail without a trace: no trigger, no ON CONFLICT clause,
    /// no foreign key of others that acts on them.
    pub(crate) is_quiet: bool,
    /// A command on it may change other rows of it, too, by a trigger or a foreign key.
    pub(crate) acts_on_itself: bool,
    /// Commands of it may start together with others: it is quiet, and its changes call no function of the program's,
    /// which may take any time.
    pub(crate) joins: bool,
    /// Its commands may be coalesced.
    pub(crate) coalesces: bool,
    /// Columns whose values others can see or the schema judges: a later change of one must stay by itself.
    pub(crate) is_watched: Vec<bool>,
    /// Columns that compare text byte for byte.
    pub(crate) is_binary: Vec<bool>,
    /// An insert that leaves the column out surely succeeds in it, whatever the DEFAULT is.
    pub(crate) can_be_omitted: Vec<bool>,
    /// A row command needs a savepoint to leave nothing behind when it fails.
    pub(crate) needs_savepoint: bool,
    /// An insert or update may delete rows too: by a trigger, or by REPLACE as the answer to a conflict.
    pub(crate) any_change_may_delete: bool,
}
