//! One column's value, for one field.

use serde::de::value::SeqDeserializer;
use serde::de::{Deserializer, IntoDeserializer, Visitor};

use crate::row::Value;
use crate::table::DecodeError;

/// Gives a field the value of its column, if it has the kind that the field asks for.
pub(in crate::table) struct ValueDecoder(pub(in crate::table) Value);

impl ValueDecoder {
    /// The integer, or the integer that a real number is: a REAL column stores 5 as 5.0.
    fn whole_number(&self) -> Option<i64> {
        match self.0 {
            Value::Integer(integer) => Some(integer),
            Value::Real(real) => whole_number(real),
            _ => None,
        }
    }
}

/// The integer that a real number is exactly. It has none with a fraction, beyond `i64`, or for an infinity.
fn whole_number(real: f64) -> Option<i64> {
    // -2^63 is a real number, 2^63 - 1 is none: the nearest is 2^63.
    let bound = -(i64::MIN as f64);
    ((-bound..bound).contains(&real) && real.trunc() == real).then_some(real as i64)
}

/// The real number that an integer is exactly; beyond 2^53 many are none.
fn exact_real(integer: i64) -> Option<f64> {
    let real = integer as f64;
    (whole_number(real) == Some(integer)).then_some(real)
}

macro_rules! whole_numbers {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.whole_number() {
                // The visitor checks the range of its type.
                Some(integer) => visitor.visit_i64(integer),
                None => Err(DecodeError::mismatch(self.0.kind(), &visitor)),
            }
        }
    )+};
}

macro_rules! real_numbers {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.0 {
                Value::Real(real) => visitor.visit_f64(real),
                Value::Integer(integer) => match exact_real(integer) {
                    Some(real) => visitor.visit_f64(real),
                    None => Err(DecodeError::mismatch("an integer that no f64 is equal to", &visitor)),
                },
                other => Err(DecodeError::mismatch(other.kind(), &visitor)),
            }
        }
    )+};
}

macro_rules! texts {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.0 {
                Value::Text(text) => visitor.visit_string(text),
                other => Err(DecodeError::mismatch(other.kind(), &visitor)),
            }
        }
    )+};
}

macro_rules! blobs {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.0 {
                Value::Blob(bytes) => visitor.visit_byte_buf(bytes),
                other => Err(DecodeError::mismatch(other.kind(), &visitor)),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for ValueDecoder {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Integer(integer) => visitor.visit_i64(integer),
            Value::Real(real) => visitor.visit_f64(real),
            Value::Text(text) => visitor.visit_string(text),
            Value::Blob(bytes) => visitor.visit_byte_buf(bytes),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.whole_number() {
            Some(0) => visitor.visit_bool(false),
            Some(1) => visitor.visit_bool(true),
            Some(_) => Err(DecodeError::mismatch("an integer other than 0 and 1", &visitor)),
            None => Err(DecodeError::mismatch(self.0.kind(), &visitor)),
        }
    }

    whole_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    real_numbers! { deserialize_f32 deserialize_f64 }

    texts! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    blobs! { deserialize_bytes deserialize_byte_buf }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(DecodeError::mismatch(other.kind(), &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::Blob(bytes) => {
                let mut bytes = SeqDeserializer::new(bytes.into_iter());
                let value = visitor.visit_seq(&mut bytes)?;
                // An array takes what it needs and would drop the rest.
                bytes.end()?;
                Ok(value)
            }
            other => Err(DecodeError::mismatch(other.kind(), &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::Text(text) => visitor.visit_enum(text.into_deserializer()),
            other => Err(DecodeError::mismatch(other.kind(), &visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        Err(DecodeError::mismatch(self.0.kind(), &visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        Err(DecodeError::mismatch(self.0.kind(), &visitor))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_convert_only_where_nothing_is_lost() {
        let limit = 9_007_199_254_740_992; // 2^53
        assert_eq!(exact_real(limit), Some(limit as f64));
        assert_eq!(exact_real(limit + 1), None);
        assert_eq!(exact_real(i64::MIN), Some(i64::MIN as f64));
        assert_eq!(exact_real(i64::MAX), None);
        assert_eq!(whole_number(5.0), Some(5));
        assert_eq!(whole_number(-0.0), Some(0));
        assert_eq!(whole_number(i64::MIN as f64), Some(i64::MIN));
        for real in [0.5, i64::MAX as f64, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE] {
            assert_eq!(whole_number(real), None);
        }
    }
}
