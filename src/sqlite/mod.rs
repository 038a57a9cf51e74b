//! SQLite behind the engine's storage trait.

pub(crate) mod session;
