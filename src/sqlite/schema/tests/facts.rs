//! What coalescing is told of a table.

use rusqlite::functions::FunctionFlags;

use super::*;

const PARENT: &str = "CREATE TABLE p (id INTEGER PRIMARY KEY, n UNIQUE, free);";

fn watched(schema: &str) -> Vec<String> {
    columns_that(schema, |facts| facts.is_watched)
}

#[track_caller]
fn does_not_coalesce(schema: &str) {
    assert!(!facts(schema).coalesces, "{schema}");
}

#[test]
fn a_plain_table_coalesces_with_all_of_its_plain_columns() {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY, x INT, y TEXT NOT NULL, rev INTEGER);
                  CREATE INDEX i ON t (x, y DESC)";
    let expected = TableFacts {
        is_quiet: true,
        acts_on_itself: false,
        joins: true,
        coalesces: true,
        is_watched: vec![true, false, false, false],
        is_binary: vec![true; 4],
        can_be_omitted: vec![true, true, false, true],
        needs_savepoint: false,
        any_change_may_delete: false,
    };
    assert_eq!(facts(schema), expected);
}

#[test]
fn tables_of_every_kind_of_plain_key_coalesce() {
    for table in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, x)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY DESC, x)",
        "CREATE TABLE t (a TEXT, b BLOB, x, PRIMARY KEY (b, a)) WITHOUT ROWID",
        "CREATE TABLE t (id TEXT PRIMARY KEY, x ANY) STRICT, WITHOUT ROWID",
        "CREATE TABLE t (\"i d\" TEXT PRIMARY KEY, \"x\"\"y\" INT)",
    ] {
        assert!(facts(table).coalesces, "{table}");
    }
}

/// A row command on `t` may change other rows of it, too.
#[test]
fn a_table_acts_on_itself_by_what_its_triggers_and_keys_name() {
    let acts = |more: &str| {
        let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, x); CREATE TABLE o (x);";
        facts(&format!("{schema} {more}")).acts_on_itself
    };
    let index = "CREATE TRIGGER t_put AFTER INSERT ON t BEGIN INSERT INTO o VALUES (new.x); END;";
    assert!(!acts("") && !acts(index));
    assert!(acts("CREATE TRIGGER t_put AFTER INSERT ON t BEGIN INSERT INTO \"T\" (x) VALUES (1); END"));
    let back = "CREATE TRIGGER o_put AFTER INSERT ON o BEGIN UPDATE t SET x = 1; END;";
    assert!(!acts(back), "nothing sets it off");
    assert!(acts(&format!("{index} {back}")));
    let tree = "CREATE TABLE t (id INTEGER PRIMARY KEY, x REFERENCES t ON DELETE SET NULL)";
    assert!(facts(tree).acts_on_itself);
    assert!(!facts("CREATE TABLE t (id INTEGER PRIMARY KEY, x REFERENCES t)").acts_on_itself);
}

#[test]
fn a_trigger_ends_quiet() {
    for (when, table) in [("BEFORE UPDATE OF x", "t"), ("AFTER DELETE", "\"T\"")] {
        let facts = facts(&format!(
            "CREATE TABLE t (id TEXT PRIMARY KEY, x); CREATE TRIGGER g {when} ON {table} BEGIN SELECT 1; END"
        ));
        assert!(!facts.is_quiet && !facts.coalesces && facts.needs_savepoint && facts.any_change_may_delete);
    }
    let elsewhere = "CREATE TABLE t (id TEXT PRIMARY KEY, x); CREATE TABLE o (t);
                     CREATE TRIGGER t AFTER INSERT ON o BEGIN UPDATE t SET x = 1; END";
    assert!(facts(elsewhere).coalesces, "the other table is the one that is not quiet");
}

#[test]
fn a_conflict_clause_ends_quiet() {
    for column in [
        "x UNIQUE ON CONFLICT IGNORE",
        "x NOT NULL ON/**/conflict FAIL",
        "x, UNIQUE (x) ON CONFLICT ROLLBACK",
    ] {
        let facts = facts(&format!("CREATE TABLE t (id TEXT PRIMARY KEY, {column})"));
        assert!(!facts.is_quiet && !facts.coalesces && facts.needs_savepoint, "{column}");
        assert!(!facts.any_change_may_delete, "{column}");
    }
}

