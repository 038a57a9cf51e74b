//! C05. A second pool came up without foreign keys, so that cascades did not fire and orphans piled up; and
//! what one caller set, attached or created for itself was seen by the next (librefang/librefang#5434).
//!
//! Must hold: every connection has the same settings, before and after closures that try to change them;
//! what cannot run inside a group is a clear error for its caller alone.

use std::thread;

use walwright::{ClosureError, Db, NotAllowed, ReadError, Store, WriteError};
use walwright_test_support::{Gate, Scratch, watchdog};

use crate::support_read::{LIMIT, number, on_every_reader};

const READERS: usize = 3;

/// What would outlive the call, or break into the work of the store.
const REFUSED: &[&str] = &[
    "PRAGMA foreign_keys = 0",
    "PRAGMA foreign_keys(0)",
    "PRAGMA main.foreign_keys = OFF",
    "PRAGMA defer_foreign_keys = 1",
    "PRAGMA query_only = 0",
    "PRAGMA query_only = 1",
    "PRAGMA busy_timeout = 0",
    "PRAGMA synchronous = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA wal_autocheckpoint = 1",
    "PRAGMA cache_size = 1",
    "PRAGMA temp_store = 1",
    "PRAGMA mmap_size = 1048576",
    "PRAGMA recursive_triggers = 1",
    "PRAGMA trusted_schema = 1",
    "PRAGMA writable_schema = 1",
    "PRAGMA case_sensitive_like = 1",
    "PRAGMA user_version = 9",
    "PRAGMA application_id = 9",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "CREATE TEMP TABLE mine (x)",
    "CREATE TABLE temp.mine (x)",
    "CREATE TEMP VIEW mine AS SELECT 1",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON parent BEGIN SELECT 1; END",
    "VACUUM",
    "VACUUM INTO '/nowhere/copy.db'",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT mine",
];

/// Everything about a connection that a closure can look at.
const SETTINGS: &[&str] = &[
    "foreign_keys",
    "defer_foreign_keys",
    "busy_timeout",
    "cache_size",
    "wal_autocheckpoint",
    "mmap_size",
    "recursive_triggers",
    "trusted_schema",
    "secure_delete",
    "max_page_count",
    "user_version",
    "application_id",
];

fn open(scratch: &Scratch) -> Store {
    let store = Store::builder(scratch.join("a.db")).readers(READERS).open().wait().unwrap();
    let schema = "CREATE TABLE parent (id INTEGER PRIMARY KEY);
                  CREATE TABLE child (parent INTEGER NOT NULL REFERENCES parent ON DELETE CASCADE);
                  INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1), (1), (2)";
    store.write(move |tx| tx.execute_batch(schema)).wait().unwrap();
    store
}

/// The settings, the attached databases and the temporary objects that a closure sees.
fn look(mut one: impl FnMut(&str) -> Result<Vec<String>, ClosureError>) -> Result<Vec<String>, ClosureError> {
    let mut found = Vec::new();
    for name in SETTINGS {
        found.push(format!("{name}: {:?}", one(&format!("PRAGMA {name}"))?));
    }
    // SQLite opens the temporary database as soon as somebody names it; what counts is that nothing is in it.
    let databases = "SELECT name FROM pragma_database_list WHERE name <> 'temp'";
    found.push(format!("databases: {:?}", one(databases)?));
    found.push(format!("temporary: {:?}", one("SELECT name FROM sqlite_temp_schema")?));
    Ok(found)
}

fn text(row: &walwright::rusqlite::Row<'_>) -> walwright::rusqlite::Result<String> {
    row.get_ref(0).map(|value| format!("{value:?}"))
}

fn of_reader(db: &Db<'_>) -> Result<Vec<String>, ClosureError> {
    let mut found = look(|sql| db.query(sql, (), text))?;
    found.push(format!("query_only: {:?}", db.query("PRAGMA query_only", (), text)?));
    Ok(found)
}

fn of_writer(store: &Store) -> Vec<String> {
    store.write(|tx| look(|sql| tx.query(sql, (), text))).wait().unwrap().value
}

/// Every connection as it must be, and all alike.
fn all_alike(store: &Store) {
    let writer = of_writer(store);
    assert!(writer[0].ends_with("[\"Integer(1)\"]"), "foreign keys of the writer: {}", writer[0]);
    for reader in on_every_reader(store, READERS, of_reader) {
        let mut reader = reader.unwrap();
        assert_eq!(reader.pop().unwrap(), "query_only: [\"Integer(1)\"]");
        assert_eq!(reader, writer);
    }
    let (databases, temporary) = (&writer[SETTINGS.len()], &writer[SETTINGS.len() + 1]);
    assert_eq!(databases, "databases: [\"Text([109, 97, 105, 110])\"]", "main alone");
    assert_eq!(temporary, "temporary: []");
}

