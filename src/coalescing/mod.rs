//! Which row commands of a group are carried out as one statement, so that nobody can tell.
//!
//! Plain data in, plain data out: the facts of the tables and the commands give a [`Plan`]. Carrying it out is the
//! storage's part.

mod facts;
mod plan;

pub(crate) use facts::TableFacts;
pub(crate) use plan::{Chain, ChainKind, ChainMember, MemberRole, Place, Plan};
