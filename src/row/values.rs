//! The values of a row on its way to the writer, in one piece of memory.
//!
//! A command is made on one thread and dropped on another. With a `String` for each text and a `Vec` around them,
//! asking for memory and giving it back would be the greater part of what a command costs.

use super::mask::ColumnMask;
use super::value::Value;

/// A value where it lies: in a field of the program's, a [`Value`], or a [`RowValues`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueRef<'v> {
    Null,
    Integer(i64),
    Real(f64),
    /// UTF-8, made of a `str`. As bytes, since hardly anybody has to read it as text again.
    Text(&'v [u8]),
    Blob(&'v [u8]),
}

impl ValueRef<'_> {
    /// A copy that owns itself.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(integer) => Value::Integer(integer),
            Self::Real(real) => Value::Real(real),
            Self::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
            Self::Blob(bytes) => Value::Blob(bytes.to_owned()),
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self == Self::Null
    }

    /// The size of a text or BLOB, in bytes; 0 for others.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
        }
    }

    /// Whether both are the same to the last bit.
    pub(crate) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Real(one), Self::Real(other)) => one.to_bits() == other.to_bits(),
            _ => self == other,
        }
    }
}

impl<'v> From<&'v Value> for ValueRef<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Real(real) => Self::Real(*real),
            Value::Text(text) => Self::Text(text.as_bytes()),
            Value::Blob(bytes) => Self::Blob(bytes),
        }
    }
}

/// The key of a row and the columns to set: places of columns, each with its value.
///
/// Each value has a head of two words: its column and kind, and then the number itself or the length of the bytes that
/// follow. The higher byte comes first, so that keys that are made in order rise byte by byte, too.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct RowValues {
    bytes: Vec<u8>,
    /// Where the key ends and the columns to set begin.
    key_end: usize,
    set_columns: ColumnMask,
}

/// Some columns with their values, to be gone through.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Values<'v>(&'v [u8]);

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// A value's head, in bytes.
pub(super) const HEAD: usize = 16;

/// A column as the heads of its values name it, worked out once for many rows.
#[derive(Clone, Copy)]
pub(crate) struct ColumnMark {
    /// The first word of its heads, but for the kind.
    head: u64,
    pub(super) mask: ColumnMask,
}

impl ColumnMark {
    pub(crate) fn of(column: usize) -> Self {
        Self { head: ((column as u64) << 8).to_be(), mask: ColumnMask::of(column) }
    }
}

/// The head of a value, and the bytes that follow it.
#[inline(always)]
pub(super) fn head_of(column: ColumnMark, value: ValueRef<'_>) -> ([u8; HEAD], &[u8]) {
    let (kind, word, bytes) = match value {
        ValueRef::Null => (NULL, 0, &[][..]),
        ValueRef::Integer(integer) => (INTEGER, integer.cast_unsigned(), &[][..]),
        ValueRef::Real(real) => (REAL, real.to_bits(), &[][..]),
        ValueRef::Text(text) => (TEXT, text.len() as u64, text),
        ValueRef::Blob(bytes) => (BLOB, bytes.len() as u64, bytes),
    };
    let mut head = [0; HEAD];
    let (first, second) = head.split_at_mut(HEAD / 2);
    first.copy_from_slice(&(column.head | u64::from(kind).to_be()).to_ne_bytes());
    second.copy_from_slice(&word.to_be_bytes());
    (head, bytes)
}

impl RowValues {
    /// None.
    pub(crate) const NONE: Self = Self { bytes: Vec::new(), key_end: 0, set_columns: ColumnMask::NONE };

    /// Of values that are packed already.
    pub(super) fn of_parts(bytes: Vec<u8>, key_end: usize, set_columns: ColumnMask) -> Self {
        Self { bytes, key_end, set_columns }
    }

    /// With room for some values and the texts among them, in bytes.
    pub(crate) fn with_capacity(values: usize, texts: usize) -> Self {
        Self { bytes: Vec::with_capacity(values * HEAD + texts), ..Self::NONE }
    }

    /// A key, of these columns; nothing is set yet.
    pub(crate) fn of_key(columns: &[usize], key: &[Value]) -> Self {
        let texts: usize = key.iter().map(Value::bytes).sum();
        // What follows is mostly one or two small columns.
        let mut values = Self::with_capacity(key.len() + 2, texts);
        for (column, value) in columns.iter().zip(key) {
            values.push(*column, value.into());
        }
        values.end_key();
        values
    }

