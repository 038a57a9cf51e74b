//! 3. One writer.

use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;

use walwright::rusqlite::config::DbConfig;
use walwright::{OpenError, ReadError, Store, WriteError};
use walwright_test_support::Probe;

use crate::bed::{Bed, foreign, ids, insert, run};

/// Names the file for the child process of a test.
const CHILD: &str = "WALWRIGHT_TEST_OPEN_THIS";

#[test]
fn of_all_connections_only_the_writers_can_change_a_row() {
    run(|| {
        let bed = Bed::new();
        let opened = Arc::new(Mutex::new(Vec::new()));
        let seen = opened.clone();
        let store = bed.builder().readers(3).on_connection(move |connection| {
            seen.lock().unwrap().push(connection.is_readonly("main")?);
            Ok(())
        });
        let store = store.open().wait().unwrap();
        // The migration's connection is closed before the writer's own is opened.
        assert_eq!(*opened.lock().unwrap(), [false, false, true, true, true]);
        insert(&store, 1).wait().unwrap();
        for sql in [
            "INSERT INTO t (id) VALUES (9)",
            "INSERT INTO t (id) VALUES (9) RETURNING id",
            "UPDATE t SET v = 1",
            "DELETE FROM t",
            "CREATE TABLE u (id)",
            "DROP TABLE t",
            "PRAGMA user_version = 7",
            "PRAGMA query_only = 0",
            "CREATE TEMP TABLE u (id)",
            "ATTACH ':memory:' AS more",
        ] {
            let error = store.query(sql, ()).wait().unwrap_err();
            assert!(matches!(error, ReadError::NotAllowed { .. }), "{sql}: {error:?}");
            let error = store.read(move |db| db.query(sql, (), |_| Ok(()))).wait().unwrap_err();
            assert!(matches!(error, ReadError::NotAllowed { .. }), "{sql}: {error:?}");
        }
        assert_eq!(ids(&store), [1]);
    });
}

#[test]
fn a_reader_stays_read_only_whatever_the_users_hook_did() {
    run(|| {
        let bed = Bed::new();
        let store = bed.builder().on_connection(|connection| {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
            connection.execute_batch("PRAGMA query_only=0; PRAGMA writable_schema=1")
        });
        let store = store.open().wait().unwrap();
        let error = store.query("INSERT INTO t (id) VALUES (9)", ()).wait().unwrap_err();
        assert!(matches!(error, ReadError::NotAllowed { .. }), "{error:?}");
    });
}

#[test]
fn a_second_store_on_the_file_is_refused() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        insert(&store, 1).wait().unwrap();
        let link = bed.scratch.join("link.db");
        std::os::unix::fs::symlink(bed.path(), &link).unwrap();
        let hard = bed.scratch.join("hard.db");
        std::fs::hard_link(bed.path(), &hard).unwrap();
        let detour = bed.scratch.path().join(".").join("store.db");
        for path in [bed.path(), link, hard, detour] {
            let error = Store::builder(&path).open().wait().unwrap_err();
            assert!(matches!(error, OpenError::AlreadyOpen { .. }), "{}: {error:?}", path.display());
        }
        insert(&store, 2).wait().unwrap();
        store.close().wait().unwrap();
        let again = bed.open();
        assert_eq!(ids(&again), [1, 2]);
    });
}

#[test]
fn a_second_store_in_another_process_is_refused() {
    if let Some(path) = std::env::var_os(CHILD) {
        let error = Store::builder(path).open().wait().unwrap_err();
        assert!(matches!(error, OpenError::AlreadyOpen { .. }), "{error:?}");
        println!("refused");
        return;
    }
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "g03_one_writer::a_second_store_in_another_process_is_refused"])
            .env(CHILD, bed.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success() && said.contains("refused"), "{said}");
        insert(&store, 1).wait().unwrap();
    });
}

#[test]
fn another_programs_lock_is_waited_for_and_its_writes_are_reported() {
    run(|| {
        let bed = Bed::new();
        let store = bed.open();
        let other = foreign(&bed);
        other.execute_batch("BEGIN IMMEDIATE; INSERT INTO t (id) VALUES (1)").unwrap();
        let pending = insert(&store, 2).try_submit().unwrap();
        let reader = store.query("SELECT id FROM t", ()).wait().unwrap();
        assert!(reader.is_empty(), "reads do not wait for its lock");
        other.execute_batch("COMMIT").unwrap();
        pending.wait().unwrap();
        assert_eq!(ids(&store), [1, 2]);
        assert_eq!(store.stats().foreign_writes, 1);
    });
}

#[test]
fn a_lock_that_is_held_for_too_long_answers_not_started() {
    run(|| {
        let bed = Bed::new();
        let store = crate::bed::synced(bed.builder().busy_budget(std::time::Duration::from_millis(20)));
        let probe = Probe::open(bed.path()).unwrap();
        let lock = probe.begin_immediate().unwrap();
        let error = insert(&store, 1).wait().unwrap_err();
        assert!(matches!(error, WriteError::Busy(_)), "{error:?}");
        assert_eq!(error.outcome(), walwright::Outcome::NotStarted);
        assert!(error.is_retryable());
        drop(lock);
        insert(&store, 1).wait().unwrap();
        assert_eq!(ids(&store), [1]);
    });
}
