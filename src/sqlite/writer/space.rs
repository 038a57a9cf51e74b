//! Giving free pages of the file back.

use std::time::{Duration, Instant};

use super::command::WriteValue;
use super::isolation::Isolation;
use super::transaction::{Done, Transaction};
use crate::board::Board;
use crate::error::WriteError;
use crate::sqlite::engine_statement::EngineStatement;

/// What a slice left of the file's free space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceLeft {
    /// Pages of the file, free ones included.
    pub(crate) pages: u64,
    pub(crate) free: u64,
    pub(crate) took: Duration,
}

impl Transaction {
    /// Moves pages from the end of the file to free places, and cuts it, inside the transaction. The file itself is cut
    /// by the checkpoint that copies the transaction.
    pub(super) fn give_back(
        &self,
        pages: u32,
        isolation: &Isolation<'_>,
        board: &Board,
    ) -> Result<Done, WriteError> {
        board.statements.add(1);
        isolation.set_savepoint()?;
        let number = |sql: &str| EngineStatement::prepare_text(&self.connection, sql)?.run();
        let left = isolation.session.as_engine(|| {
            let before = number("PRAGMA main.page_count")?;
            let began = Instant::now();
            if pages > 0 {
                number(&format!("PRAGMA main.incremental_vacuum({pages})"))?;
            }
            let (took, after) = (began.elapsed(), number("PRAGMA main.page_count")?);
            let left = SpaceLeft {
                pages: after.unsigned_abs(),
                free: number("PRAGMA main.freelist_count")?.unsigned_abs(),
                took,
            };
            Ok::<_, WriteError>((before.unsigned_abs(), left))
        });
        let (before, left) = left?;
        let given = before.saturating_sub(left.pages);
        Ok(Done { rows_changed: given, value: WriteValue::Closure(Box::new(left)) })
    }
}
