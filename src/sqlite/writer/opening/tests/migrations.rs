//! Migrations.

use rusqlite::Transaction;

use super::*;
use crate::error::{ClosureError, MigrationFailure};

const SECOND: Migration = Migration::run(|tx| {
    tx.execute("INSERT INTO a (v) VALUES (?1)", ["made"])?;
    Ok(())
});

fn version(path: &Path) -> i64 {
    one(&probe(path), "PRAGMA user_version")
}

#[track_caller]
fn failure(plan: &OpenPlan, at: usize) -> MigrationFailure {
    match refused(plan) {
        OpenError::Migration { index, failure, .. } => {
            assert_eq!(index, at);
            failure
        }
        other => panic!("{other}"),
    }
}

#[test]
fn each_is_applied_once_and_nothing_is_written_when_up_to_date() {
    let (_dir, path) = folder();
    let opened = open(&with(&path, &[FIRST])).unwrap();
    assert_eq!((opened.settings.user_version, opened.settings.migrations_applied), (1, 1));
    drop(opened);
    let opened = open(&with(&path, &[FIRST, SECOND])).unwrap();
    assert_eq!((opened.settings.user_version, opened.settings.migrations_applied), (2, 1));
    drop(opened);
    let mut opened = open(&with(&path, &[FIRST, SECOND])).unwrap();
    assert_eq!(one::<i64>(&opened.connection, "SELECT count(*) FROM a"), 1);
    let changes = opened.connection.total_changes();
    let patience = Patience::new(Duration::ZERO);
    let applied =
        migrate::migrate(&with(&path, &[FIRST, SECOND]), &path, &mut opened.connection, None, &patience);
    assert_eq!((applied.unwrap(), opened.connection.total_changes()), (0, changes));
}

#[test]
fn an_adopted_database_gets_them_from_the_first() {
    let (_dir, path) = folder();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE old (v); INSERT INTO old VALUES (1)")
        .unwrap();
    let plan = OpenPlan { application_id: Some(77), ..with(&path, &[FIRST]) };
    let opened = open(&plan).unwrap();
    assert_eq!(one::<i64>(&opened.connection, "SELECT count(*) FROM old"), 1);
    assert_eq!((opened.settings.application_id, opened.settings.user_version), (77, 1));
}

#[test]
fn one_that_fails_is_rolled_back_and_those_before_it_stay() {
    let (_dir, path) = folder();
    let bad = Migration::sql("CREATE TABLE b (v); INSERT INTO nowhere VALUES (1)");
    assert!(matches!(failure(&with(&path, &[FIRST, bad]), 1), MigrationFailure::Sql(_)));
    assert_eq!(version(&path), 1);
    assert_eq!(one::<i64>(&probe(&path), "SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);

    // Alone it leaves nothing: the file was this opening's and nobody has written to it.
    let other = path.with_file_name("sub").join("b.db");
    let plan = OpenPlan { create_parents: true, ..with(&other, &[bad]) };
    failure(&plan, 0);
    assert!(!other.parent().unwrap().exists());
}

#[test]
fn panics_and_errors_of_functions_are_errors_of_opening() {
    let (_dir, path) = folder();
    let panics = Migration::run(|_| panic!("on purpose"));
    assert!(matches!(failure(&with(&path, &[FIRST, panics]), 1), MigrationFailure::Panicked));
    let fails = Migration::run(|_| Err(ClosureError::message("secret value")));
    let error = refused(&with(&path, &[FIRST, fails]));
    assert!(!error.to_string().contains("secret"));
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("secret"));
    let sqlite = Migration::run(|tx| Ok(tx.execute_batch("nonsense")?));
    assert!(matches!(failure(&with(&path, &[FIRST, sqlite]), 1), MigrationFailure::Sql(_)));
    assert_eq!(version(&path), 1);
}

#[test]
fn none_can_end_its_transaction() {
    let (_dir, path) = folder();
    drop(open(&with(&path, &[FIRST])).unwrap());
    fn stubborn(tx: &Transaction<'_>) -> Result<(), ClosureError> {
        tx.execute_batch("INSERT INTO a (v) VALUES ('half')")?;
        let _ = tx.execute_batch("COMMIT; BEGIN");
        Ok(())
    }
    for migration in [
        Migration::sql("INSERT INTO a (v) VALUES ('half'); COMMIT;"),
        Migration::sql("BEGIN; INSERT INTO a (v) VALUES ('half'); COMMIT;"),
        Migration::sql("INSERT INTO a (v) VALUES ('half'); ROLLBACK;"),
        Migration::run(stubborn),
        Migration::run(|tx| {
            tx.execute_batch("INSERT INTO a VALUES (1, 'half')")?;
            let _ = tx.execute_batch("INSERT OR ROLLBACK INTO a VALUES (1, 'half')");
            Ok(())
        }),
    ] {
        let failure = failure(&with(&path, &[FIRST, migration]), 1);
        assert!(matches!(failure, MigrationFailure::EndedTransaction), "{failure:?}");
        assert_eq!(version(&path), 1);
        assert_eq!(one::<i64>(&probe(&path), "SELECT count(*) FROM a"), 0, "{migration:?}");
    }
    // Savepoints are its own affair.
    let nested = Migration::sql("SAVEPOINT s; INSERT INTO a (v) VALUES ('whole'); RELEASE s");
    open(&with(&path, &[FIRST, nested])).unwrap();
}

const FAMILY: Migration = Migration::sql(
    "CREATE TABLE parent (id INTEGER PRIMARY KEY);
     CREATE TABLE child (p INTEGER REFERENCES parent ON DELETE CASCADE);
     INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1), (1);",
);

