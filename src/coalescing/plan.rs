//! What is carried out at which place of a run of commands.
//!
//! # What carrying out a chain has to keep to
//!
//! **The statement** takes its key and its guard from the head, its values from [`Chain::set`].
//!
//! | kind | statement |
//! |---|---|
//! | insert | INSERT |
//! | upsert | UPDATE of the row with the key; if that changed no row, INSERT |
//! | update | UPDATE of the row with the key, if the guard holds |
//! | delete | DELETE of the row with the key, if the guard holds |
//!
//! **The revision** that it writes: a counter becomes [`Chain::changes`] in an INSERT and rises by as much in an
//! UPDATE; a sequence becomes that of [`Chain::last_change`].
//!
//! **A counter that is there already** must be an integer, and must not pass the largest one: the WHERE of an
//! UPDATE or DELETE also asks `typeof(revision) = 'integer' AND revision <= 9223372036854775807 - changes`. NULL
//! stays NULL however often it is raised, and an integer turns real at its end.
//!
//! **It counts only if** it succeeded and changed exactly one row. In every other case it must have left nothing
//! behind (with a savepoint, where a command of this table alone would need one), and the members are carried out
//! one after the other, as [`Place`] says: that gives the right answers, the errors included.
//!
//! **The answers.** For a counter let `base` be the row's revision before the statement (0 if it made the row).
//!
//! | role | answer |
//! |---|---|
//! | change | 1 row; revision `base + changes_before + 1`, or the member's own sequence; created, and with rowid and filled columns, if it is the head and the statement was an INSERT |
//! | conflict | a conflict with a row whose revision is `base + changes_before`, or the sequence of the last change before it in the chain |
//! | delete | 1 row, no revision |
//!
//! Filled columns are those with a DEFAULT that the head leaves out. They can be read from the row that the INSERT
//! made, since no member sets one of them.
//!
//! **Lack of room.** A chain may write its largest image earlier than its commands would have. So if any command of
//! a transaction with chains in it fails for lack of room or memory, the transaction begins again without
//! chains.

use crate::row::RowValues;

/// What to do with a run of row commands.
#[derive(PartialEq)]
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

/// Commands on one key that are carried out as one statement. At least two.
#[derive(PartialEq)]
pub(crate) struct Chain {
    pub(crate) kind: ChainKind,
    /// In order; the first is the head, whose key and guard the statement takes.
    pub(crate) members: Vec<ChainMember>,
    /// The columns and values of the statement, rising, as in a [`RowCommand`](crate::row::RowCommand), without a key.
    /// Empty for a delete.
    pub(crate) set: RowValues,
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

impl Chain {
    /// The last command that changes the row, a delete not counted: a revision that is a sequence is that one's.
    pub(crate) fn last_change(&self) -> Option<usize> {
        let mut changes = self.members.iter().rev().filter(|member| member.role == MemberRole::Change);
        changes.next().map(|member| member.command)
    }
}
