//! The handle of a table: rows of the program's own types, the commands that change them, the questions about them.
//!
//! Nothing here knows how a row is stored. What users have to know of it stands in
//! `mapping.md`, which is part of the documentation of [`Row`].

mod base64url;
mod bulk;
mod change;
mod cursor;
mod decode;
mod decode_error;
mod encode;
mod fields;
mod filter;
mod live;
mod open;
mod page;
mod read;
#[cfg(test)]
mod round_trip;
mod row;
mod sending;
mod sorter;
mod stream;
#[expect(clippy::module_inception, reason = "the type that the folder is named after")]
mod table;
mod text;

pub use bulk::{BulkUpdate, BulkWrite};
pub use change::{Delete, Requested, RowRequest, Update};
pub use cursor::Cursor;
pub use decode_error::DecodeError;
pub use filter::{Filter, IntoFilterParams};
pub use live::LiveView;
pub use open::{OpenTable, OpenTableFuture, TableBuilder};
pub(crate) use page::PageSearch;
pub use page::{Page, PageRequest};
pub use row::Row;
pub use stream::RowStream;
pub use table::{Modified, Table};
pub use text::{like_contains, like_prefix};
