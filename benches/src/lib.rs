//! What the benchmarks of this package share.

pub mod by_hand;

/// Whatever went wrong, to be shown to a person.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;
/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, AnyError>;
