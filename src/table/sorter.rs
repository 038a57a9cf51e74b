//! From the fields of a row to the columns of its table.

use std::cell::RefCell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::encode::{Take, encode};
use super::fields::{Fields, fields_of};
use super::sending::{RowError, keeps};
use crate::error::InvalidValue;
use crate::row::{Affinity, ColumnMark, RowDraft, RowValues, TableShape, ValueRef};
use crate::sync::Arc;

/// How the fields of a row type go to the columns of a table, worked out when the table is opened. Cheap to clone.
#[derive(Clone)]
pub(super) struct RowSorter {
    /// The fields in their order; none if the type has not told them. Others are looked up when they come.
    fields: Arc<[Field]>,
    /// Each of the fields has a higher rank than the one before.
    is_sorted: bool,
}

struct Field {
    name: &'static str,
    /// Its place, from 1.
    position: usize,
    rule: ColumnRule,
    /// The kinds of values that the column takes as they come.
    plain: Kinds,
}

/// What is done with values for a column.
#[derive(Clone, Copy)]
struct ColumnRule {
    column: usize,
    mark: ColumnMark,
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
        let field = |(at, name): (usize, &&'static str)| {
            let rule = rule(name)?;
            Some(Field { name, position: at + 1, rule, plain: rule.plain() })
        };
        let fields: Arc<[Field]> = names.iter().enumerate().map_while(field).collect();
        let is_sorted = fields.is_sorted_by(|one, next| one.rule.rank < next.rule.rank);
        Self { fields, is_sorted }
    }

    /// Sorts the fields of a row to the columns: its key, if it has all of it, and then the others that can be
    /// written, rising.
    pub(super) fn sort<T: Serialize + ?Sized>(
        &self,
        shape: &TableShape,
        row: &T,
    ) -> Result<RowValues, RowError> {
        let sorted = DRAFT.try_with(|draft| {
            let mut draft = draft.try_borrow_mut().ok()?;
            let sorted = self.sort_into(&mut draft, shape, row);
            if draft.heap_bytes() > LARGEST_DRAFT {
                *draft = RowDraft::NONE;
            }
            Some(sorted)
        });
        match sorted {
            Ok(Some(sorted)) => sorted,
            // The thread ends, or a row sends another one while it is taken apart.
            Ok(None) | Err(_) => self.sort_into(&mut RowDraft::default(), shape, row),
        }
    }

    #[inline(never)]
    fn sort_into<T: Serialize + ?Sized>(
        &self,
        draft: &mut RowDraft,
        shape: &TableShape,
        row: &T,
    ) -> Result<RowValues, RowError> {
        draft.clear();
        let mut sorting =
            Sorting { sorter: self, shape, draft, key_parts: 0, is_expected: true, error: None };
        let encoded = encode(row, &mut sorting);
        match sorting.error.take() {
            Some(error) => Err(error),
            None => encoded.map_err(RowError::InvalidValue).and_then(|()| sorting.sorted()),
        }
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
        let mark = ColumnMark::of(column);
        Self { column, mark, rank, is_key: part.is_some(), left_out, affinity: facts.affinity }
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

    /// The kinds of values about which there is nothing to decide.
    fn plain(&self) -> Kinds {
        let examples = [
            ValueRef::Null,
            ValueRef::Integer(0),
            ValueRef::Real(0.0),
            ValueRef::Text(b""),
            ValueRef::Blob(b""),
        ];
        let plain = examples.into_iter().filter(|value| !self.leaves_out(*value) && self.is_kept(*value));
        Kinds(plain.map(Kinds::bit).sum())
    }
}

/// Some of the five kinds of values.
#[derive(Clone, Copy)]
struct Kinds(u8);

impl Kinds {
    #[inline]
    fn bit(value: ValueRef<'_>) -> u8 {
        match value {
            ValueRef::Null => 1,
            ValueRef::Integer(_) => 1 << 1,
            ValueRef::Real(_) => 1 << 2,
            ValueRef::Text(_) => 1 << 3,
            ValueRef::Blob(_) => 1 << 4,
        }
    }

    #[inline]
    fn has_that_of(self, value: ValueRef<'_>) -> bool {
        self.0 & Self::bit(value) != 0
    }
}

