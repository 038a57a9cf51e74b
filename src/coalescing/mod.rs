//! Which row commands of a group are carried out as one statement, so that nobody can tell.
//!
//! Plain data in, plain data out: the facts of the tables and the commands give a [`Plan`]. Carrying it out is the
//! storage's part; what that has to keep to stands in [`plan`].
//!
//! Commands on one key are put into a *chain* as long as carrying them out one after the other could not end in
//! any other way. At the first doubt the chain is closed: what came before it stays one statement, what
//! follows is carried out by itself or starts a new chain. The statement stands at the place of the first command,
//! the *head*; so what the others do, they do earlier than they were sent, and nobody may see that.
//!
//! # The rules, and why
//!
//! Tables (`tables.rs`, and the facts that the schema gives):
//!
//! - *A table that does not coalesce has no chains.* Triggers, `ON CONFLICT`, other collations of the key, functions of
//!   the program: a change of such a table can see, or do, more than its one row.
//! - *Two handles that know one table by different keys or revisions close each other's chains.* Two keys would
//!   name one row, and one of them would not raise the other's revision.
//!
//! Keys (`keys.rs`):
//!
//! - *A key counts only if SQLite stores its values exactly as sent, and none is NULL or real.* '12' and 12 are one
//!   row of an INTEGER column, 1 and 1.0 one row of any, NULL is none. A command with another key could
//!   mean any row of its table, so it closes all of the table's chains.
//! - *So does a command that changes a key column, or leaves the key to the database.* The row that it
//!   makes may be one that a chain has already named.
//!
//! Heads (`planner.rs`):
//!
//! - *Insert, upsert and update start chains.* An insert that may be ignored does not: whether its image is there
//!   is known only afterwards. A delete does not: the insert behind it could not take its place, since the
//!   new row may get another rowid.
//! - *A command with more than 64 KiB is in no chain.* A row that is too large for SQLite for a moment fails one
//!   after the other, and would not as one statement. Much smaller ones are far from that limit.
//! - *Nor is one that changes a column by what it holds* (`add`, `set_greatest`). What it makes of the row is known
//!   only afterwards.
//! - *Nor is an update of nothing,* which has no SQL to be merged into.
//!
//! Followers (`chain.rs`):
//!
//! - *A watched column may only be sent again as it was.* Others can see it (keys, UNIQUE, foreign keys), or the
//!   schema judges it (CHECK, generated columns, computed indexes): its value in between matters.
//! - *A value that is overwritten must have been possible.* NOT NULL and STRICT would have refused it by itself.
//! - *A column that an insert left out may be set only if it has no DEFAULT and takes NULL.* The DEFAULT could
//!   have failed, or called something, and the head's receipt tells what the database filled in.
//! - *An upsert that follows is an update,* since the row is there: the statement counts only if it changed one.
//! - *A second insert, and one that may be ignored, close the chain.* The first fails, with a message of
//!   SQLite's own; which one depends on everything in it.
//! - *A guard is answered from what was sent, if SQLite stores and compares that exactly.* Not for values that
//!   affinity converts, for reals, or for text in a column with another collation, nor for columns that no
//!   command of the chain has set. A revision is known behind an insert (1), behind a guard that holds, and
//!   always if it is a sequence.
//! - *A delete joins only plain updates, and the statement moves to its place.* At the head's place the row would
//!   be gone too early: a row of another table may refer to it in between. The updates must be such that
//!   nobody misses them: of plain columns, with values that could not have failed. An insert and its delete are
//!   never cancelled: the row took a rowid, stood in the way of others, and had to be possible.

mod chain;
mod facts;
mod keys;
mod plan;
mod planner;
mod tables;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use facts::TableFacts;
pub(crate) use plan::{Chain, ChainKind, ChainMember, MemberRole, Place, Plan};
