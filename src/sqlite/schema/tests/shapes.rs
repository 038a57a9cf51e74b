//! What is read of a table that can be used.

use rusqlite::Connection;

use super::*;
use crate::row::{Affinity, ColumnShape, Revision};

fn names(shape: &TableShape) -> Vec<&str> {
    shape.columns.iter().map(|column| column.name.as_str()).collect()
}

fn key_names(shape: &TableShape) -> Vec<&str> {
    shape.key.iter().map(|column| shape.columns[*column].name.as_str()).collect()
}

#[test]
fn a_table_is_found_in_any_case_and_named_as_in_the_schema() {
    let connection = database("CREATE TABLE \"Ssh_Session\" (Id TEXT PRIMARY KEY, Rev INTEGER)");
    let shape = read_shape(&connection, "SSH_session", None, Some(("REV", RevisionKind::Sequence))).unwrap();
    assert_eq!(shape.name, "Ssh_Session");
    assert_eq!(names(&shape), ["Id", "Rev"]);
    assert_eq!(shape.revision, Some(Revision { column: 1, kind: RevisionKind::Sequence }));
    assert_eq!(shape.column("id"), Some(0));
}

#[test]
fn names_with_quotes_and_other_letters_are_read_as_they_are() {
    let connection = database(
        "CREATE TABLE \"a\"\"b 'c' [d] \u{e4}\" (\"k\"\"ey\" TEXT COLLATE NOCASE, [\u{65e5} \u{672c}] INT, \
         PRIMARY KEY (\"k\"\"ey\")) STRICT",
    );
    let shape = read_shape(&connection, "A\"B 'c' [D] \u{e4}", None, None).unwrap();
    assert_eq!(shape.name, "a\"b 'c' [d] \u{e4}");
    assert_eq!(names(&shape), ["k\"ey", "\u{65e5} \u{672c}"]);
    assert_eq!(key_names(&shape), ["k\"ey"]);
    let facts = read_facts(&connection, &shape).unwrap();
    assert_eq!((facts.is_binary, facts.is_watched), (vec![false, true], vec![true, true]));
    // Names are folded as SQLite folds them: only the letters of ASCII.
    assert!(matches!(
        read_shape(&connection, "A\"B 'c' [D] \u{c4}", None, None),
        Err(ShapeError::NoSuchTable { .. })
    ));
}

#[test]
fn columns_are_read_with_what_the_schema_says_of_them() {
    let shape = shape(
        "CREATE TABLE t (id TEXT PRIMARY KEY, n VarChar(9) NOT NULL DEFAULT 'x', bare, g INT AS (n) STORED)",
    );
    let column = |name: &str, declared_type: &str, affinity| ColumnShape {
        name: name.to_owned(),
        declared_type: declared_type.to_owned(),
        affinity,
        not_null: false,
        is_generated: false,
        default: None,
    };
    let expected = [
        column("id", "text", Affinity::Text),
        ColumnShape {
            not_null: true,
            default: Some("'x'".to_owned()),
            ..column("n", "varchar(9)", Affinity::Text)
        },
        column("bare", "", Affinity::Blob),
        ColumnShape { is_generated: true, ..column("g", "int", Affinity::Integer) },
    ];
    assert_eq!(shape.columns, expected);
    assert!(!shape.is_strict && !shape.key_is_rowid);
    assert_eq!(shape.rowid_name, Some("rowid"));
}

/// SQLite itself is the judge: it shows an affinity by what it stores.
#[test]
fn affinities_are_those_of_sqlite() {
    fn shown(connection: &Connection, sql: &str) -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
    let types = [
        "INT",
        "BIGINT",
        "integer",
        "CHARINT",
        "POINT",
        "FLOATING POINT",
        "VARCHAR(36)",
        "CLOB",
        "text",
        "BLOB",
        "",
        "blob text",
        "REAL",
        "DOUBLE PRECISION",
        "FLOAT",
        "blob real",
        "STRING",
        "UUID",
        "DATETIME",
        "BOOLEAN",
        "DECIMAL(10,5)",
        "ANY",
        "JSON",
        "realtext",
    ];
    for declared_type in types {
        let connection = database(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, x {declared_type});
             INSERT INTO t (x) VALUES ('12'), (12), (12.5), ('12.5');"
        ));
        let stored = shown(&connection, "SELECT typeof(x) FROM t ORDER BY id");
        let expected = match read_shape(&connection, "t", None, None).unwrap().columns[1].affinity {
            Affinity::Integer | Affinity::Numeric => ["integer", "integer", "real", "real"],
            Affinity::Real => ["real", "real", "real", "real"],
            Affinity::Text => ["text", "text", "text", "text"],
            Affinity::Blob => ["text", "integer", "real", "text"],
        };
        assert_eq!(stored, expected, "{declared_type}");
        // INTEGER and NUMERIC store alike; a CAST tells them apart.
        if stored[0] == "integer" {
            let cast = shown(&connection, &format!("SELECT typeof(CAST(12.5 AS {declared_type}))"));
            let is_integer = shape(&format!("CREATE TABLE t (id INTEGER PRIMARY KEY, x {declared_type})"))
                .columns[1]
                .affinity
                == Affinity::Integer;
            assert_eq!(cast[0] == "integer", is_integer, "{declared_type}");
        }
    }
}

