//! What the authorizer is asked, and when.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::bench::memory;

/// The tables for whose rows a delete was asked about, in order.
type Asked = Arc<Mutex<Vec<String>>>;

fn listen(connection: &mut Connection) -> Asked {
    let asked = Asked::default();
    let note = asked.clone();
    connection
        .authorizer(Some(move |context: AuthContext<'_>| {
            if let AuthAction::Delete { table_name } = context.action {
                note.lock().unwrap().push(table_name.to_owned());
            }
            Authorization::Allow
        }))
        .unwrap();
    asked
}

fn deletes_of(schema: &str, sql: &str) -> Vec<String> {
    let mut connection = memory();
    connection.execute_batch("PRAGMA foreign_keys=ON; INSERT INTO t VALUES (1, 1), (2, 2)").unwrap();
    connection.execute_batch(schema).unwrap();
    let asked = listen(&mut connection);
    connection.execute_batch(sql).unwrap();
    std::mem::take(&mut *asked.lock().unwrap())
}

/// `Guard::note`: these deletes are seen.
#[test]
fn deletes_are_asked_about_wherever_they_stand() {
    let bell = "CREATE TABLE bell (id);
        CREATE TRIGGER ring AFTER INSERT ON bell BEGIN DELETE FROM t WHERE id = new.id; END";
    let family = "CREATE TABLE child (id, parent INTEGER REFERENCES t ON DELETE CASCADE);
        INSERT INTO child VALUES (1, 1)";
    assert_eq!(deletes_of("", "DELETE FROM t WHERE id = 1"), ["t"]);
    assert_eq!(deletes_of("", "DELETE FROM t"), ["t"], "also when SQLite empties the whole table at once");
    assert_eq!(deletes_of("", "WITH gone (id) AS (VALUES (1)) DELETE FROM t WHERE id IN gone"), ["t"]);
    assert_eq!(deletes_of(bell, "INSERT INTO bell VALUES (1)"), ["t"]);
    let cascade = deletes_of(family, "DELETE FROM t WHERE id = 1");
    assert_eq!(cascade, ["t", "child"]);
    assert!(deletes_of("", "DROP TABLE t").contains(&"sqlite_master".to_owned()));
    assert_eq!(deletes_of("", "UPDATE t SET v = 9 WHERE id = 1"), [] as [&str; 0]);
}

/// `SchemaFacts::mentions_replace` and the word in the text make up for this.
#[test]
fn rows_that_replace_takes_away_are_not_asked_about() {
    let nothing: [&str; 0] = [];
    assert_eq!(deletes_of("", "INSERT OR REPLACE INTO t VALUES (9, 1)"), nothing);
    assert_eq!(deletes_of("", "REPLACE INTO t VALUES (9, 1)"), nothing);
    assert_eq!(deletes_of("", "UPDATE OR REPLACE t SET v = 1 WHERE id = 2"), nothing);
    let column = "CREATE TABLE only (v UNIQUE ON CONFLICT REPLACE); INSERT INTO only VALUES (1)";
    assert_eq!(deletes_of(column, "INSERT INTO only VALUES (1)"), nothing);
    let trigger = "CREATE TABLE bell (id, v); CREATE TRIGGER ring AFTER INSERT ON bell
        BEGIN INSERT OR REPLACE INTO t VALUES (new.id, new.v); END";
    assert_eq!(deletes_of(trigger, "INSERT INTO bell VALUES (9, 1)"), nothing);
}

/// `SessionState::remember`: what a statement in the cache does has to be known from before.
#[test]
fn a_statement_that_is_prepared_is_not_asked_about_again_until_it_is_prepared_anew() {
    let mut connection = memory();
    let asked = listen(&mut connection);
    let count = || asked.lock().unwrap().len();
    let sql = "DELETE FROM t WHERE id = ?1";
    connection.prepare_cached(sql).unwrap().execute([1]).unwrap();
    let first = count();
    assert!(first > 0);
    connection.prepare_cached(sql).unwrap().execute([2]).unwrap();
    assert_eq!(count(), first, "it came out of the cache");
    connection.execute_batch("CREATE TABLE other (id)").unwrap();
    let before = count();
    let mut cached = connection.prepare_cached(sql).unwrap();
    assert_eq!(count(), before, "still");
    cached.execute([3]).unwrap();
    assert!(count() > before, "SQLite prepared it anew in its step");
}

/// `Guard::install`: the authorizer stays, and a flag switches it.
#[test]
fn setting_an_authorizer_expires_every_statement() {
    let mut connection = memory();
    let asked = listen(&mut connection);
    connection.prepare_cached("DELETE FROM t").unwrap().execute([]).unwrap();
    let first = asked.lock().unwrap().len();
    let again = listen(&mut connection);
    connection.prepare_cached("DELETE FROM t").unwrap().execute([]).unwrap();
    assert_eq!(asked.lock().unwrap().len(), first);
    assert!(!again.lock().unwrap().is_empty(), "it was prepared anew");
}

/// `refused_pragma` and `refusal`: transactions, savepoints and settings are asked about.
#[test]
fn what_outlives_a_call_is_asked_about() {
    let mut connection = memory();
    connection
        .authorizer(Some(|context: AuthContext<'_>| match context.action {
            AuthAction::Transaction { .. }
            | AuthAction::Savepoint { .. }
            | AuthAction::Attach { .. }
            | AuthAction::CreateTempTable { .. }
            | AuthAction::Pragma { .. } => Authorization::Deny,
            _ => Authorization::Allow,
        }))
        .unwrap();
    for sql in [
        "BEGIN",
        "COMMIT",
        "END",
        "ROLLBACK",
        "SAVEPOINT a",
        "RELEASE a",
        "ROLLBACK TO a",
        "ATTACH ':memory:' AS more",
        "CREATE TEMP TABLE u (id)",
        "PRAGMA foreign_keys=OFF",
        "SELECT * FROM pragma_foreign_keys",
    ] {
        assert!(connection.execute_batch(sql).is_err(), "{sql}");
    }
}

/// `Session` keeps users' SQL out of the engine's statements: a statement that is cached asks nobody.
#[test]
fn a_cached_commit_runs_whatever_the_authorizer_would_say() {
    let mut connection = memory();
    let users = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = users.clone();
    connection
        .authorizer(Some(move |context: AuthContext<'_>| {
            let denied = matches!(context.action, AuthAction::Transaction { .. })
                && flag.load(std::sync::atomic::Ordering::Relaxed);
            if denied { Authorization::Deny } else { Authorization::Allow }
        }))
        .unwrap();
    connection.execute_batch("BEGIN").unwrap();
    connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    users.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(connection.execute_batch("COMMIT").is_err());
    connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    assert!(connection.is_autocommit());
}
