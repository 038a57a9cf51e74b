//! C28. A damaged file made a service die in a loop without a message; others found an empty database in its
//! place, because a zero-byte file was taken for a fresh install (getsentry/taskbroker#507).
//!
//! Must hold: a typed error that names the path; nothing is deleted, cut or made anew; a zero-byte main file
//! beside a log is refused; damage that is met later is an error of that call alone.

use std::fs;
use std::path::Path;

use walwright::rusqlite::Connection;
use walwright::rusqlite::config::DbConfig;
use walwright::{OpenError, Outcome, ReadError, Store, StoreState, WriteError};
use walwright_test_support::{Gate, Scratch, watchdog};

use crate::support_read::{LIMIT, beside, contents, number, scribble};

const PAGE: u64 = 4096;

/// Closed databases of both journal modes with some hundred pages. The one in WAL mode has a log.
fn database(path: &Path, journal_mode: &str) {
    let connection = Connection::open(path).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {journal_mode}"), [], |_| Ok(())).unwrap();
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT);
               WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
               INSERT INTO t SELECT i, hex(randomblob(100)) FROM n";
    connection.execute_batch(sql).unwrap();
    if journal_mode == "wal" {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        connection.execute_batch("UPDATE t SET text = 'logged' WHERE id = 2000").unwrap();
    }
}

fn refused_and_unchanged(scratch: &Scratch) -> OpenError {
    let kept = || {
        let mut files = contents(scratch.path());
        files.retain(|(name, _)| !name.ends_with("-shm"));
        files
    };
    let before = kept();
    let path = scratch.join("a.db");
    // Twice: the first attempt must not turn the file into something that the second one takes.
    Store::builder(&path).open().wait().map(drop).expect_err("it cannot be opened");
    let error = Store::builder(&path).open().wait().map(drop).expect_err("it still cannot be opened");
    assert!(before == kept(), "a file was changed, made or deleted: {error}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    error
}

#[test]
fn c28_what_is_no_database_is_refused() {
    watchdog(LIMIT, || {
        let garbage: Vec<u8> = (0..20_000_u32).map(|i| (i * 7 % 251) as u8).collect();
        for content in [&garbage[..], b"x", b"SQLite format 3\0", &[0; 8192]] {
            let scratch = Scratch::new();
            fs::write(scratch.join("a.db"), content).unwrap();
            let error = refused_and_unchanged(&scratch);
            assert!(matches!(error, OpenError::NotADatabase { .. }), "{} bytes: {error}", content.len());
        }
    });
}

#[test]
fn c28_damage_that_opening_meets_is_refused() {
    watchdog(LIMIT, || {
        for journal_mode in ["delete", "wal"] {
            let damages: [fn(&Path); 4] = [
                // Cut in the middle: the header says that there are more pages.
                |path| {
                    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(20 * PAGE + 100).unwrap()
                },
                // The schema, behind a good header.
                |path| scribble(path, 100, &[0xee; 3000]),
                // An entry of the schema that leads to no page.
                |path| {
                    let connection = Connection::open(path).unwrap();
                    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
                    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
                    let sql =
                        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 0, sql = 'CREATE x'";
                    connection.execute_batch(sql).unwrap();
                },
                // A magic that is almost right.
                |path| scribble(path, 0, b"SQLite format 4"),
            ];
            for (at, damage) in damages.iter().enumerate() {
                let scratch = Scratch::new();
                database(&scratch.join("a.db"), journal_mode);
                damage(&scratch.join("a.db"));
                let error = refused_and_unchanged(&scratch);
                assert!(
                    matches!(error, OpenError::Corrupt { .. } | OpenError::NotADatabase { .. }),
                    "{journal_mode}, damage {at}: {error}"
                );
            }
        }
    });
}

#[test]
fn c28_an_empty_main_file_is_new_only_without_a_log() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        database(&path, "wal");
        for missing in [false, true] {
            fs::remove_file(beside(&path, "-shm")).ok();
            if missing {
                fs::remove_file(&path).unwrap()
            } else {
                fs::write(&path, "").unwrap()
            }
            match refused_and_unchanged(&scratch) {
                OpenError::OrphanedWal { wal, .. } => assert_eq!(wal, beside(&path, "-wal")),
                other => panic!("{other}"),
            }
            assert_eq!(path.exists(), !missing, "not made anew");
        }
        fs::remove_file(beside(&path, "-wal")).unwrap();
        fs::write(&path, "").unwrap();
        let store = Store::builder(&path).open().wait().unwrap();
        store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    });
}

#[test]
fn c28_damage_met_later_is_an_error_of_that_call_alone() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        database(&path, "wal");
        let store = Store::builder(&path).readers(2).open().wait().unwrap();
        store.execute("CREATE TABLE healthy (x)", ()).wait().unwrap();
        // The log is empty and nothing of these pages has been read: the middle of the table goes bad.
        scribble(&path, 20 * PAGE, &vec![0xee; 10 * PAGE as usize]);
        let read = store.query("SELECT sum(length(text)) FROM t", ()).wait();
        assert!(matches!(read, Err(ReadError::Corrupt(_))), "{read:?}");
        let read =
            store.read(|db| db.query_row("SELECT sum(length(text)) FROM t", (), |row| row.get::<_, i64>(0)));
        assert!(matches!(read.wait(), Err(ReadError::Corrupt(_))));
        let write = store.execute("UPDATE t SET text = 'x'", ()).wait().unwrap_err();
        assert!(matches!(write, WriteError::Corrupt(_)), "{write}");
        assert_eq!(write.outcome(), Outcome::NotApplied);
        let write = store.write(|tx| tx.execute("UPDATE t SET text = 'x'", ())).wait().map(drop).unwrap_err();
        assert!(matches!(write, WriteError::Corrupt(_)), "{write}");
        // SQLite lets nothing more be written in a transaction that met damage: not the others' fault.
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
        let healthy = || store.execute("INSERT INTO healthy VALUES (0)", ()).try_submit().unwrap();
        let (mut siblings, mut culprits) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            siblings.push(healthy());
            let culprit = store.execute("UPDATE t SET text = 'x'", ()).try_submit().unwrap();
            siblings.push(healthy());
            // One that takes no notice of the damage that it met, reading or writing.
            let careless = store.write(|tx| {
                let _ = tx.query("SELECT sum(length(text)) FROM t", (), |row| row.get::<_, i64>(0));
                let _ = tx.execute("UPDATE t SET text = 'x'", ());
                Ok(())
            });
            culprits.push((culprit, careless.try_submit().unwrap()));
            siblings.push(healthy());
        }
        gate.open();
        first.wait().unwrap();
        for write in siblings {
            write.wait().expect("an innocent one");
        }
        for (culprit, careless) in culprits {
            assert!(matches!(culprit.wait(), Err(WriteError::Corrupt(_))));
            assert!(matches!(careless.wait(), Err(WriteError::Corrupt(_))));
        }
        assert_eq!(number(&store, "SELECT count(*) FROM healthy"), 9);
        store.execute("DELETE FROM healthy", ()).wait().unwrap();
        // Everything else goes on, and nothing of the failed writes is there.
        store.execute("INSERT INTO healthy VALUES (1)", ()).wait().unwrap();
        assert_eq!(number(&store, "SELECT count(*) FROM healthy"), 1);
        assert_eq!(number(&store, "SELECT count(*) FROM t WHERE id = 1 AND text <> 'x'"), 1);
        assert!(matches!(store.stats().state, StoreState::Running));
        store.close().wait().unwrap();
    });
}
