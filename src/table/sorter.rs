//! From the fields of a row to the columns of its table.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::encode::encode;
use super::fields::{Fields, fields_of};
use super::sending::{RowError, keeps};
use crate::error::InvalidValue;
use crate::row::{Affinity, RowValues, TableShape, ValueRef};
use crate::sync::Arc;

/// How the fields of a row type go to the columns of a table, worked out when the table is opened. Cheap to clone.
#[derive(Clone)]
pub(super) struct RowSorter {
    /// The fields in their order; none if the type has not told them. Others are looked up when they come.
    fields: Arc<[Field]>,
}

struct Field {
    name: &'static str,
    rule: ColumnRule,
}

/// What is done with values for a column.
#[derive(Clone, Copy)]
struct ColumnRule {
    column: usize,
    /// Its place among the values of a command: the key in its own order, and behind it the columns in theirs.
    rank: usize,
    is_key: bool,
    left_out: LeftOut,
    affinity: Affinity,
}

/// Which values of a column are the database's own affair.
#[derive(Clone, Copy, PartialEq)]
enum LeftOut {
    /// It is the revision, or generated.
    All,
    /// The database makes the rowid, or leaves the one that is there alone.
    Null,
    None,
}

impl RowSorter {
    pub(super) fn of<T: DeserializeOwned>(shape: &TableShape) -> Self {
        let names = match fields_of::<T>() {
            Fields::Named(names) => names,
            Fields::Any => &[],
        };
        // A field that has no column ends what is known of the order.
        let rule = |name: &str| shape.column(name).map(|column| ColumnRule::of(shape, column));
        let fields = names.iter().map_while(|name| Some(Field { name, rule: rule(name)? }));
        Self { fields: fields.collect() }
    }

    /// Sorts the fields of a row to the columns: its key, if it has all of it, and then the others that can be
    /// written, rising.
    pub(super) fn sort<T: Serialize + ?Sized>(
        &self,
        shape: &TableShape,
        row: &T,
    ) -> Result<RowValues, RowError> {
        let (fields, values) = (&*self.fields, take_scratch());
        let mut sorting =
            Sorting { shape, fields, values, key_parts: 0, next: 0, is_sorted: true, error: None };
        let encoded = encode(row, |position, field, value| sorting.take(position, field, value));
        let sorted = match sorting.error.take() {
            Some(error) => Err(error),
            None => encoded.map_err(RowError::InvalidValue).and_then(|()| sorting.sorted()),
        };
        give_back_scratch(sorting.values);
        sorted
    }
}

impl ColumnRule {
    fn of(shape: &TableShape, column: usize) -> Self {
        let part = shape.key.iter().position(|part| *part == column);
        let facts = &shape.columns[column];
        let is_revision = shape.revision.is_some_and(|revision| revision.column == column);
        let left_out = match () {
            () if is_revision || facts.is_generated => LeftOut::All,
            () if shape.rowid_column == Some(column) => LeftOut::Null,
            () => LeftOut::None,
        };
        let rank = part.unwrap_or(shape.key.len() + column);
        Self { column, rank, is_key: part.is_some(), left_out, affinity: facts.affinity }
    }

    fn leaves_out(&self, value: ValueRef<'_>) -> bool {
        match self.left_out {
            LeftOut::All => true,
            LeftOut::Null => value.is_null(),
            LeftOut::None => false,
        }
    }

    /// Whether the column surely keeps the value as it is.
    fn is_kept(&self, value: ValueRef<'_>) -> bool {
        match value {
            ValueRef::Null | ValueRef::Blob(_) => true,
            ValueRef::Text(_) => matches!(self.affinity, Affinity::Text | Affinity::Blob),
            ValueRef::Integer(_) => !matches!(self.affinity, Affinity::Text | Affinity::Real),
            ValueRef::Real(_) => self.affinity != Affinity::Text,
        }
    }
}

/// Takes the fields of one row as they come.
struct Sorting<'s> {
    shape: &'s TableShape,
    fields: &'s [Field],
    values: RowValues,
    /// How many of the values are parts of the key.
    key_parts: usize,
    /// The least rank that the next value may have.
    next: usize,
    /// Each value so far had a higher rank than the one before.
    is_sorted: bool,
    error: Option<RowError>,
}

impl Sorting<'_> {
    fn take(&mut self, position: usize, name: &str, value: ValueRef<'_>) {
        if self.error.is_some() {
            return;
        }
        let rule = match self.fields.get(position.wrapping_sub(1)) {
            // Mostly it is the very same text.
            Some(field) if std::ptr::eq(field.name, name) || field.name == name => field.rule,
            _ => match self.shape.column(name) {
                Some(column) => ColumnRule::of(self.shape, column),
                None => {
                    let (table, column) = (self.shape.name.clone(), name.to_owned());
                    self.error = Some(RowError::UnknownColumn { table, column });
                    return;
                }
            },
        };
        if rule.leaves_out(value) {
            return;
        }
        if !rule.is_kept(value)
            && let Err(reason) = keeps(&self.shape.columns[rule.column], value)
        {
            let name = Some(name.to_owned());
            self.error = Some(RowError::InvalidValue(InvalidValue { position, name, reason }));
        }
        self.push(rule, value);
    }

    fn push(&mut self, rule: ColumnRule, value: ValueRef<'_>) {
        self.is_sorted &= rule.rank >= self.next;
        self.next = rule.rank + 1;
        self.values.push(rule.column, value);
        if rule.is_key {
            self.key_parts += 1;
            self.values.end_key();
        }
    }

    /// The values in a piece of memory of just their size.
    fn sorted(&self) -> Result<RowValues, RowError> {
        let shape = self.shape;
        // Fields mostly stand in the order of the columns, and the key in front.
        if self.is_sorted && (self.key_parts == shape.key.len() || self.key_parts == 0) {
            return Ok(self.values.clone());
        }
        let mut values: Vec<_> = self.values.all().iter().collect();
        values.sort_unstable_by_key(|(column, _)| *column);
        if values.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(RowError::NamedTwice { table: shape.name.clone() });
        }
        // Without a part of the key, which has a default then, what there is of it is set like any other column.
        let value_of = |part| self.values.all().value_of(part).map(|value| (part, value));
        let key: Option<Vec<_>> = shape.key.iter().map(|part| value_of(*part)).collect();
        let key = key.unwrap_or_default();
        let mut sorted = RowValues::default();
        sorted.extend(key.iter().copied());
        sorted.end_key();
        sorted.extend(values.into_iter().filter(|value| !key.iter().any(|part| part.0 == value.0)));
        Ok(sorted)
    }
}

/// A thread keeps no more than this between two rows, in bytes.
const LARGEST_SCRATCH: usize = 64 * 1024;

thread_local! {
    /// Where rows are put together: how much memory one takes shows only at its end.
    static SCRATCH: Cell<RowValues> = const { Cell::new(RowValues::NONE) };
}

fn take_scratch() -> RowValues {
    // A thread that ends may have none any more.
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    scratch.clear();
    scratch
}

fn give_back_scratch(scratch: RowValues) {
    if scratch.heap_bytes() <= LARGEST_SCRATCH {
        let _ = SCRATCH.try_with(|kept| kept.set(scratch));
    }
}
