//! The files of a database, seen by somebody who holds no writable connection.

pub(crate) mod create;
pub(crate) mod identity;
pub(crate) mod look;
pub(crate) mod owner_lock;
pub(crate) mod place;
pub(crate) mod schema_look;