#[test]
fn a_parent_table_can_be_rebuilt_without_losing_its_children() {
    let (_dir, path) = folder();
    let rebuild = Migration::sql(
        "CREATE TABLE fresh (id INTEGER PRIMARY KEY, extra TEXT);
         INSERT INTO fresh (id) SELECT id FROM parent; DROP TABLE parent; ALTER TABLE fresh RENAME TO parent;",
    );
    let opened = open(&with(&path, &[FAMILY, rebuild])).unwrap();
    assert_eq!(one::<i64>(&opened.connection, "SELECT count(*) FROM child"), 2);
    opened.connection.execute("DELETE FROM parent", []).unwrap();
    assert_eq!(one::<i64>(&opened.connection, "SELECT count(*) FROM child"), 0, "enforced again");
}

#[test]
fn one_that_leaves_orphans_is_refused() {
    let (_dir, path) = folder();
    let careless = Migration::sql("DELETE FROM parent");
    match failure(&with(&path, &[FAMILY, careless]), 1) {
        MigrationFailure::ForeignKeys { table, parent, rows } => {
            assert_eq!((table.as_str(), parent.as_str(), rows), ("child", "parent", 2));
        }
        other => panic!("{other}"),
    }
    assert_eq!(one::<i64>(&probe(&path), "SELECT count(*) FROM parent"), 1);
}

#[test]
fn what_a_function_leaves_on_the_connection_does_not_stay() {
    let (_dir, path) = folder();
    let messy = Migration::run(|tx| {
        tx.execute_batch(
            "CREATE TEMP TABLE t (v); ATTACH ':memory:' AS other; PRAGMA cache_size = 7;
             PRAGMA recursive_triggers = 1",
        )?;
        Ok(())
    });
    let opened = open(&with(&path, &[messy])).unwrap();
    let connection = &opened.connection;
    assert_eq!(one::<i64>(connection, "SELECT count(*) FROM sqlite_temp_schema"), 0);
    assert_eq!(one::<i64>(connection, "SELECT count(*) FROM pragma_database_list WHERE name = 'other'"), 0);
    assert_eq!(settings::read(connection, "recursive_triggers").unwrap(), 0);
    assert_eq!(settings::read(connection, "cache_size").unwrap(), -4096);
    // Its guard is gone as well.
    connection.execute_batch("BEGIN; COMMIT").unwrap();
}
