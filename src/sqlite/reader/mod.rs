//! Readers: threads that each own a read-only connection and take reads from one queue.

mod command;
pub(crate) mod connect;
#[allow(clippy::module_inception)]
mod reader;
mod roster;
mod row_finder;
mod row_query;
mod row_text;

pub(crate) use command::{ReadCommand, ReadOutput, ReadTask};
pub(crate) use reader::{ReadLimits, Reader};
pub(crate) use roster::ReadRoster;
pub(crate) use row_query::TableRows;
