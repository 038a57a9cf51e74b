//! A database in WAL mode over a VFS that counts and fails, and plain connections to it.

use std::path::PathBuf;
use std::ptr;

use rusqlite::config::DbConfig;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, ffi};
use walwright_test_support::vfs::{DatabaseCreation, FileKind};
use walwright_test_support::{FaultVfs, Scratch};

pub struct Bench {
    pub scratch: Scratch,
    pub vfs: &'static FaultVfs,
}

impl Bench {
    pub fn new() -> Self {
        let vfs = FaultVfs::unique("fact");
        vfs.start_recording(DatabaseCreation::AtOnce);
        Self { scratch: Scratch::new(), vfs }
    }

    pub fn path(&self) -> PathBuf {
        self.scratch.join("fact.db")
    }

    pub fn connect(&self) -> Connection {
        let connection =
            Connection::open_with_flags_and_vfs(self.path(), OpenFlags::default(), self.vfs.name()).unwrap();
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        connection
    }

    /// A connection in WAL mode at FULL, with a table.
    pub fn wal(&self) -> Connection {
        let connection = self.connect();
        connection
            .execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;
                 PRAGMA foreign_keys=ON; CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v UNIQUE)",
            )
            .unwrap();
        connection
    }

    pub fn wal_syncs(&self) -> u64 {
        self.vfs.counts(FileKind::Wal).syncs
    }
}

/// A connection to a database in memory, with a table.
pub fn memory() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, v UNIQUE)").unwrap();
    connection
}

pub fn one<T: FromSql>(connection: &Connection, sql: &str) -> T {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn count(connection: &Connection) -> i64 {
    one(connection, "SELECT count(*) FROM t")
}

/// SQLite's own file object of the WAL.
pub fn wal_file(connection: &Connection) -> *mut ffi::sqlite3_file {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open; SQLite stores a pointer to its own object, as this operation asks for.
    let code = unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_JOURNAL_POINTER,
            (&raw mut file).cast(),
        )
    };
    assert_eq!(code, ffi::SQLITE_OK);
    file
}
