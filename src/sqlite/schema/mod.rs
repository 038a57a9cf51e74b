//! What the schema says of one table: its shape, for commands and queries, and the facts that coalescing needs.
//!
//! All of it is read with the engine's own SQL, on readers and on the writer alike, and never through the
//! statement cache: users' statements come from there without the authorizer being asked. Several statements
//! are needed for one table, so callers read inside one transaction.
//!
//! SQLite shows most of a schema through pragmas. What it does not show (`ON CONFLICT`, CHECK, COLLATE, the
//! condition of a partial index) is looked for as words in the schema's text. A word that stands in a
//! comment or a string counts too: every doubt makes the table stricter, never freer.

mod collations;
mod defaults;
mod error;
mod facts;
mod fit;
mod indexes;
mod kind;
mod shape;
mod sweep;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use error::ShapeError;
pub(crate) use facts::read_facts;
pub(crate) use fit::fits_schema;
pub(crate) use kind::{TableKind, TableStorage, read_kind, trigger_replaces};
pub(crate) use shape::read_shape;
pub(crate) use sweep::plan_sweep;
