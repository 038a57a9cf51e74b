//! A chain while commands may still join it.

use super::facts::TableFacts;
use super::plan::{Chain, ChainKind, ChainMember, MemberRole};
use super::values::{is_equal, is_kept, is_possible};
use crate::row::{Guard, RevisionKind, RowCommand, RowOp, RowValues, TableShape, ValueRef};

/// One command of a run, with what is known of its table.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// Its number in the run.
    pub(super) number: usize,
    pub(super) command: &'a RowCommand,
    pub(super) facts: &'a TableFacts,
    /// The commit sequence that is its own.
    pub(super) sequence: Option<i64>,
}

/// A chain that is being made.
pub(super) struct OpenChain<'a> {
    kind: ChainKind,
    members: Vec<ChainMember>,
    /// What the chain sets so far, by places in the table, rising.
    set: Vec<(usize, ValueRef<'a>)>,
    changes: u32,
    /// The row's revision behind the last member, if it is known.
    revision: Option<i64>,
    /// A delete may join: nobody would miss the updates before it.
    can_be_deleted: bool,
}

impl<'a> OpenChain<'a> {
    /// A chain of its head alone; `None` if a command of this kind starts none.
    pub(super) fn of_head(head: Candidate<'a>) -> Option<Self> {
        let Candidate { number, command, facts, .. } = head;
        let kind = kind_of_head(command.op)?;
        let set = command.values.set();
        let is_plain = |(column, value): (usize, ValueRef<'_>)| {
            !is_watched(facts, column) && is_possible_in(&command.table, column, value)
        };
        // Mostly one command joins, and sets what the head has set.
        let mut members = Vec::with_capacity(2);
        members.push(ChainMember { command: number, role: MemberRole::Change, changes_before: 0 });
        let mut values = Vec::with_capacity(command.values.set_columns().least_count() + 1);
        set.for_each(|column, value| values.push((column, value)));
        Some(Self {
            kind,
            members,
            set: values,
            changes: 1,
            revision: revision_behind_head(kind, head),
            can_be_deleted: kind == ChainKind::Update && set.iter().all(is_plain),
        })
    }

    /// Takes one more command into the chain, if that cannot be told from carrying it out by itself. If not, the
    /// chain is as before.
    pub(super) fn join(&mut self, follower: Candidate<'a>) -> bool {
        let op = follower.command.op;
        let is_guarded = matches!(op, RowOp::Update | RowOp::Delete);
        let holds = if is_guarded { self.holds(follower) } else { Some(true) };
        match (op, holds) {
            (RowOp::Insert | RowOp::InsertOrIgnore, _) | (_, None) => false,
            (_, Some(false)) => {
                // Run one after the other, a delete at the end takes those before it to its place. Where it
                // finds nothing to do, a delete of them would move.
                self.can_be_deleted &= op != RowOp::Delete;
                self.push(follower.number, MemberRole::Conflict);
                true
            }
            (RowOp::Upsert | RowOp::Update, Some(true)) => self.change(follower),
            (RowOp::Delete, Some(true)) => self.delete(follower),
        }
    }

    /// Whether nothing can follow.
    pub(super) fn is_ended(&self) -> bool {
        self.kind == ChainKind::Delete
    }

