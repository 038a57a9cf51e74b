//! SQLite behind the protocol's storage: files, sessions of users' SQL, the readers, the writer.

pub(crate) mod engine_statement;
pub(crate) mod files;
pub(crate) mod patience;
pub(crate) mod plan;
pub(crate) mod reader;
pub(crate) mod reason;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod writer;
