//! Finding the last command on a key.

use super::values::is_kept;
use crate::row::{RowCommand, ValueRef, Values};

/// The keys of a run, each with whatever was last said of it.
///
/// Open addressing over a table of numbers: a run of commands without a common key costs one hash each and
/// two allocations together. The hash is cheap rather than strong. Keys that were made to collide
/// cost comparisons within one group, which is bounded.
pub(super) struct Keys<'a, T> {
    /// Numbers in `entries`, from 1; 0 where nothing is. The length is a power of two, at least twice that of a run.
    slots: Vec<u32>,
    entries: Vec<Entry<'a, T>>,
}

struct Entry<'a, T> {
    hash: u64,
    rows: usize,
    key: &'a [u8],
    said: T,
}

impl<'a, T: Default> Keys<'a, T> {
    /// For a run of this many commands.
    pub(super) fn with_capacity(commands: usize) -> Self {
        let slots = vec![0; (commands.max(1) * 2).next_power_of_two()];
        Self { slots, entries: Vec::with_capacity(commands) }
    }

    /// What was last said of this key, for rows of this number.
    pub(super) fn entry(&mut self, rows: usize, key: Values<'a>) -> Option<&mut T> {
        let key = key.as_bytes();
        let hash = hash_of(rows, key);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        // Ends: there are more slots than keys.
        let found = loop {
            let slot = self.slots.get_mut(at)?;
            let Some(number) = (*slot as usize).checked_sub(1) else {
                *slot = u32::try_from(self.entries.len() + 1).ok()?;
                self.entries.push(Entry { hash, rows, key, said: T::default() });
                break self.entries.len() - 1;
            };
            let is_same = |of: &Entry<'_, T>| of.hash == hash && of.rows == rows && of.key == key;
            if self.entries.get(number).is_some_and(is_same) {
                break number;
            }
            at = (at + 1) & mask;
        };
        self.entries.get_mut(found).map(|entry| &mut entry.said)
    }
}

/// The command's key, if two commands with the same values mean the same row, and with others another one.
pub(super) fn sure_key(command: &RowCommand) -> Option<Values<'_>> {
    let (shape, key) = (&command.table, command.values.key());
    let is_sure = |(column, value): (usize, ValueRef<'_>)| {
        !matches!(value, ValueRef::Null | ValueRef::Real(_))
            && shape.columns.get(column).is_some_and(|column| is_kept(value, column.affinity))
    };
    let mut parts = 0;
    let are_sure = key.iter().all(|part| {
        parts += 1;
        is_sure(part)
    });
    (are_sure && parts > 0 && parts == shape.key.len()).then_some(key)
}

fn hash_of(rows: usize, key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let hash = words.iter().fold(rows as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let hash = rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)));
    // The slot is taken from the low bits, which multiplication does not stir.
    hash ^ (hash >> 32)
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{RowValues, Value};

    fn key(values: &[Value]) -> RowValues {
        RowValues::of_key(&[0, 1], values)
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn what_was_said_of_a_key_is_found_again() {
        let texts = (0..300).map(|n| key(&[text(&format!("key of some length {n}"))]));
        let numbers = (0..300).map(|n| key(&[Value::Integer(n)]));
        let keys_of_run: Vec<_> = texts.chain(numbers).collect();
        let mut keys: Keys<'_, usize> = Keys::with_capacity(1200);
        for round in 0..2 {
            for rows in 0..2 {
                for (n, key) in keys_of_run.iter().enumerate() {
                    let said = keys.entry(rows, key.key()).unwrap();
                    assert_eq!(*said, round * (1 + rows * 1000 + n));
                    *said = 1 + rows * 1000 + n;
                }
            }
        }
        assert_eq!(keys.entries.len(), 1200);
    }

    #[test]
    fn a_full_table_still_finds_its_keys() {
        let keys_of_run: Vec<_> = (0..3).map(|n| key(&[Value::Integer(n << 40)])).collect();
        let mut keys: Keys<'_, bool> = Keys::with_capacity(3);
        for key in &keys_of_run {
            *keys.entry(0, key.key()).unwrap() = true;
        }
        assert!(keys_of_run.iter().all(|key| *keys.entry(0, key.key()).unwrap()));
    }

    #[test]
    fn parts_of_a_key_are_not_run_together() {
        let hash = |rows, values: &[Value]| hash_of(rows, key(values).key().as_bytes());
        assert_ne!(hash(0, &[text("ab"), text("c")]), hash(0, &[text("a"), text("bc")]));
        assert_ne!(hash(0, &[text("a")]), hash(0, &[Value::Blob(b"a".to_vec())]));
        assert_ne!(hash(0, &[text("a")]), hash(1, &[text("a")]));
    }
}
