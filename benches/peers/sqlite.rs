//! What the peers that hand out a rusqlite connection do with it, and the baseline. Each compiles this with the rusqlite
//! that it pins.

use super::rusqlite::{self, Connection, TransactionBehavior, params};
use walwright_bench_workload::{INSERT, REVOKE, SCHEMA, Session};

/// Durable in WAL mode, and otherwise as a store of Walwright's is set.
pub fn settle(connection: &Connection) -> rusqlite::Result<()> {
    /// In KiB; negative is how SQLite tells it from a number of pages.
    const PAGE_CACHE_KIB: i64 = -8 * 1024;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", PAGE_CACHE_KIB)?;
    connection.execute_batch(SCHEMA)
}

pub fn insert(connection: &Connection, row: &Session) -> rusqlite::Result<()> {
    let values = params![
        row.id,
        row.sandbox_id,
        row.token,
        row.created_at_ms,
        row.expires_at_ms,
        row.revoked,
        row.resource_version
    ];
    connection.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
}

pub fn revoke(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(REVOKE)?.execute([id])?;
    Ok(())
}

/// Both in one transaction: the best that such a connection can do for a caller that does not wait in between.
pub fn pair(connection: &mut Connection, row: &Session) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    insert(&transaction, row)?;
    revoke(&transaction, &row.id)?;
    transaction.commit()
}