#[test]
fn an_action_of_a_foreign_key_onto_the_table_ends_quiet() {
    for action in
        ["DELETE CASCADE", "DELETE SET NULL", "DELETE SET DEFAULT", "UPDATE CASCADE", "UPDATE SET NULL"]
    {
        let other =
            format!("CREATE TABLE t (id TEXT PRIMARY KEY); CREATE TABLE c (t REFERENCES T ON {action})");
        let own = format!("CREATE TABLE t (id TEXT PRIMARY KEY, up REFERENCES t ON {action})");
        for schema in [other, own] {
            let facts = facts(&schema);
            assert!(!facts.is_quiet && !facts.coalesces && facts.needs_savepoint, "{schema}");
            assert_eq!(facts.any_change_may_delete, action.starts_with("UPDATE"), "{schema}");
        }
    }
    for action in ["", "ON DELETE RESTRICT", "ON UPDATE NO ACTION"] {
        let schema =
            format!("CREATE TABLE t (id TEXT PRIMARY KEY); CREATE TABLE c (t REFERENCES t {action})");
        assert!(facts(&schema).coalesces, "{schema}");
    }
    // What the parent's rows do to this table's is the parent's affair.
    assert!(
        facts(&format!("{PARENT} CREATE TABLE t (id TEXT PRIMARY KEY, p REFERENCES p ON DELETE CASCADE)"))
            .coalesces
    );
}

#[test]
fn a_key_that_is_not_compared_byte_for_byte_does_not_coalesce() {
    for table in [
        "CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY)",
        "CREATE TABLE t (id TEXT COLLATE rtrim PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE t (a, b COLLATE NOCASE, PRIMARY KEY (a, b))",
        "CREATE TABLE t (id, PRIMARY KEY (id COLLATE NOCASE))",
        "CREATE TABLE t (id PRIMARY KEY); CREATE UNIQUE INDEX i ON t (id COLLATE NOCASE)",
    ] {
        does_not_coalesce(table);
    }
    let mixed = "CREATE TABLE t (id TEXT PRIMARY KEY, mail TEXT COLLATE NOCASE, b COLLATE binary)";
    assert!(facts(mixed).coalesces, "another column's collation is no matter");
    assert_eq!(facts(mixed).is_binary, [true, false, true]);
}

#[test]
fn a_collation_of_the_application_is_not_binary() {
    let connection = Connection::open_in_memory().unwrap();
    connection.create_collation("own", |a, b| a.len().cmp(&b.len())).unwrap();
    connection.execute_batch("CREATE TABLE t (id TEXT PRIMARY KEY, x COLLATE own)").unwrap();
    assert_eq!(facts_of(&connection).is_binary, [true, false]);
}

#[test]
fn a_collation_that_this_connection_does_not_know_is_not_binary() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let maker = Connection::open(&path).unwrap();
    maker.create_collation("own", |a, b| a.cmp(b)).unwrap();
    maker.execute_batch("CREATE TABLE t (id TEXT PRIMARY KEY, x COLLATE own)").unwrap();
    assert_eq!(facts_of(&Connection::open(&path).unwrap()).is_binary, [true, false]);
}

#[test]
fn collations_are_read_in_every_encoding() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let schema =
            format!("PRAGMA encoding = '{encoding}'; CREATE TABLE t (id TEXT PRIMARY KEY, x COLLATE NOCASE)");
        assert_eq!(facts(&schema).is_binary, [true, false], "{encoding}");
    }
}

#[test]
fn a_revision_that_others_can_see_does_not_coalesce() {
    for columns in [
        "rev INTEGER CHECK (rev <> 2)",
        "rev INTEGER, g AS (rev + 1)",
        "rev INTEGER UNIQUE",
        "name, rev INTEGER, UNIQUE (name, rev)",
        "rev INTEGER REFERENCES t",
    ] {
        does_not_coalesce(&format!("CREATE TABLE t (id TEXT PRIMARY KEY, {columns})"));
    }
    does_not_coalesce(
        "CREATE TABLE t (id TEXT PRIMARY KEY, x, rev INTEGER); CREATE INDEX i ON t (x) WHERE rev > 1",
    );
    let strange = database("CREATE TABLE t (id TEXT PRIMARY KEY, \"re v\" INTEGER)");
    let shape = read_shape(&strange, "t", None, Some(("re v", RevisionKind::Sequence))).unwrap();
    assert!(!read_facts(&strange, &shape).unwrap().coalesces);
}

#[test]
fn functions_that_count_changes_stop_coalescing_wherever_they_stand() {
    for function in ["changes", "TOTAL_CHANGES", "last_insert_rowid"] {
        does_not_coalesce(&format!(
            "CREATE TABLE t (id TEXT PRIMARY KEY); CREATE TABLE o (n DEFAULT ({function}()))"
        ));
        does_not_coalesce(&format!("CREATE TABLE t (id TEXT PRIMARY KEY, x CHECK ({function}() < 9))"));
    }
}

