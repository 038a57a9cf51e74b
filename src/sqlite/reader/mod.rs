//! Read-only connections.

pub(crate) mod connect;
