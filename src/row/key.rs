//! What names a row: the values of its key columns.

use super::value::{IntoValue, Value};
use crate::error::InvalidValue;

/// The key of a row.
///
/// One value for a key of one column: anything that is [`IntoValue`], so `&str`, `String`, integers, bytes,
/// [`Value`] and references to them. For a compound key a tuple of up to 6 values, in the order of the primary
/// key; a `Vec<Value>` or `&[Value]` for keys known only at run time.
///
/// ```
/// use walwright::{IntoKey, Value};
///
/// assert_eq!("a".into_key()?, [Value::from("a")]);
/// assert_eq!(("sandbox", 7).into_key()?, [Value::from("sandbox"), Value::from(7)]);
/// # Ok::<(), walwright::InvalidValue>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the key of a row",
    note = "give one value (text, an integer, bytes, what has `Into<walwright::Value>`), a tuple of up to 6 values, or a `Vec<Value>`"
)]
pub trait IntoKey {
    /// The values, in the order of the key's columns.
    ///
    /// # Errors
    /// [`InvalidValue`] with its place in the key, for the first value that SQLite could not store as it is.
    fn into_key(self) -> Result<Vec<Value>, InvalidValue>;
}

#[diagnostic::do_not_recommend]
impl<T: IntoValue> IntoKey for T {
    fn into_key(self) -> Result<Vec<Value>, InvalidValue> {
        Ok(vec![part(1, self)?])
    }
}

impl IntoKey for Vec<Value> {
    fn into_key(self) -> Result<Vec<Value>, InvalidValue> {
        // Nothing but a NaN can be wrong with a value, and it is collected into the same memory.
        self.into_iter().enumerate().map(|(at, value)| part(at + 1, value)).collect()
    }
}

impl IntoKey for &Vec<Value> {
    fn into_key(self) -> Result<Vec<Value>, InvalidValue> {
        self.clone().into_key()
    }
}

impl IntoKey for &[Value] {
    fn into_key(self) -> Result<Vec<Value>, InvalidValue> {
        self.to_vec().into_key()
    }
}

macro_rules! tuples {
    ($($($type:ident $position:literal)+;)+) => {$(
        impl<$($type: IntoValue),+> IntoKey for ($($type,)+) {
            #[expect(non_snake_case, reason = "the values take the names of their types")]
            fn into_key(self) -> Result<Vec<Value>, InvalidValue> {
                let ($($type,)+) = self;
                Ok(vec![$(part($position, $type)?),+])
            }
        }
        impl<$($type: IntoValue + Clone),+> IntoKey for &($($type,)+) {
            fn into_key(self) -> Result<Vec<Value>, InvalidValue> {
                self.clone().into_key()
            }
        }
    )+};
}

tuples! {
    A 1;
    A 1 B 2;
    A 1 B 2 C 3;
    A 1 B 2 C 3 D 4;
    A 1 B 2 C 3 D 4 E 5;
    A 1 B 2 C 3 D 4 E 5 F 6;
}

fn part(position: usize, value: impl IntoValue) -> Result<Value, InvalidValue> {
    value.into_value().map_err(|error| error.at(position, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(given: impl IntoKey) -> Vec<Value> {
        given.into_key().unwrap()
    }

    #[test]
    fn one_value_or_many() {
        let text = [Value::from("a")];
        let owned = "a".to_owned();
        assert_eq!(key("a"), text);
        assert_eq!(key(&owned), text);
        assert_eq!(key(("a",)), text);
        assert_eq!(key(&text[0]), text);
        assert_eq!(key(text.as_slice()), text);
        let many = text.to_vec();
        assert_eq!(key(&many), text);
        assert_eq!(key([1_u8, 2]), [Value::Blob(vec![1, 2])]);
        assert_eq!(key(5_u64), [Value::Integer(5)]);
        let compound = (owned, 7_i64, &b"x"[..]);
        assert_eq!(key(&compound), ["a".into(), 7.into(), Value::Blob(vec![b'x'])]);
        assert_eq!(key((1, 2, 3, 4, 5, 6)).len(), 6);
        assert_eq!(key(Vec::<Value>::new()), []);
    }

    #[test]
    fn what_is_refused_is_named_by_its_place() {
        assert_eq!(u64::MAX.into_key().unwrap_err().position, 1);
        assert_eq!(("a", f64::NAN).into_key().unwrap_err().position, 2);
        assert_eq!(vec![Value::Null, Value::Null, Value::Real(f64::NAN)].into_key().unwrap_err().position, 3);
    }
}
