//! Reserving commit sequences, so that none is used twice, also after a crash or a power cut.

use std::ops::Range;

use rusqlite::{Connection, Error, Transaction, TransactionBehavior};

use crate::sqlite::ENGINE_TABLE;
use crate::sqlite::settings::{self, SYNCHRONOUS_FULL};

/// Sequences reserved at a time; what is left of them when the process ends is skipped.
const AT_A_TIME: i64 = 1 << 20;

/// Reserves the next range of commit sequences, durably, in a transaction of its own. None of them is below
/// `floor`, whatever has become of the table.
///
/// To be called outside a transaction. Leaves the `synchronous` level as it was.
pub(in crate::sqlite::writer) fn reserve(
    connection: &Connection,
    floor: u64,
) -> rusqlite::Result<Range<u64>> {
    let level = settings::read(connection, "synchronous")?;
    let raise = level < i64::from(SYNCHRONOUS_FULL);
    if raise {
        connection.pragma_update(None, "synchronous", SYNCHRONOUS_FULL)?;
    }
    let range = take(connection, floor);
    if raise {
        connection.pragma_update(None, "synchronous", level)?;
    }
    range
}

/// Whether sequences have been reserved in this database before. Then its table is there, and an opening that changes
/// nothing else need not write.
pub(super) fn has_sequences(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1)";
    connection.query_row(sql, [ENGINE_TABLE], |row| row.get(0))
}

fn take(connection: &Connection, floor: u64) -> rusqlite::Result<Range<u64>> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS main.{ENGINE_TABLE} (
             only INTEGER PRIMARY KEY CHECK (only = 1),
             next INTEGER NOT NULL,
             last INTEGER NOT NULL DEFAULT 0
         )"
    ))?;
    if !has_column_last(&transaction)? {
        // The table is of an earlier version.
        transaction.execute_batch(&format!(
            "ALTER TABLE main.{ENGINE_TABLE} ADD COLUMN last INTEGER NOT NULL DEFAULT 0"
        ))?;
    }
    let end: i64 = transaction.query_row(
        &format!(
            "INSERT INTO main.{ENGINE_TABLE} (only, next) VALUES (1, ?2 + ?1)
             ON CONFLICT (only) DO UPDATE SET next = max(next, ?2) + ?1 RETURNING next"
        ),
        [AT_A_TIME, i64::try_from(floor.max(1)).unwrap_or(i64::MAX - AT_A_TIME)],
        |row| row.get(0),
    )?;
    // Only somebody else's hand in the table can make it so.
    let begin = end.checked_sub(AT_A_TIME).filter(|begin| *begin >= 1);
    let begin = begin.ok_or(Error::IntegralValueOutOfRange(0, end))?;
    transaction.commit()?;
    Ok(begin.cast_unsigned()..end.cast_unsigned())
}

fn has_column_last(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM pragma_table_info(?1, 'main') WHERE name = 'last'";
    connection.query_row(sql, [ENGINE_TABLE], |row| row.get(0))
}
