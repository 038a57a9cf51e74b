//! A look at a database file from outside the engine.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Result};
use std::path::Path;

/// A plain SQLite connection of the platform's own VFS, beside whatever the engine has open.
///
/// It shows what is committed in the file, not what the engine says. It leaves the file alone: it
/// creates nothing, never checkpoints (not even as the last connection to close), and does not wait
/// for locks.
#[derive(Debug)]
pub struct Probe {
    connection: Connection,
}

impl Probe {
    /// Opens the database file at `path`, which must exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(Self { connection })
    }

    /// The single number that `sql` answers, such as `SELECT count(*) FROM account`.
    pub fn count(&self, sql: &str) -> Result<i64> {
        self.connection.query_row(sql, [], |row| row.get(0))
    }

    /// What SQLite finds wrong with the file, as the error; `Ok` for a sound one.
    pub fn integrity_check(&self) -> std::result::Result<(), String> {
        let check = || -> Result<Vec<String>> {
            let mut statement = self.connection.prepare("PRAGMA integrity_check")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        match check() {
            Ok(lines) if lines == ["ok"] => Ok(()),
            Ok(lines) => Err(lines.join("\n")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The journal mode of the file, in lower case.
    pub fn journal_mode(&self) -> Result<String> {
        self.connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
    }

    /// Takes the write lock and holds it until the guard is dropped.
    pub fn begin_immediate(&self) -> Result<WriteLock<'_>> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(WriteLock { connection: &self.connection })
    }

    /// The connection itself, for everything else.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// A write transaction of a [`Probe`]; rolled back when dropped.
#[derive(Debug)]
#[must_use = "the lock is held only as long as this value lives"]
pub struct WriteLock<'probe> {
    connection: &'probe Connection,
}

impl WriteLock<'_> {
    /// Commits what was written through [`Probe::connection`] under this lock.
    pub fn commit(self) -> Result<()> {
        // The drop that follows rolls back only if this left the transaction open.
        self.connection.execute_batch("COMMIT")
    }
}

impl Drop for WriteLock<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            // SQLite ends the transaction even when it reports an error here.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;
    use rusqlite::ErrorCode;

    #[test]
    fn sees_commits_and_holds_the_write_lock() {
        let scratch = Scratch::new();
        let path = scratch.join("db");
        assert!(Probe::open(&path).is_err(), "creates nothing");

        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)")
            .unwrap();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        let probe = Probe::open(&path).unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 1);
        assert_eq!(probe.journal_mode().unwrap(), "wal");
        probe.integrity_check().unwrap();

        let held = probe.begin_immediate().unwrap();
        let refused = connection.execute("INSERT INTO t VALUES(2)", []).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
        drop(held);
        connection.execute("INSERT INTO t VALUES(2)", []).unwrap();

        let held = probe.begin_immediate().unwrap();
        probe.connection().execute("INSERT INTO t VALUES(3)", []).unwrap();
        held.commit().unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 3);
    }

    #[test]
    fn leaves_the_wal_where_it_is() {
        let scratch = Scratch::new();
        let path = scratch.join("db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x)").unwrap();
        let copy = scratch.join("copy");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::copy(scratch.join("db-wal"), scratch.join("copy-wal")).unwrap();

        let before = std::fs::read(&copy).unwrap();
        let probe = Probe::open(&copy).unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 0);
        drop(probe);
        assert_eq!(std::fs::read(&copy).unwrap(), before);
        assert!(scratch.join("copy-wal").exists());
    }
}
