//! Which groups grew since they were last looked at: told by the writer, asked by the chore.

use std::collections::HashMap;

use crate::row::{RowCommand, RowOp, RowValues, Value, ValueRef};
use crate::sync::{Arc, Mutex};

/// Groups that are remembered. More of them, and all are looked at.
const MOST_GROUPS: usize = 1024;
/// A group named by a longer text or BLOB is not remembered either.
const LONGEST_GROUP: usize = 256;

/// The groups of one policy.
#[derive(Default)]
pub(crate) struct GrownGroups(Mutex<Grown>);

#[derive(Default)]
struct Grown {
    groups: HashMap<Vec<u8>, Value>,
    /// Any group may have grown.
    any: bool,
    /// The chore has found nothing to do and wants to be woken.
    is_asked_for: bool,
}

/// The groups to look at.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Taken {
    pub(super) groups: Vec<Value>,
    pub(super) any: bool,
}

impl GrownGroups {
    /// A group has grown. Gives whether somebody wants to know.
    pub(crate) fn note(&self, group: ValueRef<'_>) -> bool {
        let mut grown = self.0.lock();
        if grown.any || group.is_null() {
            return false;
        }
        if group.bytes() > LONGEST_GROUP || grown.groups.len() >= MOST_GROUPS {
            grown.any = true;
        } else {
            grown.groups.insert(key(group), group.to_value());
        }
        std::mem::take(&mut grown.is_asked_for)
    }

    /// Any group may have grown. Gives whether somebody wants to know.
    pub(crate) fn note_any(&self) -> bool {
        let mut grown = self.0.lock();
        grown.any = true;
        std::mem::take(&mut grown.is_asked_for)
    }

    /// Takes what is known. If it is nothing, the next note will be told.
    pub(super) fn take(&self) -> Taken {
        let mut grown = self.0.lock();
        let taken = Taken {
            groups: std::mem::take(&mut grown.groups).into_values().collect(),
            any: std::mem::take(&mut grown.any),
        };
        grown.is_asked_for = taken == Taken::default();
        taken
    }
}

/// A value as bytes, since values have no order and no hash.
fn key(value: ValueRef<'_>) -> Vec<u8> {
    let (kind, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(integer) => (1, &integer.to_be_bytes()),
        ValueRef::Real(real) => (2, &real.to_be_bytes()),
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(bytes) => (4, bytes),
    };
    [&[kind], bytes].concat()
}

/// The table and the column whose groups somebody wants to know of.
#[derive(Clone)]
pub(crate) struct GroupWatch {
    /// The chore to be woken.
    pub(crate) chore: String,
    /// As in the schema.
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) grown: Arc<GrownGroups>,
}

impl GroupWatch {
    /// Notes what a row command did. Gives whether the chore is to be woken.
    pub(crate) fn note(&self, command: &RowCommand) -> bool {
        if command.table.name != self.table {
            return false;
        }
        let Some(column) = command.table.column(&self.column) else { return self.grown.note_any() };
        if command.adjust.as_ref().is_some_and(|adjust| adjust.names(column)) {
            return self.grown.note_any();
        }
        match command.op {
            RowOp::Delete => false,
            RowOp::Update => self.note_set(column, &command.values),
            RowOp::Insert | RowOp::InsertOrIgnore | RowOp::Upsert => {
                match command.values.all().iter().find(|(of, _)| *of == column) {
                    Some((_, group)) => self.grown.note(group),
                    // The database fills the column in.
                    None => self.grown.note_any(),
                }
            }
        }
    }

    /// Notes that rows were given these values.
    pub(crate) fn note_set(&self, column: usize, values: &RowValues) -> bool {
        values.set().iter().find(|(of, _)| *of == column).is_some_and(|(_, group)| self.grown.note(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_remembered_once_each_and_taken_together() {
        let grown = GrownGroups::default();
        for group in [Value::from(1), Value::from("1"), Value::from(1), Value::Null] {
            grown.note((&group).into());
        }
        let taken = grown.take();
        assert_eq!((taken.groups.len(), taken.any), (2, false));
        assert_eq!(grown.take(), Taken::default());
    }

    #[test]
    fn too_many_groups_are_all_groups() {
        let grown = GrownGroups::default();
        for group in 0..=MOST_GROUPS as i64 {
            grown.note(ValueRef::Integer(group));
        }
        assert!(grown.take().any);
        grown.note(ValueRef::Blob(&[0; LONGEST_GROUP + 1]));
        assert!(grown.take().any);
    }

    #[test]
    fn who_found_nothing_is_told_of_the_next_group_once() {
        let grown = GrownGroups::default();
        assert!(!grown.note(ValueRef::Integer(1)));
        grown.take();
        assert!(!grown.note(ValueRef::Integer(1)));
        grown.take();
        grown.take();
        assert!(grown.note(ValueRef::Integer(1)));
        assert!(!grown.note_any());
    }
}
