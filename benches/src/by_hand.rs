//! The same rows written by hand: one connection, statements prepared once, no queue, no threads, no answers.
//!
//! Nothing that goes through SQLite can be faster, so this is the limit that Walwright is held against. The
//! settings are those that a store settles on.

use crate::{Result, sqlite};
use rusqlite::{Connection, OpenFlags, Statement, TransactionBehavior, params};
use std::path::Path;
use std::time::{Duration, Instant};
use walwright_bench_workload::{INSERT, REVOKE, Session};

/// The soft limit of a store's write-ahead log, 4 MiB, in pages.
const CHECKPOINT_PAGES: i64 = 1024;

/// What a transaction does for each of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Inserts it.
    Insert,
    /// Inserts it, then updates it.
    Pair,
}

/// A connection that one thread writes with.
pub struct ByHand {
    connection: Connection,
}

impl ByHand {
    /// Makes a new database with the table of sessions. `vfs`: the one to open it with, or SQLite's own.
    pub fn create(path: &Path, vfs: Option<&str>) -> Result<Self> {
        let flags = OpenFlags::default();
        let connection = match vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
            None => Connection::open_with_flags(path, flags)?,
        };
        sqlite::settle(&connection)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        Ok(Self { connection })
    }

    /// Writes some rows in one transaction, durably. One insert commits by itself.
    pub fn write(&mut self, work: Work, rows: &[Session]) -> Result<()> {
        if let (Work::Insert, [row]) = (work, rows) {
            let mut insert = self.connection.prepare_cached(INSERT)?;
            return Ok(insert_with(&mut insert, row)?);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            let mut revoke = transaction.prepare_cached(REVOKE)?;
            for row in rows {
                insert_with(&mut insert, row)?;
                if work == Work::Pair {
                    revoke.execute([&row.id])?;
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Lets the log grow to the soft limit, with rows from `number` on. No checkpoint comes by itself any more.
    pub fn fill_log(&mut self, number: u64) -> Result<()> {
        const ROWS: u64 = 64;
        self.connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        let mut first = number;
        while self.log_frames()? < CHECKPOINT_PAGES {
            let rows: Vec<_> = (first..first + ROWS).map(Session::new).collect();
            self.write(Work::Insert, &rows)?;
            first += ROWS;
        }
        Ok(())
    }

    /// Frames in the log that are not in the database yet. Copies nothing.
    fn log_frames(&self) -> Result<i64> {
        let (frames, copied): (i64, i64) =
            self.connection
                .query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?)))?;
        Ok(frames - copied)
    }

    /// How long a checkpoint of the whole log takes.
    pub fn time_checkpoint(&self) -> Result<Duration> {
        let began = Instant::now();
        self.connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))?;
        Ok(began.elapsed())
    }
}

fn insert_with(insert: &mut Statement<'_>, row: &Session) -> rusqlite::Result<()> {
    insert.execute(params![
        row.id,
        row.sandbox_id,
        row.token,
        row.created_at_ms,
        row.expires_at_ms,
        row.revoked,
        row.resource_version
    ])?;
    Ok(())
}
