//! Filters as SQL, and what SQLite makes of it.

use rusqlite::{Connection, params_from_iter};

use super::*;
use crate::row::{Affinity, ColumnShape};
use crate::sqlite::row_value::Bound;

fn table() -> TableShape {
    let column = |name: &str| ColumnShape {
        name: name.to_owned(),
        declared_type: String::new(),
        affinity: Affinity::Blob,
        not_null: false,
        is_generated: false,
        default: None,
    };
    TableShape {
        name: "t".to_owned(),
        columns: ["id", "a", "text"].map(column).into(),
        key: vec![0],
        primary_key: vec![0],
        key_is_rowid: true,
        rowid_column: Some(0),
        rowid_name: Some("rowid"),
        is_strict: false,
        revision: None,
    }
}

fn sql_of(filter: Filter) -> String {
    filter.condition(&table()).unwrap().sql
}

fn error_of(filter: Filter) -> ReadError {
    filter.condition(&table()).unwrap_err()
}

const NONE: [i64; 0] = [];

/// The ids of the rows that meet the filter.
fn found(connection: &Connection, filter: Filter) -> Vec<i64> {
    let condition = filter.condition(&table()).unwrap();
    let mut statement =
        connection.prepare(&format!("SELECT id FROM t WHERE ({}) ORDER BY id", condition.sql)).unwrap();
    let params = params_from_iter(condition.params.iter().map(Bound));
    statement.query_map(params, |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn conditions_keep_to_themselves() {
    let one = || Filter::sql("a = 1 OR a = 2 -- or so", ());
    assert_eq!(sql_of(one()), "(a = 1 OR a = 2 -- or so\n)");
    assert_eq!(
        sql_of(one().and(Filter::eq("A", 3)).and(Filter::is_null("text")).or(Filter::eq("id", None::<i64>))),
        "(((a = 1 OR a = 2 -- or so\n) AND \"t\".\"a\" = ? AND \"t\".\"text\" IS NULL) OR \"t\".\"id\" IS NULL)"
    );
    let both = Filter::eq("a", 1).or(Filter::eq("a", 2)).and(Filter::eq("a", 3).or(Filter::eq("a", 4)));
    let condition = both.condition(&table()).unwrap();
    assert_eq!(condition.params, [1, 2, 3, 4].map(Value::Integer));
}

#[test]
fn what_is_wrong_is_said_by_kind() {
    let unknown = error_of(Filter::eq("a", 1).and(Filter::contains("absent", "x")));
    assert!(
        matches!(&unknown, ReadError::UnknownColumn { table, column } if table == "t" && column == "absent")
    );
    assert_eq!(unknown.to_string(), "table t has no column absent");
    assert!(!unknown.is_retryable());
    for filter in [Filter::sql("1) OR (1", ()), Filter::sql("a = ?", ()), Filter::sql("a = 1", (2,))] {
        assert!(matches!(error_of(filter), ReadError::InvalidFilter { .. }));
    }
    let named = |filter| match error_of(filter) {
        ReadError::InvalidValue(error) => (error.position, error.name),
        other => panic!("{other}"),
    };
    assert_eq!(named(Filter::eq("a", f64::NAN)), (1, Some("a".to_owned())));
    assert_eq!(named(Filter::any_of("a", [1.0, f64::NAN])), (2, Some("a".to_owned())));
    assert_eq!(named(Filter::sql("a IN (?, ?)", (1, u64::MAX))), (2, None));

    let deep = |depth| {
        (0..depth).fold(Filter::eq("a", 1), |deep, _| Filter::eq("a", 2).or(Filter::eq("a", 3).and(deep)))
    };
    assert!(deep(50).condition(&table()).is_ok());
    assert!(matches!(error_of(deep(100_000)), ReadError::InvalidFilter { .. }));
    let long = (0..500).fold(Filter::eq("a", 0), |long, a| long.or(Filter::eq("a", a)));
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, a, text)").unwrap();
    assert_eq!(found(&connection, long), NONE);
    assert_eq!(found(&connection, deep(50)), NONE);
}

#[test]
fn debug_shows_no_values() {
    let filter =
        Filter::eq("a", "secret").and(Filter::sql("a = 'secret'", ())).or(Filter::contains("a", "secret"));
    let shown = format!("{filter:?}");
    assert!(!shown.contains("secret") && shown.contains("\"a\""), "{shown}");
}

/// Lists are sent in one of two ways; nobody can tell which.
#[test]
fn a_long_list_finds_what_a_short_one_finds() {
    let values: Vec<Value> = vec![
        Value::Null,
        i64::MIN.into(),
        i64::MAX.into(),
        0.into(),
        0.1.into(),
        1e300.into(),
        f64::INFINITY.into(),
        "".into(),
        "it's \"quoted\" \\ \n\u{1}\u{7f} é 🦀".into(),
        "a\0b".into(),
        "12".into(),
        "012".into(),
        Value::Blob(vec![]),
        Value::Blob(vec![0, 0xff]),
        Value::Blob(b"12".to_vec()),
    ];
    for declared in ["", "TEXT", "INTEGER", "REAL", "BLOB", "TEXT COLLATE NOCASE"] {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(&format!("CREATE TABLE t (id INTEGER PRIMARY KEY, a {declared}, text)"))
            .unwrap();
        for value in &values {
            connection.execute("INSERT INTO t (a) VALUES (?1)", [Bound(value)]).unwrap();
        }
        let others: Vec<Value> = (1_000_000..1_040_000).map(Value::from).collect();
        for value in values.iter().cloned().chain([12.into(), "IT'S".into()]) {
            // SQLite itself rounds such an integer for a list, and does not for a single value.
            if declared == "REAL" && value == Value::Integer(i64::MAX) {
                continue;
            }
            let short = found(&connection, Filter::any_of("a", [value.clone()]));
            let with_others = others.iter().chain([&value]);
            assert_eq!(
                found(&connection, Filter::any_of("a", with_others)),
                short,
                "{value:?} in {declared:?}"
            );
            assert_eq!(found(&connection, Filter::eq("a", &value)), short, "{value:?} in {declared:?}");
        }
        let all = found(&connection, Filter::any_of("a", others.iter().chain(&values)));
        assert_eq!(all.len(), values.len());
        assert_eq!(found(&connection, Filter::any_of("a", Vec::<i64>::new())), NONE);
    }
    let reals = (0..10_001).map(|number| f64::from(number) + 0.5);
    assert!(matches!(error_of(Filter::any_of("a", reals)), ReadError::InvalidFilter { .. }));
}

/// A chain of more than 1,000 conditions was too deep for SQLite, which said so only when the read ran.
#[test]
fn a_long_chain_is_no_deep_one() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a, text); INSERT INTO t (id) VALUES (1), (4999), (7000)",
        )
        .unwrap();
    let chain = |join: fn(Filter, Filter) -> Filter, sql| {
        (1..5000_i64).map(|id| Filter::sql(sql, (id,))).reduce(join).unwrap()
    };
    assert_eq!(found(&connection, chain(Filter::or, "id = ?")), [1, 4999]);
    assert_eq!(found(&connection, chain(Filter::and, "id >= ?")), [4999, 7000]);
}
