//! C27. An older program opened a database that a newer one had migrated, stamped its version down, and wrote
//! data in the old shape (ohdearquant/lionagi#2607).
//!
//! Must hold: a typed error with both versions, and the file unchanged byte for byte: version, journal mode,
//! sidecars; the same for the database of another application.

use std::path::Path;

use walwright::rusqlite::Connection;
use walwright::rusqlite::config::DbConfig;
use walwright::{Migration, OpenError, Store};
use walwright_test_support::{Scratch, watchdog};

use crate::support_read::{LIMIT, contents};

const KNOWN: &[Migration] =
    &[Migration::sql("CREATE TABLE t (x)"), Migration::sql("ALTER TABLE t ADD COLUMN y")];

/// What a database was left as.
const LEFT: [(&str, bool); 3] = [("delete", false), ("wal", false), ("wal", true)];

/// A database in this journal mode, changed by `sql` afterwards. In WAL mode either its log is left behind, not
/// empty, or there are no sidecars.
fn database(path: &Path, (journal_mode, leave_log): (&str, bool), sql: &str) {
    Store::builder(path).application_id(7).migrations(KNOWN).open().wait().unwrap().close().wait().unwrap();
    let connection = Connection::open(path).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave_log).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {journal_mode}"), [], |_| Ok(())).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Opens what must be refused, and finds every file as it was, and no new one. Only the `-shm` beside a log that
/// was left is no content: SQLite makes it of the log, and has to.
fn refused_and_unchanged(scratch: &Scratch) -> OpenError {
    let files = || {
        let mut files = contents(scratch.path());
        if files.iter().any(|(name, content)| name.ends_with("-wal") && !content.is_empty()) {
            files.retain(|(name, _)| !name.ends_with("-shm"));
        }
        files
    };
    let before = files();
    let builder = Store::builder(scratch.join("a.db")).application_id(7).migrations(KNOWN);
    let error = builder.open().wait().map(drop).expect_err("it is not ours to open");
    let after = files();
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    assert!(before == after, "a file was changed");
    error
}

#[test]
fn c27_a_newer_schema_is_refused_with_both_versions() {
    watchdog(LIMIT, || {
        for left in LEFT {
            // By one, by many, and by what no list of migrations can have made.
            for (version, told) in [("3", 3), ("2000000000", 2_000_000_000), ("-1", u32::MAX)] {
                let scratch = Scratch::new();
                database(&scratch.join("a.db"), left, &format!("PRAGMA user_version = {version}"));
                match refused_and_unchanged(&scratch) {
                    OpenError::SchemaTooNew { path, found, known } => {
                        assert_eq!((path, found, known), (scratch.join("a.db"), told, 2));
                    }
                    other => panic!("{left:?}, {version}: {other}"),
                }
            }
        }
    });
}

#[test]
fn c27_the_database_of_another_application_is_refused() {
    watchdog(LIMIT, || {
        for left in LEFT {
            let scratch = Scratch::new();
            database(&scratch.join("a.db"), left, "PRAGMA application_id = 8");
            match refused_and_unchanged(&scratch) {
                OpenError::ForeignApplication { found, expected, .. } => {
                    assert_eq!((found, expected), (8, 7))
                }
                other => panic!("{left:?}: {other}"),
            }
        }
    });
}

#[test]
fn c27_the_newer_program_opens_what_the_older_one_refused() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        database(
            &scratch.join("a.db"),
            ("wal", true),
            "PRAGMA user_version = 3; INSERT INTO t VALUES (1, 2)",
        );
        refused_and_unchanged(&scratch);
        let newer = [KNOWN[0], KNOWN[1], Migration::sql("")];
        let builder = Store::builder(scratch.join("a.db")).application_id(7).migrations(&newer);
        let store = builder.open().wait().unwrap();
        assert_eq!(store.settings().user_version, 3);
        assert_eq!(store.settings().migrations_applied, 0);
        assert_eq!(store.query("SELECT * FROM t", ()).wait().unwrap().len(), 1);
    });
}
