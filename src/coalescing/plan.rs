//! What is carried out at which place of a run of commands.

use crate::row::Value;

/// What to do with a run of row commands.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    /// One for each command, in order.
    pub(crate) places: Vec<Place>,
    pub(crate) chains: Vec<Chain>,
}

/// What happens at the place of one command. Chains by their number in [`Plan::chains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The command is carried out by itself.
    Alone,
    /// The chain is carried out here, and answers all of its members. If that fails, its members are carried out one
    /// after the other: this one here, those behind at their own places, those before it (of a chain that
    /// ends in a delete) here, before this one.
    Chain(usize),
    /// The command is answered by its chain, wherever that is carried out.
    Member(usize),
}

/// Commands on one key that are carried out as one statement.
#[derive(Debug, PartialEq)]
pub(crate) struct Chain {
    pub(crate) kind: ChainKind,
    /// In order; the first is the head, whose key and guard the statement takes.
    pub(crate) members: Vec<ChainMember>,
    /// The columns and values of the statement, rising, as in [`RowCommand::set`](crate::row::RowCommand).
    pub(crate) set: Vec<(usize, Value)>,
    /// By how much a counting revision rises: the members that change the row, a delete not counted.
    pub(crate) changes: u32,
}

/// The statement of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainKind {
    Insert,
    Upsert,
    Update,
    /// Updates, and then a delete of the row.
    Delete,
}

/// One command of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainMember {
    /// Its number in the run.
    pub(crate) command: usize,
    pub(crate) role: MemberRole,
    /// How many members before it change the row.
    pub(crate) changes_before: u32,
}

/// What a member's answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberRole {
    /// It changes the row.
    Change,
    /// Its guard does not hold.
    Conflict,
    /// It deletes the row.
    Delete,
}
