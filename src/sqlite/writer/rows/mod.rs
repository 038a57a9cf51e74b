//! Row commands on the writable connection.
//!
//! A [`TableDesk`](desk::TableDesk) keeps for each table what the writer knows of it: whether its handle still fits the
//! schema, the facts that coalescing needs, and its prepared statements. `row` carries out one command (`adjust` one
//! that changes columns by what they hold), `chain` several on one key as one statement, `bulk` a piece of work on
//! many rows.

mod adjust;
mod bulk;
mod chain;
mod desk;
mod modify;
mod row;
mod text;

use crate::error::Conflict;
use crate::row::Filled;
use crate::sqlite::session::SessionError;

pub(super) use bulk::{BulkProgress, Piece, PieceEnd, carry_out_piece, piece_time};
pub(super) use chain::carry_out_chain;
pub(super) use desk::{TableDesk, TableDesks};
pub(super) use modify::modify;
pub(super) use row::carry_out;

/// What a row command did.
#[derive(Default)]
pub(crate) struct RowEffect {
    pub(crate) rows_changed: u64,
    pub(crate) revision: Option<i64>,
    pub(crate) created: bool,
    pub(crate) rowid: Option<i64>,
    pub(crate) filled: Filled,
}

/// Why a row command failed.
pub(super) enum RowFailure {
    Session(SessionError),
    Conflict(Conflict),
    NotCountable { table: String, column: String },
    SchemaChanged { table: String },
}

impl From<SessionError> for RowFailure {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}
