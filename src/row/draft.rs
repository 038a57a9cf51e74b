//! A row that is being put together.

use super::mask::ColumnMask;
use super::values::{ColumnMark, HEAD, RowValues, ValueRef, Values, head_of};

/// The values of a row that is being put together, in memory that is used again for the next one: how much one takes
/// shows only at its end.
#[derive(Default)]
pub(crate) struct RowDraft {
    /// Behind `end` stands what is left of others.
    bytes: Vec<u8>,
    end: usize,
    key_end: usize,
    set_columns: ColumnMask,
}

impl RowDraft {
    pub(crate) const NONE: Self =
        Self { bytes: Vec::new(), end: 0, key_end: 0, set_columns: ColumnMask::NONE };

    /// Puts a value behind the others. All that stands before a part of the key belongs to the key, too.
    #[inline(always)]
    pub(crate) fn push(&mut self, column: ColumnMark, is_key: bool, value: ValueRef<'_>) {
        if self.append(column, value).is_none() {
            self.append_growing(column, value);
        }
        if is_key {
            self.key_end = self.end;
            self.set_columns = ColumnMask::NONE;
        } else {
            self.set_columns.add(column.mask);
        }
    }

    /// `None`: there is no room.
    #[inline(always)]
    fn append(&mut self, column: ColumnMark, value: ValueRef<'_>) -> Option<()> {
        let (head, bytes) = head_of(column, value);
        let end = self.end + HEAD + bytes.len();
        let place = self.bytes.get_mut(self.end..end)?;
        let (head_place, place) = place.split_first_chunk_mut()?;
        *head_place = head;
        if !bytes.is_empty() {
            place.copy_from_slice(bytes);
        }
        self.end = end;
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn append_growing(&mut self, column: ColumnMark, value: ValueRef<'_>) {
        let end = self.end + HEAD + value.bytes();
        self.bytes.resize(end.next_power_of_two(), 0);
        let _ = self.append(column, value);
    }

    /// Takes all out, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        (self.end, self.key_end, self.set_columns) = (0, 0, ColumnMask::NONE);
    }

    /// The key, and then the columns to set.
    pub(crate) fn all(&self) -> Values<'_> {
        Values::of_bytes(self.bytes.get(..self.end).unwrap_or_default())
    }

    /// The row as it is now, in a piece of memory of just its size.
    pub(crate) fn to_values(&self) -> RowValues {
        RowValues::of_parts(self.all().as_bytes().to_vec(), self.key_end, self.set_columns)
    }

    /// The memory that it holds, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Value;

    #[test]
    fn a_row_comes_out_as_it_was_put_in() {
        let mut draft = RowDraft::default();
        let long = "x".repeat(1000);
        for text in [long.as_str(), "short"] {
            draft.clear();
            draft.push(ColumnMark::of(1), true, ValueRef::Text(text.as_bytes()));
            draft.push(ColumnMark::of(0), false, ValueRef::Integer(-1));
            draft.push(ColumnMark::of(3), false, ValueRef::Blob(&[]));
            draft.push(ColumnMark::of(70), false, ValueRef::Null);
            let row = draft.to_values();
            assert_eq!(row.key().to_vec(), [(1, text.into())]);
            let set = [(0, Value::Integer(-1)), (3, Value::Blob(Vec::new())), (70, Value::Null)];
            assert_eq!(row.set().to_vec(), set);
            assert!(row.sets(3) && row.sets(70) && !row.sets(1) && !row.sets(71));
            assert_eq!(row.heap_bytes(), row.all().as_bytes().len());
            let same: RowValues = row.set().iter().collect();
            assert!(same.set_columns() == row.set_columns());
        }
    }
}
