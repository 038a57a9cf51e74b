//! Changes of the schema that commands outlive, and others.

use super::*;
use crate::sqlite::schema::fit::still_fits;

const OLD: &str = "CREATE TABLE t (id TEXT PRIMARY KEY, x INT, rev INTEGER)";

fn with_revision(schema: &str) -> TableShape {
    let revision = Some(("rev", RevisionKind::Counter));
    read_shape(&database(schema), "t", None, revision).unwrap()
}

#[track_caller]
fn fits(new: &str) -> bool {
    still_fits(&with_revision(OLD), &with_revision(new))
}

#[test]
fn an_unchanged_table_fits() {
    assert!(fits(OLD));
    assert!(fits(
        "CREATE TABLE T (id TEXT PRIMARY KEY, x INT CHECK (x > 0), rev INTEGER); CREATE INDEX i ON t (x)"
    ));
}

#[test]
fn columns_added_at_the_end_fit() {
    for added in [
        "y",
        "y TEXT NOT NULL DEFAULT ''",
        "y AS (x + 1)",
        "y INT NOT NULL AS (x) STORED, z",
        "y DEFAULT NULL",
    ] {
        let schema = format!("CREATE TABLE t (id TEXT PRIMARY KEY, x INT, rev INTEGER, {added})");
        assert!(fits(&schema), "{added}");
        assert!(!still_fits(&with_revision(&schema), &with_revision(OLD)), "{added} was dropped");
    }
    let connection = database(OLD);
    let old = read_shape(&connection, "t", None, None).unwrap();
    connection.execute_batch("ALTER TABLE t ADD COLUMN y INT DEFAULT 5").unwrap();
    assert!(still_fits(&old, &read_shape(&connection, "t", None, None).unwrap()));
}

#[test]
fn a_new_column_that_needs_a_value_does_not_fit() {
    for added in ["y NOT NULL", "y NOT NULL DEFAULT NULL"] {
        assert!(
            !fits(&format!("CREATE TABLE t (id TEXT PRIMARY KEY, x INT, rev INTEGER, {added})")),
            "{added}"
        );
    }
}

#[test]
fn whatever_else_changes_does_not_fit() {
    for new in [
        "CREATE TABLE t (x INT, id TEXT PRIMARY KEY, rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, y INT, rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT, rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x INT NOT NULL, rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x INT DEFAULT 1, rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x INT AS (1), rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, y, x INT, rev INTEGER)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x INT, rev INTEGER, rowid)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x INT, rev INTEGER) WITHOUT ROWID",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x INT, rev INTEGER) STRICT",
        "CREATE TABLE t (id TEXT, x INT, rev INTEGER, PRIMARY KEY (id, x))",
        "CREATE TABLE t (id TEXT, x INT PRIMARY KEY, rev INTEGER)",
    ] {
        assert!(!fits(new), "{new}");
    }
}

#[test]
fn another_table_or_revision_does_not_fit() {
    let old = with_revision(OLD);
    assert!(!still_fits(&old, &TableShape { name: "u".to_owned(), ..old.clone() }));
    assert!(!still_fits(&old, &TableShape { revision: None, ..old.clone() }));
    let other = read_shape(&database(OLD), "t", None, Some(("rev", RevisionKind::Sequence))).unwrap();
    assert!(!still_fits(&old, &other));
}

#[test]
fn a_key_that_became_the_rowid_does_not_fit() {
    let old = shape("CREATE TABLE t (id INTEGER PRIMARY KEY DESC)");
    assert!(!still_fits(&old, &shape("CREATE TABLE t (id INTEGER PRIMARY KEY)")));
}
