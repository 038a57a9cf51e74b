//! The parameters of a condition in SQL.

use crate::error::InvalidValue;
use crate::row::{IntoValue, Value};

/// What can be given as the parameters of [`Filter::sql`](super::Filter::sql).
///
/// `()` for none, tuples of up to 8 values of any types, arrays, slices and a `Vec` of one type. A value is
/// anything that is [`IntoValue`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a filter",
    note = "give a tuple of up to 8 values, an array, a slice or a `Vec`; one value alone is `(value,)`"
)]
pub trait IntoFilterParams {
    /// The values, in order.
    ///
    /// # Errors
    /// [`InvalidValue`] for the first value that SQLite could not store as it is.
    fn into_filter_params(self) -> Result<Vec<Value>, InvalidValue>;
}

impl IntoFilterParams for () {
    fn into_filter_params(self) -> Result<Vec<Value>, InvalidValue> {
        Ok(Vec::new())
    }
}

impl<V: IntoValue> IntoFilterParams for Vec<V> {
    fn into_filter_params(self) -> Result<Vec<Value>, InvalidValue> {
        values_of(self)
    }
}

impl<V: IntoValue, const N: usize> IntoFilterParams for [V; N] {
    fn into_filter_params(self) -> Result<Vec<Value>, InvalidValue> {
        values_of(self)
    }
}

impl<V: IntoValue + Clone> IntoFilterParams for &[V] {
    fn into_filter_params(self) -> Result<Vec<Value>, InvalidValue> {
        values_of(self.iter().cloned())
    }
}

macro_rules! tuples {
    ($($($type:ident)+;)+) => {$(
        impl<$($type: IntoValue),+> IntoFilterParams for ($($type,)+) {
            #[expect(non_snake_case, reason = "the values take the names of their types")]
            fn into_filter_params(self) -> Result<Vec<Value>, InvalidValue> {
                let ($($type,)+) = self;
                let values = [$($type.into_value()),+].into_iter().enumerate();
                values.map(|(at, value)| value.map_err(|error| error.at(at + 1, None))).collect()
            }
        }
    )+};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// The values, each checked.
pub(super) fn values_of<V: IntoValue>(
    values: impl IntoIterator<Item = V>,
) -> Result<Vec<Value>, InvalidValue> {
    let values = values.into_iter().enumerate();
    values.map(|(at, value)| value.into_value().map_err(|error| error.at(at + 1, None))).collect()
}
