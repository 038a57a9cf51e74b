//! Search indexes: text in columns of a table, found by what somebody typed.
//!
//! An index is an FTS5 table in the file, kept in step by triggers, so that whatever changes a row changes the index in
//! the same transaction: row commands, statements, closures, cascades, other programs.
//!
//! It holds no copy of the texts, and it is *contentless* (`content='', contentless_delete=1`), not one with external
//! content (`content='message'`). Both leave the texts in the table. But to take a row out of an index with external
//! content its triggers have to say what the row held when it was put in, and that is not always known: REPLACE takes
//! rows away without running a trigger (`recursive_triggers` is off, and turning it on would change what users' own
//! triggers do). One wrong word and the index is damaged: from then on commands on the table fail with SQLITE_CORRUPT. A
//! contentless index forgets a row by its number alone. So nothing that happens to a row can damage it, putting a row in
//! twice is harmless, and a row that is deleted costs a mark instead of a token for each of its letters, which is
//! what retention does all day.
//!
//! What REPLACE leaves behind in the index is never seen: a search gives rows of the table, and the next row with the
//! same number takes the entry over.
//!
//! The definition (`definition`) is a few texts of SQL. They stand in the schema, so that an index which is there is
//! compared with one that is wanted by comparing these texts (`schema`). Rows that were in the table before are put in
//! by a chore (`upkeep`), in slices. What somebody typed becomes a query (`text`) in which nothing is an
//! operator. Finding is the business of pages: `src/table/page.rs`, and on the reader's side
//! `src/sqlite/reader/row_text.rs` and, for texts that very many rows hold, `src/sqlite/reader/row_finder.rs`.

mod check;
mod definition;
mod index;
mod open;
mod request;
mod schema;
mod state;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod text;
mod upkeep;

pub(crate) use definition::is_search_index;
pub(crate) use state::SearchIndexes;

pub use check::SearchCheck;
pub use index::{SearchIndex, SearchProgress, SearchReady};
pub use open::SearchIndexBuilder;
pub use request::{SearchIndexFuture, SearchIndexRequest};
pub use text::SearchText;
