//! One value of a row, and what can become one.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use crate::error::InvalidValue;

/// One value, of one of the five kinds that SQLite stores.
///
/// Made with `From` of integers that fit into an `i64`, `f32`, `f64`, `bool` (1 or 0), `char`, text, bytes,
/// `Option` of each (`None` is NULL), and references to them. [`IntoValue`] takes the wider integers as well.
/// `Debug` shows the value; the `Debug` of rows and commands does not.
///
/// ```
/// use walwright::Value;
///
/// assert_eq!(Value::from(7_u32), Value::Integer(7));
/// assert_eq!(Value::from("hello").as_str(), Some("hello"));
/// assert_eq!(Value::from(None::<i64>), Value::Null);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A signed integer of 64 bits.
    Integer(i64),
    /// A floating-point number. SQLite has no NaN: it is refused wherever a value is sent.
    Real(f64),
    /// Text in UTF-8, which may hold NUL.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// The size of a text or BLOB, in bytes; 0 for others, which are part of the value itself.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Which kind it is, in words for a message: `NULL`, `an integer`, `a real number`, `text` or `a BLOB`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::Blob(_) => "a BLOB",
        }
    }

    /// The integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    /// The real number, if it is one. An integer is none: SQLite keeps the two apart.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Real(real) => Some(*real),
            _ => None,
        }
    }

    /// `true` for the integer 1, `false` for 0, which is how a `bool` is stored.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Integer(0) => Some(false),
            Self::Integer(1) => Some(true),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if it is a BLOB.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The text, if it is one, without a copy.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if it is a BLOB, without a copy.
    pub fn into_blob(self) -> Option<Vec<u8>> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)+) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )+};
}

from! {
    i8 => |value| Self::Integer(value.into());
    i16 => |value| Self::Integer(value.into());
    i32 => |value| Self::Integer(value.into());
    i64 => |value| Self::Integer(value);
    u8 => |value| Self::Integer(value.into());
    u16 => |value| Self::Integer(value.into());
    u32 => |value| Self::Integer(value.into());
    bool => |value| Self::Integer(value.into());
    // Every f32 is an f64 too.
    f32 => |value| Self::Real(value.into());
    f64 => |value| Self::Real(value);
    char => |value| Self::Text(value.into());
    String => |value| Self::Text(value);
    &str => |value| Self::Text(value.to_owned());
    Cow<'_, str> => |value| Self::Text(value.into_owned());
    Vec<u8> => |value| Self::Blob(value);
    &[u8] => |value| Self::Blob(value.to_vec());
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(value: [u8; N]) -> Self {
        Self::Blob(value.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Clone + Into<Self>> From<&T> for Value {
    fn from(value: &T) -> Self {
        value.clone().into()
    }
}

/// What can become a [`Value`], or be refused because SQLite could not store it as it is.
///
/// Everything with `Into<Value>`, and the integers that may lie beyond `i64`: `u64`, `usize`, `isize`, `i128`,
/// `u128`, references to them and `Option` of them. Implement `From<YourType> for Value` for a type of your own,
/// or this trait, if some of its values cannot be stored.
///
/// | value | what becomes of it |
/// |---|---|
/// | NaN | refused: SQLite would store NULL |
/// | an integer beyond `i64` | refused |
/// | +Infinity, -Infinity | stored as it is |
/// | -0.0 | sent as it is. A column without a type, or of type BLOB, keeps it. REAL, INTEGER and NUMERIC columns store whole numbers as integers, so that 0.0 is read |
/// | `i64::MIN`, `i64::MAX` | stored as they are; a REAL column rounds integers beyond ±2⁵³ |
/// | text with NUL, empty text | stored as it is |
///
/// What a column's declared type converts (text `12` in an INTEGER column becomes the integer 12) is SQLite's
/// doing: declare columns as what they hold.
///
/// ```
/// use walwright::{IntoValue, Value};
///
/// assert_eq!(5_u64.into_value(), Ok(Value::Integer(5)));
/// assert!(u64::MAX.into_value().is_err());
/// assert!(f64::NAN.into_value().is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a column",
    note = "give an integer, a float, a bool, text or bytes, or implement `From<{Self}> for walwright::Value`; of a type of another crate give the text"
)]
pub trait IntoValue {
    /// The value.
    ///
    /// # Errors
    /// [`Unstorable`], if SQLite could not store it as it is.
    fn into_value(self) -> Result<Value, Unstorable>;
}

// Without the attribute the compiler would ask for `From<..>` and not show the message above.
#[diagnostic::do_not_recommend]
impl<T: Into<Value>> IntoValue for T {
    fn into_value(self) -> Result<Value, Unstorable> {
        match self.into() {
            Value::Real(real) if real.is_nan() => Err(Unstorable::nan()),
            value => Ok(value),
        }
    }
}

macro_rules! fallible {
    ($($integer:ty)+) => {$(
        impl IntoValue for $integer {
            fn into_value(self) -> Result<Value, Unstorable> {
                i64::try_from(self).map(Value::Integer).map_err(|_| Unstorable::too_wide())
            }
        }
        impl IntoValue for &$integer {
            fn into_value(self) -> Result<Value, Unstorable> {
                (*self).into_value()
            }
        }
        impl IntoValue for Option<$integer> {
            fn into_value(self) -> Result<Value, Unstorable> {
                self.map_or(Ok(Value::Null), IntoValue::into_value)
            }
        }
    )+};
}

fallible!(u64 usize isize i128 u128);

/// Why a value cannot be stored as it is. See [`IntoValue`] for the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstorable {
    reason: Cow<'static, str>,
}

