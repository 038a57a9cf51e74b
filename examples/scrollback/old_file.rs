//! The file that was there for years: rollback journal, no schema version.

use crate::Result;
use crate::message::{BUFFERS, Message, OLD_SCHEMA};
use crate::progress::Progress;
use rusqlite::{Connection, params};
use std::path::Path;

/// Rows between two looks at the progress.
const ROWS_A_LOOK: u64 = 20_000;
/// When the first message came.
pub const FIRST_AT_MS: i64 = 1_600_000_000_000;
/// One message a second.
pub const STEP_MS: i64 = 1_000;

/// Makes it with this many messages, spread over the buffers in the order of time.
pub fn make(path: &Path, rows: u64, progress: &Progress) -> Result<()> {
    let connection = Connection::open(path)?;
    // Nobody has been promised anything yet.
    connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;")?;
    connection.execute_batch(OLD_SCHEMA)?;
    let transaction = connection.unchecked_transaction()?;
    {
        let mut insert = transaction.prepare(
            "INSERT INTO message (buffer_id, sender, at_ms, mentions, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for number in 0..rows {
            if number.is_multiple_of(ROWS_A_LOOK) {
                progress.update(format_args!("the old file: {number} of {rows} messages"));
            }
            let place = i64::try_from(number)?;
            let message = Message::numbered(number, 1 + place % BUFFERS, FIRST_AT_MS + place * STEP_MS);
            let Message { buffer_id, sender, at_ms, mentions, body, .. } = message;
            insert.execute(params![buffer_id, sender, at_ms, mentions, body])?;
        }
    }
    transaction.commit()?;
    Ok(())
}