    /// These columns to set, in this order, in a piece of memory of just their size.
    pub(crate) fn of_set(set: &[(usize, ValueRef<'_>)]) -> Self {
        let texts: usize = set.iter().map(|(_, value)| value.bytes()).sum();
        let mut values = Self::with_capacity(set.len(), texts);
        values.extend(set.iter().copied());
        values
    }

    /// Puts a value behind the others.
    #[inline]
    pub(crate) fn push(&mut self, column: usize, value: ValueRef<'_>) {
        let column = ColumnMark::of(column);
        let (head, bytes) = head_of(column, value);
        self.set_columns.add(column.mask);
        self.bytes.reserve(HEAD + bytes.len());
        self.bytes.extend_from_slice(&head);
        if !bytes.is_empty() {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// What was pushed so far is the key.
    pub(crate) fn end_key(&mut self) {
        self.key_end = self.bytes.len();
        self.set_columns = ColumnMask::NONE;
    }

    /// Puts a column among those to set, which rise; the last value given for a column counts.
    pub(crate) fn put(&mut self, column: usize, value: ValueRef<'_>) {
        if self.set().columns().last().is_none_or(|last| last < column) {
            return self.push(column, value);
        }
        let before = std::mem::take(self);
        self.extend(before.key().iter());
        self.end_key();
        self.extend(before.set().iter().take_while(|(other, _)| *other < column));
        self.push(column, value);
        self.extend(before.set().iter().skip_while(|(other, _)| *other <= column));
    }

    /// One value for each key column, or none.
    pub(crate) fn key(&self) -> Values<'_> {
        Values(self.bytes.get(..self.key_end).unwrap_or_default())
    }

    /// The columns to set.
    pub(crate) fn set(&self) -> Values<'_> {
        Values(self.bytes.get(self.key_end..).unwrap_or_default())
    }

    /// Which columns are to be set.
    pub(crate) fn set_columns(&self) -> ColumnMask {
        self.set_columns
    }

    /// Whether this column is to be set.
    pub(crate) fn sets(&self, column: usize) -> bool {
        self.set_columns.may_have(column)
            && (self.set_columns.is_exact() || self.set().value_of(column).is_some())
    }

    /// The key, and then the columns to set.
    pub(crate) fn all(&self) -> Values<'_> {
        Values(&self.bytes)
    }

    /// The size of the largest text or BLOB, in bytes.
    pub(crate) fn largest(&self) -> usize {
        self.all().values().map(ValueRef::bytes).max().unwrap_or(0)
    }

    /// The memory that they hold, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        // By capacity: what has grown has room to spare.
        self.bytes.capacity()
    }
}

impl<'v> Extend<(usize, ValueRef<'v>)> for RowValues {
    fn extend<I: IntoIterator<Item = (usize, ValueRef<'v>)>>(&mut self, values: I) {
        values.into_iter().for_each(|(column, value)| self.push(column, value));
    }
}

impl<'v> FromIterator<(usize, ValueRef<'v>)> for RowValues {
    /// Columns to set, in this order.
    fn from_iter<I: IntoIterator<Item = (usize, ValueRef<'v>)>>(set: I) -> Self {
        let mut values = Self::default();
        values.extend(set);
        values
    }
}

impl<'v> Values<'v> {
    /// None.
    pub(crate) const NONE: Self = Self(&[]);

    /// Of bytes that hold whole values.
    pub(super) fn of_bytes(bytes: &'v [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The columns with their values, one after the other.
    pub(crate) fn iter(self) -> ValuesIter<'v> {
        ValuesIter(self.0)
    }

    /// Gives each to `take`, which is compiled for each kind of value: the fastest way through.
    #[inline(always)]
    pub(crate) fn for_each(self, mut take: impl FnMut(usize, ValueRef<'v>)) {
        let mut left = self.0;
        while let Some((head, rest)) = left.split_first_chunk::<HEAD>() {
            let head = u128::from_be_bytes(*head);
            let (head, word) = ((head >> 64) as u64, head as u64);
            let (column, kind) = ((head >> 8) as usize, head as u8);
            left = rest;
            match kind {
                INTEGER => take(column, ValueRef::Integer(word.cast_signed())),
                REAL => take(column, ValueRef::Real(f64::from_bits(word))),
                TEXT | BLOB => {
                    let Some((bytes, rest)) = rest.split_at_checked(word as usize) else { return };
                    left = rest;
                    take(column, if kind == TEXT { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) });
                }
                _ => take(column, ValueRef::Null),
            }
        }
    }