#[test]
fn functions_of_the_application_stop_coalescing_where_they_are_called() {
    let connection = Connection::open_in_memory().unwrap();
    let flags = FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("own", 1, flags, |call| call.get::<i64>(0)).unwrap();
    // Stands in for a function of SQLite's own.
    connection.create_scalar_function("lower", 1, flags, |call| call.get::<i64>(0)).unwrap();
    for (coalesces, table) in [
        (false, "CREATE TABLE t (id TEXT PRIMARY KEY, x CHECK (OWN(x)))"),
        (false, "CREATE TABLE t (id TEXT PRIMARY KEY, x DEFAULT (own(1)))"),
        (false, "CREATE TABLE t (id TEXT PRIMARY KEY, x, g AS (\"own\"(x)))"),
        (false, "CREATE TABLE t (id TEXT PRIMARY KEY, x); CREATE INDEX i ON t (own(x))"),
        (false, "CREATE TABLE t (id TEXT PRIMARY KEY, x); CREATE INDEX i ON t (x) WHERE lower(x)"),
        (true, "CREATE TABLE t (id TEXT PRIMARY KEY, own INT)"),
        (true, "CREATE TABLE t (id TEXT PRIMARY KEY, x CHECK (upper(x)))"),
    ] {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS t; {table}")).unwrap();
        let facts = facts_of(&connection);
        assert_eq!((facts.coalesces, facts.joins, facts.is_quiet), (coalesces, coalesces, true), "{table}");
    }
}

#[test]
fn unique_columns_are_watched() {
    let schema =
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, b, c, d, e); CREATE UNIQUE INDEX i ON t (b, c);
                  CREATE INDEX j ON t (d)";
    assert_eq!(watched(schema), ["id", "a", "b", "c"]);
}

#[test]
fn the_primary_key_is_watched_beside_another_key() {
    let connection = database("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, x)");
    let shape = read_shape(&connection, "t", Some(&["name".to_owned()]), None).unwrap();
    let facts = read_facts(&connection, &shape).unwrap();
    assert!(facts.coalesces);
    assert_eq!(facts.is_watched, [true, true, false]);
}

#[test]
fn columns_that_a_computed_index_names_are_watched() {
    for index in [
        "INDEX i ON t (a) WHERE b > 0 AND [C] NOT NULL",
        "UNIQUE INDEX i ON t (a) WHERE b > c",
        "INDEX i ON t (a + b, c)",
        "INDEX i ON t (json_extract(a, '$.d'), \"b\", C)",
    ] {
        let schema = format!("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c, d1, e); CREATE {index}");
        assert_eq!(watched(&schema), ["id", "a", "b", "c"], "{index}");
        assert!(facts(&schema).needs_savepoint, "{index}");
        assert!(facts(&schema).coalesces, "{index}");
    }
}

#[test]
fn both_ends_of_foreign_keys_are_watched() {
    let child = format!(
        "{PARENT} CREATE TABLE t (id INTEGER PRIMARY KEY, a REFERENCES p, b, c, FOREIGN KEY (B) REFERENCES p (n))"
    );
    assert_eq!(watched(&child), ["id", "a", "b"]);
    let parent = "CREATE TABLE t (id INTEGER PRIMARY KEY, n, x); CREATE UNIQUE INDEX i ON t (n);
                  CREATE TABLE c (a REFERENCES t, b REFERENCES \"T\" (N))";
    assert_eq!(watched(parent), ["id", "n"]);
    // A parent key without a UNIQUE index is a mistake that SQLite reports later.
    assert_eq!(
        watched("CREATE TABLE t (id INTEGER PRIMARY KEY, n, x); CREATE TABLE c (a REFERENCES t (n))"),
        ["id", "n"]
    );
    assert_eq!(watched("CREATE TABLE t (id INTEGER PRIMARY KEY, up REFERENCES t, x)"), ["id", "up"]);
}

#[test]
fn columns_that_a_check_or_a_generated_column_names_are_watched() {
    assert_eq!(watched("CREATE TABLE t (id TEXT PRIMARY KEY, x CHECK (X > 0), y, z)"), ["id", "x"]);
    assert_eq!(watched("CREATE TABLE t (id TEXT PRIMARY KEY, x, y, z, CHECK (x < \"y\"))"), ["id", "x", "y"]);
    assert_eq!(
        watched("CREATE TABLE t (id TEXT PRIMARY KEY, x, y, g AS ([X] + 1) STORED)"),
        ["id", "x", "g"]
    );
    assert_eq!(watched("CREATE TABLE t (id TEXT PRIMARY KEY, x, y, PRIMARY_y)"), ["id"]);
}

#[test]
fn columns_that_can_be_spelled_in_more_than_one_way_are_watched() {
    assert_eq!(
        watched("CREATE TABLE t (id TEXT PRIMARY KEY, \"a b\", \u{e4}, \"1\", a_1, x$)"),
        ["id", "a b", "\u{e4}", "1", "x$"]
    );
}

#[test]
fn an_insert_can_leave_out_what_surely_gets_a_value() {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY, free, null_default DEFAULT NULL, number INT NOT NULL DEFAULT -1,
                  text DEFAULT 'it''s', at DEFAULT CURRENT_TIMESTAMP, missing NOT NULL,
                  gone NOT NULL DEFAULT NULL, computed DEFAULT (abs(-1)), g AS (1))";
    let omitted = ["id", "free", "null_default", "number", "text", "at"];
    assert_eq!(columns_that(schema, |facts| facts.can_be_omitted), omitted);
    let strict = "CREATE TABLE t (id TEXT PRIMARY KEY, free INT, wrong INT DEFAULT 'x') STRICT";
    assert_eq!(columns_that(strict, |facts| facts.can_be_omitted), ["free"]);
}

