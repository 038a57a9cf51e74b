//! SQLite behind the protocol's storage: files, connections, settings.

pub(crate) mod files;
pub(crate) mod patience;
pub(crate) mod plan;
pub(crate) mod reader;
pub(crate) mod settings;
pub(crate) mod writer;
