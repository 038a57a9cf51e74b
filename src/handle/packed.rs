//! The values of a statement's parameters, one behind the other in one piece of memory.
//!
//! Like [`RowValues`](crate::row::RowValues), but they have no columns: they are put in and taken out in order.

use crate::row::ValueRef;

/// Values, each with a head: its kind, and how many bytes of text or BLOB follow. Numbers are eight bytes behind it.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct PackedValues {
    bytes: Vec<u8>,
    count: usize,
}

const NULL: u64 = 0;
const INTEGER: u64 = 1;
const REAL: u64 = 2;
const TEXT: u64 = 3;
const BLOB: u64 = 4;

/// A head, in bytes.
const HEAD: usize = size_of::<u64>();
/// The bits of a head below its length.
const KIND_BITS: u32 = 3;

impl PackedValues {
    /// With room for some values, each a number or with so many bytes of text.
    pub(crate) fn with_capacity(values: usize, text: usize) -> Self {
        Self { bytes: Vec::with_capacity(values * (HEAD + text)), count: 0 }
    }

    /// Puts a value behind the others. The kind is mostly known where it is called.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.bytes.extend_from_slice(&NULL.to_le_bytes()),
            ValueRef::Integer(integer) => self.push_word(INTEGER, integer.cast_unsigned()),
            ValueRef::Real(real) => self.push_word(REAL, real.to_bits()),
            ValueRef::Text(text) => self.push_bytes(TEXT, text),
            ValueRef::Blob(bytes) => self.push_bytes(BLOB, bytes),
        }
        self.count += 1;
    }

    #[inline]
    fn push_word(&mut self, kind: u64, word: u64) {
        let packed = u128::from(kind) | u128::from(word) << u64::BITS;
        self.bytes.extend_from_slice(&packed.to_le_bytes());
    }

    #[inline]
    fn push_bytes(&mut self, kind: u64, bytes: &[u8]) {
        // A slice has less than 2^61 bytes.
        let head = kind | (bytes.len() as u64) << KIND_BITS;
        self.bytes.reserve(HEAD + bytes.len());
        self.bytes.extend_from_slice(&head.to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Gives them in order.
    pub(crate) fn iter(&self) -> PackedIter<'_> {
        PackedIter(&self.bytes)
    }

    /// The size of the largest text or BLOB, in bytes.
    pub(crate) fn largest(&self) -> usize {
        self.iter().map(ValueRef::bytes).max().unwrap_or(0)
    }

    /// The memory that they hold, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        // By capacity: what has grown has room to spare.
        self.bytes.capacity()
    }
}

/// Goes through [`PackedValues`].
#[derive(Clone)]
pub(crate) struct PackedIter<'v>(&'v [u8]);

impl<'v> Iterator for PackedIter<'v> {
    type Item = ValueRef<'v>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<HEAD>()?;
        let head = u64::from_le_bytes(*head);
        let length = (head >> KIND_BITS) as usize;
        match head & ((1 << KIND_BITS) - 1) {
            TEXT => {
                let (text, rest) = rest.split_at_checked(length)?;
                self.0 = rest;
                Some(ValueRef::Text(text))
            }
            INTEGER => {
                let (word, rest) = rest.split_first_chunk()?;
                self.0 = rest;
                Some(ValueRef::Integer(i64::from_le_bytes(*word)))
            }
            BLOB => {
                let (bytes, rest) = rest.split_at_checked(length)?;
                self.0 = rest;
                Some(ValueRef::Blob(bytes))
            }
            REAL => {
                let (word, rest) = rest.split_first_chunk()?;
                self.0 = rest;
                Some(ValueRef::Real(f64::from_le_bytes(*word)))
            }
            _ => {
                self.0 = rest;
                Some(ValueRef::Null)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Value;

    #[test]
    fn what_was_packed_comes_out_again() {
        let values = [
            Value::Null,
            Value::Integer(i64::MIN),
            Value::Integer(-1),
            Value::Real(-0.0),
            Value::Real(f64::INFINITY),
            Value::Text("a\0é".to_owned()),
            Value::Text(String::new()),
            Value::Blob(vec![0, 255]),
            Value::Blob(Vec::new()),
            Value::Text("x".repeat(70_000)),
            Value::Null,
        ];
        let mut packed = PackedValues::with_capacity(1, 8);
        values.iter().for_each(|value| packed.push(value.into()));
        assert_eq!((packed.len(), packed.largest()), (values.len(), 70_000));
        let taken: Vec<Value> = packed.iter().map(ValueRef::to_value).collect();
        assert_eq!(taken, values);
        assert!(packed.iter().nth(3).is_some_and(|value| value.is_same(ValueRef::Real(-0.0))));
        assert!(packed.heap_bytes() > 70_000);
    }
}