    pub(crate) fn columns(self) -> impl Iterator<Item = usize> + Clone + use<'v> {
        self.iter().map(|(column, _)| column)
    }

    pub(crate) fn values(self) -> impl Iterator<Item = ValueRef<'v>> + Clone + use<'v> {
        self.iter().map(|(_, value)| value)
    }

    /// The value of a column, if it is among them.
    pub(crate) fn value_of(self, column: usize) -> Option<ValueRef<'v>> {
        self.iter().find(|(other, _)| *other == column).map(|(_, value)| value)
    }

    /// Copies that own themselves.
    #[cfg(test)]
    pub(crate) fn to_vec(self) -> Vec<(usize, Value)> {
        self.iter().map(|(column, value)| (column, value.to_value())).collect()
    }

    /// All of it. Equal where columns and values are the same to the last bit.
    pub(crate) fn as_bytes(self) -> &'v [u8] {
        self.0
    }
}

/// Goes through [`Values`].
#[derive(Clone)]
pub(crate) struct ValuesIter<'v>(&'v [u8]);

impl<'v> Iterator for ValuesIter<'v> {
    type Item = (usize, ValueRef<'v>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<HEAD>()?;
        let head = u128::from_be_bytes(*head);
        let (head, word) = ((head >> 64) as u64, head as u64);
        let kind = head as u8;
        let length = if kind >= TEXT { word as usize } else { 0 };
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        let value = match kind {
            INTEGER => ValueRef::Integer(word.cast_signed()),
            REAL => ValueRef::Real(f64::from_bits(word)),
            TEXT => ValueRef::Text(bytes),
            BLOB => ValueRef::Blob(bytes),
            _ => ValueRef::Null,
        };
        Some(((head >> 8) as usize, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<(usize, Value)> {
        vec![
            (0, Value::Null),
            (2, Value::Integer(i64::MIN)),
            (3, Value::Real(-0.0)),
            (300, Value::Text("a\0é".to_owned())),
            (301, Value::Text(String::new())),
            (70_000, Value::Blob(vec![0, 255])),
            (70_001, Value::Blob(Vec::new())),
        ]
    }

    fn packed(values: &[(usize, Value)]) -> RowValues {
        values.iter().map(|(column, value)| (*column, value.into())).collect()
    }

    #[test]
    fn what_was_packed_comes_out_again() {
        let packed = packed(&values());
        assert_eq!(packed.set().to_vec(), values());
        let mut taken = Vec::new();
        packed.set().for_each(|column, value| taken.push((column, value.to_value())));
        assert_eq!(taken, values());
        assert!(packed.key().is_empty());
        let real = packed.set().value_of(3).unwrap();
        assert!(real.is_same(ValueRef::Real(-0.0)) && !real.is_same(ValueRef::Real(0.0)));
        assert_eq!(packed.set().value_of(4), None);
    }

    #[test]
    fn a_key_stands_before_what_is_set() {
        let key = [Value::from("a"), Value::from(7)];
        let mut row = RowValues::of_key(&[4, 1], &key);
        row.push(2, ValueRef::Null);
        assert_eq!(row.key().to_vec(), [(4, "a".into()), (1, 7.into())]);
        assert_eq!(row.set().to_vec(), [(2, Value::Null)]);
        assert_eq!(row.all().columns().collect::<Vec<_>>(), [4, 1, 2]);
    }

    #[test]
    fn the_last_value_put_for_a_column_counts_and_columns_rise() {
        let mut row = RowValues::of_key(&[9], &["key".into()]);
        for (column, value) in [(3, "c"), (1, "a"), (5, "e"), (3, "C"), (2, "b"), (5, "E")] {
            row.put(column, ValueRef::Text(value.as_bytes()));
        }
        let expected = [(1, "a"), (2, "b"), (3, "C"), (5, "E")];
        assert_eq!(row.set().to_vec(), expected.map(|(column, value)| (column, value.into())));
        assert_eq!(row.key().to_vec(), [(9, "key".into())]);
    }

    #[test]
    fn keys_are_equal_when_their_values_are() {
        let key = |value: Value| RowValues::of_key(&[0], &[value]);
        let is_same = |one: Value, other: Value| key(one).key().as_bytes() == key(other).key().as_bytes();
        assert!(is_same("a".into(), "a".into()));
        assert!(!is_same("a".into(), Value::Blob(b"a".to_vec())));
        assert!(!is_same(0.into(), Value::Null));
        assert!(!is_same("".into(), Value::Null));
    }
}