#[test]
fn any_converts_nothing_in_a_strict_table_only() {
    let shape = shape("CREATE TABLE t (id INTEGER PRIMARY KEY, a ANY, i INT, r REAL) STRICT");
    let affinities: Vec<_> = shape.columns.iter().map(|column| column.affinity).collect();
    assert_eq!(affinities, [Affinity::Integer, Affinity::Blob, Affinity::Integer, Affinity::Real]);
    assert!(shape.is_strict && shape.key_is_rowid);
    assert_eq!(
        super::shape("CREATE TABLE t (id INT PRIMARY KEY, a ANY)").columns[1].affinity,
        Affinity::Numeric
    );
}

#[test]
fn the_key_is_the_primary_key_in_its_own_order() {
    let shape = shape("CREATE TABLE t (a, b, c, PRIMARY KEY (c, a))");
    assert_eq!(key_names(&shape), ["c", "a"]);
}

#[test]
fn only_a_true_alias_of_the_rowid_is_one() {
    for (is_alias, schema) in [
        (true, "CREATE TABLE t (id INTEGER PRIMARY KEY)"),
        (true, "CREATE TABLE t (id iNtEgEr PRIMARY KEY AUTOINCREMENT)"),
        (true, "CREATE TABLE t (x, id INTEGER, PRIMARY KEY (id DESC))"),
        (true, "CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT"),
        (false, "CREATE TABLE t (id INTEGER PRIMARY KEY DESC)"),
        (false, "CREATE TABLE t (id INT PRIMARY KEY)"),
        (false, "CREATE TABLE t (id BIGINT PRIMARY KEY)"),
        (true, "CREATE TABLE t (id \"INTEGER\" PRIMARY KEY)"),
        (false, "CREATE TABLE t (id INTEGER PRIMARY KEY) WITHOUT ROWID"),
        (false, "CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))"),
        (false, "CREATE TABLE t (id INTEGER UNIQUE, x PRIMARY KEY)"),
    ] {
        assert_eq!(shape(schema).key_is_rowid, is_alias, "{schema}");
        // SQLite's own word for it: a row that gives NULL gets a number.
        let connection = database(schema);
        let names = names(&shape(schema)).join(", ");
        let nulls = if names.contains(',') { "NULL, NULL" } else { "NULL" };
        let made = connection.execute(&format!("INSERT INTO t ({names}) VALUES ({nulls})"), []);
        let filled = made.is_ok()
            && connection.query_row("SELECT coalesce(id, 0) FROM t", [], |row| row.get::<_, i64>(0)) == Ok(1);
        assert_eq!(filled, is_alias, "{schema}");
    }
}

#[test]
fn the_rowid_goes_by_the_first_name_that_no_column_took() {
    for (name, columns) in [
        (Some("rowid"), "id TEXT PRIMARY KEY"),
        (Some("_rowid_"), "ROWID TEXT PRIMARY KEY"),
        (Some("oid"), "rowid INTEGER PRIMARY KEY, _RowId_"),
        (Some("rowid"), "oid TEXT PRIMARY KEY"),
        (None, "rowid TEXT PRIMARY KEY, oid, _rowid_"),
    ] {
        assert_eq!(shape(&format!("CREATE TABLE t ({columns})")).rowid_name, name, "{columns}");
    }
    assert_eq!(shape("CREATE TABLE t (id TEXT PRIMARY KEY) WITHOUT ROWID").rowid_name, None);
}

#[test]
fn a_unique_index_is_a_key_too() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c UNIQUE, UNIQUE (a, b))";
    let shape = shape_by(schema, &["B", "a"]).unwrap();
    assert_eq!(key_names(&shape), ["b", "a"], "in the order in which they are named");
    assert!(!shape.key_is_rowid);
    assert!(shape_by(schema, &["c"]).is_ok());
    assert!(shape_by(schema, &["id"]).unwrap().key_is_rowid);
    assert!(shape_by("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (a DESC)", &["a"]).is_ok());
    assert!(shape_by("CREATE TABLE t (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID", &["b", "a"]).is_ok());
}

/// An index that lets fewer rows in than the column tells apart is no harm.
#[test]
fn a_key_may_be_unique_by_a_wider_comparison() {
    assert!(shape("CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY)").key == [0]);
    assert!(shape_by("CREATE TABLE t (a); CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE)", &["a"]).is_ok());
}
