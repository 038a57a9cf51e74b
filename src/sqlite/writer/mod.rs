//! The only connection that can change rows, and what is done on it.

pub(crate) mod opening;