#[test]
fn savepoints_are_needed_where_a_failure_could_leave_something_behind() {
    let plain = "CREATE TABLE t (id TEXT PRIMARY KEY, x);";
    for (needed, schema) in [
        (false, plain.to_owned()),
        (false, format!("{plain} CREATE INDEX i ON t (x)")),
        (false, "CREATE TABLE t (id TEXT PRIMARY KEY, x CHECK (x > 0))".to_owned()),
        (true, format!("{plain} CREATE TABLE o (p REFERENCES o DEFERRABLE INITIALLY DEFERRED)")),
        (true, "CREATE TABLE t (id TEXT PRIMARY KEY, g AS (1))".to_owned()),
        (true, format!("{plain} CREATE INDEX i ON t (x) WHERE x > 0")),
        (true, format!("{plain} CREATE INDEX i ON t (abs(x))")),
    ] {
        assert_eq!(facts(&schema).needs_savepoint, needed, "{schema}");
    }
}

#[test]
fn replace_may_delete() {
    let plain = "CREATE TABLE t (id TEXT PRIMARY KEY, x);";
    for (may, schema) in [
        (false, plain.to_owned()),
        (false, format!("{plain} CREATE TABLE o (x UNIQUE ON CONFLICT REPLACE)")),
        (true, "CREATE TABLE t (id TEXT PRIMARY KEY, x UNIQUE ON CONFLICT REPLACE)".to_owned()),
        (true, "CREATE TABLE t (id TEXT PRIMARY KEY ON CONFLICT replace, x)".to_owned()),
        (true, format!("{plain} CREATE INDEX i ON t (replace(x, 'a', 'b'))")),
        (
            true,
            format!(
                "{plain} CREATE TABLE o (x); CREATE TRIGGER g AFTER INSERT ON o BEGIN REPLACE INTO t VALUES (1, 2); END"
            ),
        ),
    ] {
        assert_eq!(facts(&schema).any_change_may_delete, may, "{schema}");
    }
}

#[test]
fn facts_are_read_on_a_reader_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("CREATE TABLE t (id TEXT PRIMARY KEY, x COLLATE NOCASE, rev INTEGER)").unwrap();
    let reader = Connection::open_with_flags(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    assert_eq!(facts_of(&reader), facts_of(&writer));
}

/// One table whose name is not UTF-8, as old files may have it, made every row command on all the others fail.
#[test]
fn names_of_other_tables_need_not_be_utf8() {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY, x)";
    let connection = database(schema);
    connection
        .execute_batch(
            "CREATE TABLE other (x REFERENCES t (id)); CREATE INDEX of_other ON other (x); \
             PRAGMA writable_schema = on; \
             UPDATE sqlite_schema SET sql = CAST(replace(sql, 'other', CAST(x'22ff22' AS TEXT)) AS TEXT), \
                 name = CAST(x'ff' AS TEXT), tbl_name = CAST(x'ff' AS TEXT) WHERE name = 'other'; \
             UPDATE sqlite_schema SET sql = 'CREATE INDEX of_other ON ' || CAST(x'22ff22' AS TEXT) || ' (x)', \
                 tbl_name = CAST(x'ff' AS TEXT) WHERE name = 'of_other'; \
             PRAGMA writable_schema = reset",
        )
        .unwrap();
    assert_eq!(facts_of(&connection), facts(schema));
}