impl Unstorable {
    /// With a reason that follows after "cannot be stored: ". It should say what to do, and must not repeat the
    /// value: reasons end up in logs.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }

    pub(crate) fn nan() -> Self {
        Self::new("SQLite would store NULL for a NaN; use an Option, and None for a number that is not known")
    }

    pub(crate) fn too_wide() -> Self {
        Self::new(
            "the integer is beyond those of SQLite, which are those of i64; store it as text or as a BLOB",
        )
    }

    /// What follows after "cannot be stored: ".
    pub(crate) fn into_reason(self) -> Cow<'static, str> {
        self.reason
    }

    /// The error for the value at this place, from 1, and with this name.
    pub(crate) fn at(self, position: usize, name: Option<&str>) -> InvalidValue {
        InvalidValue { position, name: name.map(str::to_owned), reason: self.reason.into_owned() }
    }
}

impl fmt::Display for Unstorable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value cannot be stored: {}", self.reason)
    }
}

impl Error for Unstorable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_plain_becomes_a_value() {
        let integer = |value: i64| Ok(Value::Integer(value));
        assert_eq!(i8::MIN.into_value(), integer(-128));
        assert_eq!(u32::MAX.into_value(), integer(4_294_967_295));
        assert_eq!((&&7_i64).into_value(), integer(7));
        assert_eq!(true.into_value(), integer(1));
        assert_eq!(0.1_f32.into_value(), Ok(Value::Real(f64::from(0.1_f32))));
        let text = Ok(Value::Text("a\0b".to_owned()));
        assert_eq!("a\0b".into_value(), text);
        assert_eq!((&"a\0b".to_owned()).into_value(), text);
        assert_eq!(Some(Cow::Borrowed("a\0b")).into_value(), text);
        let blob = Ok(Value::Blob(vec![1, 2]));
        assert_eq!([1_u8, 2].into_value(), blob);
        assert_eq!((&[1_u8, 2]).into_value(), blob);
        assert_eq!([1_u8, 2].as_slice().into_value(), blob);
        assert_eq!((&Value::Blob(vec![1, 2])).into_value(), blob);
        assert_eq!(None::<&str>.into_value(), Ok(Value::Null));
        assert_eq!(None::<u64>.into_value(), Ok(Value::Null));
    }

    #[test]
    fn only_nan_and_wide_integers_are_refused() {
        let too_wide = Err(Unstorable::too_wide());
        assert_eq!((i64::MAX as u64).into_value(), Ok(Value::Integer(i64::MAX)));
        assert_eq!((i64::MAX as u64 + 1).into_value(), too_wide);
        assert_eq!((&u64::MAX).into_value(), too_wide);
        assert_eq!(Some(usize::MAX).into_value(), too_wide);
        assert_eq!(i128::from(i64::MIN).into_value(), Ok(Value::Integer(i64::MIN)));
        assert_eq!((i128::from(i64::MIN) - 1).into_value(), too_wide);
        for nan in [f64::NAN, -f64::NAN, f64::from(f32::NAN)] {
            assert_eq!(nan.into_value(), Err(Unstorable::nan()));
            assert_eq!(Some(nan).into_value(), Err(Unstorable::nan()));
            assert_eq!(Value::Real(nan).into_value(), Err(Unstorable::nan()));
        }
        for real in [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0] {
            assert_eq!(real.into_value(), Ok(Value::Real(real)));
        }
    }

    #[test]
    fn accessors_give_their_own_kind_only() {
        let values = [Value::Null, 1.into(), 1.5.into(), "x".into(), [1_u8].into()];
        assert_eq!(
            values.each_ref().map(|value| value.as_i64().is_some()),
            [false, true, false, false, false]
        );
        assert_eq!(
            values.each_ref().map(|value| value.as_f64().is_some()),
            [false, false, true, false, false]
        );
        assert_eq!(
            values.each_ref().map(|value| value.as_str().is_some()),
            [false, false, false, true, false]
        );
        assert_eq!(
            values.each_ref().map(|value| value.as_bytes().is_some()),
            [false, false, false, false, true]
        );
        assert_eq!(
            values.each_ref().map(Value::kind),
            ["NULL", "an integer", "a real number", "text", "a BLOB"]
        );
        assert_eq!((values[1].as_bool(), Value::Integer(2).as_bool()), (Some(true), None));
        assert_eq!(values[3].clone().into_text().as_deref(), Some("x"));
        assert_eq!(values[4].clone().into_blob(), Some(vec![1]));
    }
}
