//! A place between the rows of an ordered table, as a text that travels.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::base64url;
use crate::error::ReadError;
use crate::row::{OrderTerm, RowPart, TableShape, Value};

/// Raised when the bytes change their meaning.
const VERSION: u8 = 1;
/// The version, the fingerprint before the values, and the checksum behind them.
const HEAD: usize = 1 + 8;
const TAIL: usize = 8;

/// Where a page ended: what [`Page::next`](super::Page::next) and [`Page::previous`](super::Page::previous) give,
/// and [`PageRequest::after`](super::PageRequest::after) and [`before`](super::PageRequest::before) take.
///
/// It names a row by what the row held in the columns of the order and of the key, so it stays valid whatever is
/// inserted or deleted, the row itself included, and also when the program restarts or another one reads the file.
/// It belongs to its table, order and key, and to no filter: give the same filter again to walk on. With another
/// table, order or key it is [`ReadError::InvalidCursor`].
///
/// `Display`, `FromStr`, `Serialize` and `Deserialize` are of one text of letters, digits, `-` and `_`, fit for a
/// URL, and a third longer than the values: order by short columns. Take it for opaque. **It is not secret and not
/// signed**: whoever has it can read the values in it, and can make others; a checksum only finds damage. A made-up
/// cursor can start a page at any place of the same order, and nothing else: what may be seen is the filter's
/// matter.
///
/// ```
/// use walwright::{Cursor, ReadError};
///
/// let damaged = "AQ".parse::<Cursor>();
/// assert!(matches!(damaged, Err(ReadError::InvalidCursor { .. })));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Version, fingerprint and values. These were read once, so they can be read again.
    bytes: Box<[u8]>,
}

impl Cursor {
    /// The cursor of a row that has these values in the terms of an order.
    pub(super) fn new(table: &TableShape, order: &[OrderTerm], values: &[&Value]) -> Self {
        let mut bytes = vec![VERSION];
        bytes.extend(fingerprint(table, order).to_le_bytes());
        for value in values {
            write_value(&mut bytes, value);
        }
        Self { bytes: bytes.into() }
    }

    /// The values, one for each term of the order.
    pub(super) fn values(&self, table: &TableShape, order: &[OrderTerm]) -> Result<Vec<Value>, ReadError> {
        let (head, values) = self.bytes.split_at_checked(HEAD).ok_or_else(|| invalid("it is damaged"))?;
        if head[1..] != fingerprint(table, order).to_le_bytes() {
            return Err(invalid("it belongs to another table, order or key"));
        }
        match read_values(values) {
            Some(values) if values.len() == order.len() => Ok(values),
            _ => Err(invalid("it is damaged")),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.bytes.to_vec();
        bytes.extend(Fnv::of(&self.bytes).to_le_bytes());
        f.write_str(&base64url::encode(&bytes))
    }
}

impl fmt::Debug for Cursor {
    // Hand-written: values stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl FromStr for Cursor {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        let bytes = base64url::decode(text).ok_or_else(|| invalid("it is no text of a cursor"))?;
        let whole = bytes.len().checked_sub(TAIL).and_then(|end| bytes.split_at_checked(end));
        let (bytes, checksum) = whole.ok_or_else(|| invalid("it is cut off"))?;
        if checksum != Fnv::of(bytes).to_le_bytes() {
            return Err(invalid("it is damaged"));
        }
        match bytes.split_at_checked(HEAD) {
            Some((head, _)) if head[0] != VERSION => Err(invalid("it was made by another version")),
            Some((_, values)) if read_values(values).is_some() => Ok(Self { bytes: bytes.into() }),
            _ => Err(invalid("it is damaged")),
        }
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

fn invalid(reason: &str) -> ReadError {
    ReadError::InvalidCursor { reason: reason.to_owned() }
}

/// A number that tells tables, orders and keys apart by their names.
fn fingerprint(table: &TableShape, order: &[OrderTerm]) -> u64 {
    let mut sum = Fnv::new();
    // A byte that no name in UTF-8 has keeps neighbours apart.
    let mut add = |name: &str, mark: u8| {
        sum.add(name.to_ascii_lowercase().as_bytes());
        sum.add(&[0xff, mark]);
    };
    let name = |column: usize| table.columns.get(column).map_or("", |column| column.name.as_str());
    add(&table.name, 0);
    for term in order {
        let column = match term.of {
            RowPart::Column(column) => name(column),
            RowPart::Rowid | RowPart::Rank => "",
        };
        let mark = if term.of == RowPart::Rank { 4 } else { 1 };
        add(column, mark + u8::from(term.descending));
    }
    for column in &table.key {
        add(name(*column), 3);
    }
    sum.0
}

fn write_value(bytes: &mut Vec<u8>, value: &Value) {
    let mut write = |tag: u8, payload: &[u8]| {
        bytes.push(tag);
        bytes.extend(payload);
    };
    match value {
        Value::Null => write(0, &[]),
        Value::Integer(integer) => write(1, &integer.to_le_bytes()),
        Value::Real(real) => write(2, &real.to_bits().to_le_bytes()),
        Value::Text(text) => {
            write(3, &(text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        Value::Blob(blob) => {
            write(4, &(blob.len() as u64).to_le_bytes());
            bytes.extend(blob);
        }
    }
}

/// What [`write_value`] wrote; `None` for anything else.
fn read_values(mut bytes: &[u8]) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    while let Some(tag) = bytes.split_off_first() {
        values.push(match tag {
            0 => Value::Null,
            1 => Value::Integer(i64::from_le_bytes(number(&mut bytes)?)),
            2 => match f64::from_bits(u64::from_le_bytes(number(&mut bytes)?)) {
                // SQLite has none: it would take it for NULL.
                real if real.is_nan() => return None,
                real => Value::Real(real),
            },
            3 => Value::Text(str::from_utf8(counted(&mut bytes)?).ok()?.to_owned()),
            4 => Value::Blob(counted(&mut bytes)?.to_owned()),
            _ => return None,
        });
    }
    Some(values)
}

fn number(bytes: &mut &[u8]) -> Option<[u8; 8]> {
    bytes.split_off(..8)?.try_into().ok()
}

fn counted<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let count = usize::try_from(u64::from_le_bytes(number(bytes)?)).ok()?;
    bytes.split_off(..count)
}

/// FNV-1a with 64 bits: the same in every version of the program, unlike the standard library's hashes. It finds
/// every change of a single byte.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn of(bytes: &[u8]) -> u64 {
        let mut sum = Self::new();
        sum.add(bytes);
        sum.0
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
