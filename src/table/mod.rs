//! Rows of the program's own types and the values that are stored: each way, and which columns a type has.
//!
//! Nothing here knows how a row is stored or how it gets there. What users have to know of it stands in
//! `mapping.md`, which is part of the documentation of [`Row`].

mod decode;
mod decode_error;
mod encode;
mod fields;
#[cfg(test)]
mod round_trip;
mod row;
mod text;

pub(crate) use decode::decode;
pub(crate) use encode::{Encoded, encode};
pub(crate) use fields::{Fields, fields_of};
pub(crate) use text::{TextCondition, contains, contains_exactly, starts_with, starts_with_exactly};

pub use decode_error::DecodeError;
pub use row::Row;
pub use text::{like_contains, like_prefix};