    /// The number of the command at whose place the chain is carried out: the head's, or that of the delete.
    pub(super) fn place(&self) -> Option<usize> {
        let member = if self.is_ended() { self.members.last() } else { self.members.first() };
        member.map(|member| member.command)
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|member| member.command)
    }

    pub(super) fn finish(self) -> Chain {
        let Self { kind, members, set, changes, .. } = self;
        let set = if kind == ChainKind::Delete { RowValues::NONE } else { RowValues::of_set(&set) };
        Chain { kind, members, set, changes }
    }

    fn change(&mut self, follower: Candidate<'a>) -> bool {
        let Candidate { command, facts, .. } = follower;
        let set = command.values.set();
        let may =
            |(column, value): (usize, ValueRef<'_>)| self.may_change(&command.table, facts, column, value);
        if !set.iter().all(may) {
            return false;
        }
        for (column, value) in set.iter() {
            match self.set.binary_search_by_key(&column, |(column, _)| *column) {
                Ok(at) => {
                    if let Some(before) = self.set.get_mut(at) {
                        before.1 = value;
                    }
                }
                Err(at) => self.set.insert(at, (column, value)),
            }
        }
        // A row that is not there would be made by the upsert, in another place if it were moved.
        self.can_be_deleted &= command.op == RowOp::Update;
        self.push(follower.number, MemberRole::Change);
        self.changes += 1;
        self.revision = match command.table.revision.map(|revision| revision.kind) {
            Some(RevisionKind::Counter) => self.revision.and_then(|revision| revision.checked_add(1)),
            Some(RevisionKind::Sequence) => follower.sequence,
            None => None,
        };
        true
    }

    fn may_change(&self, shape: &TableShape, facts: &TableFacts, column: usize, value: ValueRef<'_>) -> bool {
        let before = self.value(column);
        if is_watched(facts, column) {
            let is_kept = shape.columns.get(column).is_some_and(|column| is_kept(value, column.affinity));
            return is_kept && before.is_some_and(|before| before.is_same(value));
        }
        let could_be_before = match before {
            Some(before) => is_possible_in(shape, column, before),
            None => self.kind == ChainKind::Update || is_null_if_omitted(shape, facts, column),
        };
        could_be_before && is_possible_in(shape, column, value)
    }

    fn delete(&mut self, follower: Candidate<'a>) -> bool {
        if self.can_be_deleted {
            self.push(follower.number, MemberRole::Delete);
            self.kind = ChainKind::Delete;
        }
        self.can_be_deleted
    }

    /// Whether the guard of a command holds behind the chain, if it is sure.
    fn holds(&self, follower: Candidate<'a>) -> Option<bool> {
        let Candidate { command, facts, .. } = follower;
        let Guard { revision, column } = &command.guard;
        let mut holds = true;
        if let Some(asked) = revision {
            holds &= self.revision? == *asked;
        }
        if let Some((column, asked)) = column.as_deref() {
            let asked = ValueRef::from(asked);
            let affinity = command.table.columns.get(*column)?.affinity;
            let stored = self.value(*column)?;
            if !is_kept(stored, affinity) || !is_kept(asked, affinity) {
                return None;
            }
            holds &= is_equal(stored, asked, facts.is_binary.get(*column) == Some(&true))?;
        }
        Some(holds)
    }

    /// What the chain sets this column to.
    fn value(&self, column: usize) -> Option<ValueRef<'a>> {
        let at = self.set.binary_search_by_key(&column, |(column, _)| *column).ok()?;
        self.set.get(at).map(|(_, value)| *value)
    }

    fn push(&mut self, command: usize, role: MemberRole) {
        self.members.push(ChainMember { command, role, changes_before: self.changes });
    }
}

/// The statement of a chain with such a head.
fn kind_of_head(op: RowOp) -> Option<ChainKind> {
    match op {
        RowOp::Insert => Some(ChainKind::Insert),
        RowOp::Upsert => Some(ChainKind::Upsert),
        RowOp::Update => Some(ChainKind::Update),
        RowOp::InsertOrIgnore | RowOp::Delete => None,
    }
}

/// Whether a command of this kind starts a chain.
pub(super) fn starts_chain(op: RowOp) -> bool {
    kind_of_head(op).is_some()
}

fn revision_behind_head(kind: ChainKind, head: Candidate<'_>) -> Option<i64> {
    match head.command.table.revision?.kind {
        RevisionKind::Sequence => head.sequence,
        RevisionKind::Counter if kind == ChainKind::Insert => Some(1),
        RevisionKind::Counter => head.command.guard.revision?.checked_add(1),
    }
}

fn is_watched(facts: &TableFacts, column: usize) -> bool {
    facts.is_watched.get(column) != Some(&false)
}

fn is_possible_in(shape: &TableShape, column: usize, value: ValueRef<'_>) -> bool {
    shape.columns.get(column).is_some_and(|column| is_possible(value, column, shape.is_strict))
}

/// Whether an insert that leaves the column out surely succeeds in it, and has nothing to tell of it.
fn is_null_if_omitted(shape: &TableShape, facts: &TableFacts, column: usize) -> bool {
    facts.can_be_omitted.get(column) == Some(&true)
        && shape.columns.get(column).is_some_and(|column| column.default.is_none())
}
