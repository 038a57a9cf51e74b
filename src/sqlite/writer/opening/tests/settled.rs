//! The settings of connections, and the user's hook.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::config::DbConfig;

use super::*;
use crate::error::HookFailure;
use crate::sqlite::plan::ConnectionHook;

fn hooked(path: &Path, hook: ConnectionHook) -> OpenPlan {
    OpenPlan { hook: Some(hook), ..plan(path) }
}

#[test]
fn every_connection_has_the_same_settings_whatever_the_hook_does() {
    let (_dir, path) = folder();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let plan = hooked(
        &path,
        Arc::new(move |connection| {
            counter.fetch_add(1, Ordering::Relaxed);
            connection.execute_batch(
                "PRAGMA foreign_keys = 0; PRAGMA trusted_schema = 1; PRAGMA cache_size = 3;
                 PRAGMA synchronous = 0; PRAGMA wal_autocheckpoint = 5; PRAGMA busy_timeout = 1;
                 PRAGMA query_only = 0; PRAGMA temp_store = 1; PRAGMA cell_size_check = 0;",
            )
        }),
    );
    let opened = open(&plan).unwrap();
    let reader = open_reader(&plan, &opened.path).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    for connection in [&opened.connection, &reader] {
        for (name, wanted) in [
            ("foreign_keys", 1),
            ("trusted_schema", 0),
            ("cache_size", -4096),
            ("synchronous", 2),
            ("wal_autocheckpoint", 0),
            ("busy_timeout", 5000),
            ("temp_store", 2),
            ("cell_size_check", 1),
            ("recursive_triggers", 0),
        ] {
            assert_eq!(settings::read(connection, name).unwrap(), wanted, "{name}");
        }
        assert_eq!(settings::journal_mode(connection).unwrap(), "wal");
        assert!(connection.db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE).unwrap());
        assert!(connection.db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE).unwrap());
        let loads = connection.query_row("SELECT load_extension('x')", [], |_| Ok(())).unwrap_err();
        assert!(loads.to_string().contains("not authorized"), "{loads}");
    }
    assert_eq!(settings::read(&reader, "query_only").unwrap(), 1);
    assert!(reader.is_readonly("main").unwrap());
    assert!(reader.execute_batch("CREATE TABLE b (v)").is_err());
    assert_eq!(opened.settings.busy_timeout, Duration::from_secs(5));
    assert_eq!(opened.settings.page_cache_bytes, 4 << 20);
    assert!(opened.settings.foreign_keys);
}

#[test]
fn extreme_numbers_are_brought_into_range() {
    let (_dir, path) = folder();
    for (budget, cache) in [(Duration::MAX, u64::MAX), (Duration::ZERO, 0)] {
        open(&OpenPlan { busy_budget: budget, page_cache_bytes: cache, ..plan(&path) }).unwrap();
    }
}

#[test]
fn full_text_search_and_triggers_work_with_an_untrusted_schema() {
    let (_dir, path) = folder();
    let migration = Migration::sql(
        "CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
         CREATE VIRTUAL TABLE found USING fts5(body, content='note', content_rowid='id');
         CREATE TRIGGER keep AFTER INSERT ON note BEGIN
             INSERT INTO found (rowid, body) VALUES (new.id, new.body);
         END;
         CREATE TRIGGER drop_ AFTER DELETE ON note BEGIN
             INSERT INTO found (found, rowid, body) VALUES ('delete', old.id, old.body);
         END;",
    );
    let plan = with(&path, &[migration]);
    let opened = open(&plan).unwrap();
    opened.connection.execute_batch("INSERT INTO note (body) VALUES ('one two'), ('three')").unwrap();
    opened.connection.execute_batch("DELETE FROM note WHERE id = 2").unwrap();
    let reader = open_reader(&plan, &path).unwrap();
    assert_eq!(one::<i64>(&reader, "SELECT count(*) FROM found WHERE found MATCH 'two OR three'"), 1);
    opened.connection.execute_batch("INSERT INTO found (found) VALUES ('optimize')").unwrap();
}

#[test]
fn a_hook_that_fails_panics_or_leaves_a_transaction_is_told_apart() {
    let (_dir, path) = folder();
    let failure = |hook: ConnectionHook| match refused(&hooked(&path, hook)) {
        OpenError::Hook { failure, .. } => failure,
        other => panic!("{other}"),
    };
    assert!(matches!(failure(Arc::new(|c| c.execute_batch("nonsense"))), HookFailure::Failed(_)));
    assert!(matches!(failure(Arc::new(|_| panic!("on purpose"))), HookFailure::Panicked));
    assert!(matches!(failure(Arc::new(|c| c.execute_batch("BEGIN"))), HookFailure::OpenTransaction));
    // A temporary trigger could delete in secret: the store reads the schema of the file only.
    let temporary = "PRAGMA temp_store = 2; CREATE TEMP TABLE t (v)";
    assert!(matches!(failure(Arc::new(move |c| c.execute_batch(temporary))), HookFailure::TemporaryObjects));
    assert_eq!(names(&path).len(), 0, "the new file was taken back");
    // What the hook has written is the user's.
    failure(Arc::new(|c| c.execute_batch("CREATE TABLE mine (v); nonsense")));
    assert_eq!(one::<i64>(&probe(&path), "SELECT count(*) FROM mine"), 0);
}

#[test]
fn a_hook_that_leaves_wal_mode_is_refused() {
    let (_dir, path) = folder();
    drop(open(&plan(&path)).unwrap());
    let error = refused(&hooked(&path, Arc::new(|c| c.execute_batch("PRAGMA journal_mode = DELETE"))));
    assert!(matches!(error, OpenError::WalRefused { .. }), "{error}");
}

#[test]
fn a_const_list_of_migrations_compiles() {
    const LIST: &[Migration] =
        &[FIRST, Migration::run(|tx| Ok(tx.execute_batch("INSERT INTO a (v) VALUES (1)")?))];
    let (_dir, path) = folder();
    assert_eq!(open(&with(&path, LIST)).unwrap().settings.user_version, 2);
}