/// Takes the fields of one row as they come.
struct Sorting<'s> {
    sorter: &'s RowSorter,
    shape: &'s TableShape,
    draft: &'s mut RowDraft,
    /// How many of the values are parts of the key.
    key_parts: usize,
    /// All came as the fields that were expected, or as some of them.
    is_expected: bool,
    /// What comes behind the first error is of no account.
    error: Option<RowError>,
}

impl<'s> Take for &mut Sorting<'s> {
    type Expected = &'s Field;

    #[inline(always)]
    fn expected(&self, position: usize, name: &str) -> Option<&'s Field> {
        let sorter = self.sorter;
        sorter.fields.get(position.wrapping_sub(1)).filter(|field| is_same(field.name, name))
    }

    // So that the kind of the value is known.
    #[inline(always)]
    fn take_expected(&mut self, field: &'s Field, value: ValueRef<'_>) {
        if field.plain.has_that_of(value) {
            self.push(&field.rule, value);
        } else {
            self.judge(&field.rule, field.position, field.name, value);
        }
    }

    fn take(&mut self, position: usize, name: &str, value: ValueRef<'_>) {
        self.is_expected = false;
        match self.shape.column(name) {
            Some(column) => self.judge(&ColumnRule::of(self.shape, column), position, name, value),
            None => {
                let (table, column) = (self.shape.name.clone(), name.to_owned());
                self.error.get_or_insert(RowError::UnknownColumn { table, column });
            }
        }
    }
}

impl Sorting<'_> {
    /// Takes a value that asks for a closer look.
    #[inline(never)]
    fn judge(&mut self, rule: &ColumnRule, position: usize, name: &str, value: ValueRef<'_>) {
        if rule.leaves_out(value) {
            return;
        }
        if !rule.is_kept(value)
            && let Err(reason) = keeps(&self.shape.columns[rule.column], value)
        {
            let name = Some(name.to_owned());
            self.error.get_or_insert(RowError::InvalidValue(InvalidValue { position, name, reason }));
        }
        self.push(rule, value);
    }

    #[inline(always)]
    fn push(&mut self, rule: &ColumnRule, value: ValueRef<'_>) {
        self.key_parts += usize::from(rule.is_key);
        self.draft.push(rule.mark, rule.is_key, value);
    }

    /// Whether each value has a higher rank than the one before.
    fn is_sorted(&self) -> bool {
        if self.is_expected {
            return self.sorter.is_sorted;
        }
        let ranks = self.draft.all().columns().map(|column| ColumnRule::of(self.shape, column).rank);
        ranks.is_sorted_by(|one, next| one < next)
    }

    /// The values in a piece of memory of just their size.
    fn sorted(&self) -> Result<RowValues, RowError> {
        let shape = self.shape;
        // Fields mostly stand in the order of the columns, and the key in front.
        if self.is_sorted() && (self.key_parts == shape.key.len() || self.key_parts == 0) {
            return Ok(self.draft.to_values());
        }
        let mut values: Vec<_> = self.draft.all().iter().collect();
        values.sort_unstable_by_key(|(column, _)| *column);
        if values.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(RowError::NamedTwice { table: shape.name.clone() });
        }
        // Without a part of the key, which has a default then, what there is of it is set like any other column.
        let value_of = |part| self.draft.all().value_of(part).map(|value| (part, value));
        let key: Option<Vec<_>> = shape.key.iter().map(|part| value_of(*part)).collect();
        let key = key.unwrap_or_default();
        let mut sorted = RowValues::default();
        sorted.extend(key.iter().copied());
        sorted.end_key();
        sorted.extend(values.into_iter().filter(|value| !key.iter().any(|part| part.0 == value.0)));
        Ok(sorted)
    }
}

/// Whether both names are the same. Mostly it is the very same text.
#[inline]
fn is_same(one: &str, other: &str) -> bool {
    std::ptr::eq(one, other) || one == other
}

/// A thread keeps no more than this between two rows, in bytes.
const LARGEST_DRAFT: usize = 64 * 1024;

thread_local! {
    /// Where rows are put together.
    static DRAFT: RefCell<RowDraft> = const { RefCell::new(RowDraft::NONE) };
}
