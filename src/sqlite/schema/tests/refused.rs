//! Tables, keys and revisions that are refused.

use super::*;
use crate::sqlite::ENGINE_TABLE;
use crate::sqlite::schema::error::NoTable;

#[track_caller]
fn refused_by(schema: &str, key: &[&str]) -> ShapeError {
    shape_by(schema, key).unwrap_err()
}

#[track_caller]
fn refused_revision(schema: &str, column: &str) -> ShapeError {
    read_shape(&database(schema), "t", None, Some((column, RevisionKind::Counter))).unwrap_err()
}

#[test]
fn what_is_not_there_is_no_table() {
    let connection = database("CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE INDEX i ON t (id)");
    for name in ["absent", "i", "", "t\0x", "main.t", "\"t\""] {
        let error = read_shape(&connection, name, None, None).unwrap_err();
        assert!(matches!(&error, ShapeError::NoSuchTable { table } if table == name), "{name:?}: {error:?}");
    }
}

#[test]
fn what_is_no_ordinary_table_is_refused_by_its_kind() {
    let connection = database(&format!(
        "CREATE TABLE {ENGINE_TABLE} (id INTEGER PRIMARY KEY);
         CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT);
         CREATE VIEW v AS SELECT * FROM t;
         CREATE VIRTUAL TABLE f USING fts5(x);
         CREATE VIRTUAL TABLE r USING rtree(id, low, high);"
    ));
    for (name, kind) in [
        ("v", NoTable::View),
        ("f", NoTable::Virtual),
        ("R", NoTable::Virtual),
        ("f_data", NoTable::Shadow),
        ("r_node", NoTable::Shadow),
        ("sqlite_sequence", NoTable::Sqlites),
        ("SQLITE_schema", NoTable::Sqlites),
        ("sqlite_master", NoTable::Sqlites),
        (ENGINE_TABLE, NoTable::Engines),
        ("Walwright_Sequence", NoTable::Engines),
    ] {
        let error = read_shape(&connection, name, None, None).unwrap_err();
        let ShapeError::NotATable { table, what } = &error else { panic!("{name}: {error:?}") };
        assert_eq!((table.as_str(), *what), (name, kind));
    }
}

#[test]
fn a_table_without_a_primary_key_needs_a_named_key() {
    let error = read_shape(&database("CREATE TABLE t (a UNIQUE)"), "t", None, None).unwrap_err();
    assert!(matches!(&error, ShapeError::NoKey { table } if table == "t"), "{error:?}");
    assert!(matches!(refused_by("CREATE TABLE t (a UNIQUE)", &[]), ShapeError::NoKey { .. }));
}

#[test]
fn a_key_that_more_rows_can_share_is_refused() {
    for (schema, key) in [
        ("CREATE TABLE t (a PRIMARY KEY, b)", &["b"][..]),
        ("CREATE TABLE t (a, b, PRIMARY KEY (a, b))", &["a"]),
        ("CREATE TABLE t (a PRIMARY KEY, b)", &["a", "b"]),
        ("CREATE TABLE t (a PRIMARY KEY, b)", &["a", "A"]),
        ("CREATE TABLE t (a, b); CREATE INDEX i ON t (a)", &["a"]),
        ("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (a) WHERE b = 1", &["a"]),
        ("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (a + 0)", &["a"]),
        ("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (a, b + 0)", &["a"]),
        // The index lets "a" and "A" in, and the column finds both.
        ("CREATE TABLE t (a COLLATE NOCASE); CREATE UNIQUE INDEX i ON t (a COLLATE BINARY)", &["a"]),
        ("CREATE TABLE t (a COLLATE NOCASE, PRIMARY KEY (a COLLATE RTRIM))", &["a"]),
    ] {
        let error = refused_by(schema, key);
        let ShapeError::KeyIsNotUnique { columns } = &error else { panic!("{schema}: {error:?}") };
        assert_eq!(columns, key, "{schema}");
    }
}

#[test]
fn a_primary_key_that_finds_two_rows_is_refused() {
    let schema = "CREATE TABLE t (a TEXT COLLATE NOCASE, PRIMARY KEY (a COLLATE BINARY));
                  INSERT INTO t VALUES ('a'), ('A')";
    let connection = database(schema);
    let found: i64 =
        connection.query_row("SELECT count(*) FROM t WHERE a = 'a'", [], |row| row.get(0)).unwrap();
    assert_eq!(found, 2);
    assert!(matches!(read_shape(&connection, "t", None, None), Err(ShapeError::KeyIsNotUnique { .. })));
}

#[test]
fn a_key_column_that_nobody_can_write_is_refused() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, g AS (a + 1) UNIQUE)";
    assert!(matches!(refused_by(schema, &["g"]), ShapeError::KeyIsGenerated { column } if column == "g"));
}

#[test]
fn columns_that_are_not_there_are_named() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, a)";
    assert!(matches!(refused_by(schema, &["b"]), ShapeError::UnknownColumn { column } if column == "b"));
    assert!(matches!(refused_by(schema, &["rowid"]), ShapeError::UnknownColumn { .. }));
    assert!(
        matches!(refused_revision(schema, "rev"), ShapeError::UnknownColumn { column } if column == "rev")
    );
}

#[test]
fn a_revision_column_must_hold_integers_and_be_written() {
    for column in ["rev", "rev TEXT", "rev REAL", "rev NUMERIC", "rev INTEGER AS (id)"] {
        let error = refused_revision(&format!("CREATE TABLE t (id TEXT PRIMARY KEY, {column})"), "REV");
        assert!(matches!(&error, ShapeError::RevisionNotInteger { column } if column == "REV"), "{error:?}");
    }
    let strict = "CREATE TABLE t (id TEXT PRIMARY KEY, rev ANY) STRICT";
    assert!(matches!(refused_revision(strict, "rev"), ShapeError::RevisionNotInteger { .. }));
}

#[test]
fn a_revision_column_is_not_part_of_a_key() {
    let schema = "CREATE TABLE t (id TEXT UNIQUE, rev INTEGER, PRIMARY KEY (id, rev))";
    assert!(matches!(refused_revision(schema, "rev"), ShapeError::RevisionInKey { .. }));
    let key = ["id".to_owned()];
    let by_other_key = read_shape(&database(schema), "t", Some(&key), Some(("rev", RevisionKind::Counter)));
    assert!(matches!(by_other_key, Err(ShapeError::RevisionInKey { .. })));
}

#[test]
fn errors_say_what_is_wrong() {
    let text = |error: ShapeError| error.into_table_error("t").to_string();
    let keyless = "CREATE TABLE t (a, b)";
    assert!(text(refused_by(keyless, &[])).starts_with("the table t has no primary key"));
    assert!(text(refused_by(keyless, &["a", "b"])).contains("(a, b)"));
    let view = read_shape(&database("CREATE VIEW t AS SELECT 1"), "t", None, None).unwrap_err();
    assert!(text(view).starts_with("t is a view"));
}