/// A closure hears of the refusal as a value; if it lets it pass, its later calls work.
fn denied(result: Result<(), ClosureError>, sql: &str) {
    let error = result.expect_err(sql);
    assert!(error.downcast_ref::<NotAllowed>().is_some(), "{sql}: {error}");
}

#[test]
fn c05_closures_leave_every_connection_as_it_was() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        all_alike(&store);
        let before = of_writer(&store);
        let tried = store.write(|tx| {
            for sql in REFUSED {
                denied(tx.execute(sql, ()).map(drop), sql);
                denied(tx.execute_batch(sql), sql);
                denied(tx.query_optional(sql, (), |_| Ok(())).map(drop), sql);
            }
            tx.execute("INSERT INTO parent VALUES (3)", ())
        });
        assert_eq!(tried.wait().unwrap().value, 1);
        for tried in on_every_reader(&store, READERS, |db| {
            for sql in REFUSED {
                denied(db.query_optional(sql, (), |_| Ok(())).map(drop), sql);
            }
            // Pragmas as functions take no new value either.
            assert!(db.query_optional("SELECT * FROM pragma_foreign_keys(0)", (), |_| Ok(())).is_err());
            assert!(db.query_optional("SELECT load_extension('x')", (), |_| Ok(())).is_err());
            db.query_row("SELECT count(*) FROM parent", (), |row| row.get::<_, i64>(0))
        }) {
            assert_eq!(tried.unwrap(), 3);
        }
        all_alike(&store);
        assert_eq!(of_writer(&store), before);
        // A statement or query by itself is refused with a type of its own.
        for sql in REFUSED {
            let write = store.execute(*sql, ()).wait();
            assert!(matches!(write, Err(WriteError::NotAllowed { .. })), "{sql}: {write:?}");
            let read = store.query(*sql, ()).wait();
            assert!(matches!(read, Err(ReadError::NotAllowed { .. })), "{sql}: {read:?}");
        }
        all_alike(&store);
    });
}

#[test]
fn c05_foreign_keys_are_enforced_after_all_that() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let orphan = store.write(|tx| {
            denied(tx.execute_batch("PRAGMA foreign_keys = OFF"), "foreign_keys");
            tx.execute("INSERT INTO child VALUES (77)", ())
        });
        assert!(matches!(orphan.wait(), Err(WriteError::Constraint(_))));
        store.execute("DELETE FROM parent WHERE id = 1", ()).wait().unwrap();
        assert_eq!(number(&store, "SELECT count(*) FROM child"), 1, "the delete cascades");
    });
}

#[test]
fn c05_a_closure_that_panics_leaves_the_settings_too() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        // More often than there are readers: none is used up.
        for _ in 0..2 {
            let reads = on_every_reader(&store, READERS, |db| -> Result<(), _> {
                let _ = db.query_optional("PRAGMA query_only = 0", (), |_| Ok(()));
                panic!("in a read");
            });
            assert!(reads.iter().all(|read| matches!(read, Err(ReadError::Panic { .. }))));
        }
        let write = store.write(|tx| -> Result<(), _> {
            let _ = tx.execute_batch("PRAGMA foreign_keys = 0");
            panic!("in a write");
        });
        assert!(matches!(write.wait(), Err(WriteError::Panic { .. })));
        all_alike(&store);
    });
}

#[test]
fn c05_what_cannot_run_in_a_group_fails_alone() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let gate = Gate::new();
        let first = store.write({
            let gate = gate.clone();
            move |_| {
                gate.wait();
                Ok(())
            }
        });
        let first = first.try_submit().unwrap();
        gate.wait_until_entered();
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (at, sql) in REFUSED.iter().enumerate() {
            let insert = store.execute("INSERT INTO parent VALUES (?1)", (100 + at as i64,));
            good.push(insert.try_submit().unwrap());
            bad.push(store.execute(*sql, ()).try_submit().unwrap());
        }
        let opener = thread::spawn(move || gate.open());
        first.wait().unwrap();
        opener.join().unwrap();
        for write in good {
            write.wait().unwrap();
        }
        for write in bad {
            assert!(matches!(write.wait(), Err(WriteError::NotAllowed { .. })));
        }
        assert_eq!(number(&store, "SELECT count(*) FROM parent"), 2 + REFUSED.len() as i64);
        all_alike(&store);
    });
}
