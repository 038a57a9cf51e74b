//! C39. A search for `_` or `%` found everything, and a long list of ids failed with "too many SQL variables"
//! (rotki/rotki#9505, go-xorm/xorm#988): the text went into LIKE unescaped, each id into a parameter of its own.
//!
//! Must hold: filters take every character of a text literally, and say which letters are the same to them; lists
//! of ids have any length.

use serde::{Deserialize, Serialize};
use walwright::{Filter, IntoFilterParams, Migration, ReadError, Row, Store, Table, Value};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::LIMIT;

const NAMES: &[Migration] = &[Migration::sql(
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
     CREATE TABLE pair (a TEXT NOT NULL, b INTEGER NOT NULL, v TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;",
)];

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Name {
    id: i64,
    text: String,
}

fn open(scratch: &Scratch) -> (Store, Table<Name>) {
    let store = Store::builder(scratch.join("names.db")).migrations(NAMES).readers(1).open().wait().unwrap();
    let names = store.table::<Name>("name").open().wait().unwrap();
    (store, names)
}

#[test]
fn c39_every_character_finds_itself() {
    const TEXTS: [&str; 14] = [
        "a_b", "axb", "a%b", "a\\b", "a*b", "a?b", "a[b", "a]b", "a'b", "a\"b", "a`b", "a;b", "a--b", "a\0b",
    ];
    let scratch = Scratch::new();
    let (store, names) = open(&scratch);
    for (id, text) in TEXTS.iter().enumerate() {
        store.execute("INSERT INTO name VALUES (?1, ?2)", (id as i64, *text)).wait().unwrap();
    }
    let found = |filter: Filter| -> Vec<String> {
        names.page().filter(filter).wait().unwrap().rows.into_iter().map(|name| name.text).collect()
    };
    for text in TEXTS {
        assert_eq!(found(Filter::contains("text", text)), [text]);
        assert_eq!(found(Filter::contains("text", &text[1..])), [text]);
        assert_eq!(found(Filter::starts_with("text", text)), [text]);
        assert_eq!(found(Filter::starts_with("text", &text[..text.len() - 1])), [text]);
        assert_eq!(found(Filter::contains_exactly("text", &text[1..])), [text]);
        assert_eq!(found(Filter::starts_with_exactly("text", &text[..2])).len(), 1);
        assert_eq!(found(Filter::eq("text", text)), [text]);
        assert_eq!(found(Filter::any_of("text", [text, "absent"])), [text]);
    }
    assert_eq!(found(Filter::contains("text", "")).len(), TEXTS.len());
    // The case rule: A to Z are the same as a to z, and no other letters are.
    assert_eq!(found(Filter::contains("text", "XB")), ["axb"]);
    assert_eq!(found(Filter::contains_exactly("text", "XB")), [""; 0]);
    store.execute("INSERT INTO name VALUES (100, 'é')", ()).wait().unwrap();
    assert_eq!(found(Filter::contains("text", "É")), [""; 0]);
    store.close().wait().unwrap();
}

#[test]
fn c39_sql_of_the_caller_keeps_to_itself() {
    let scratch = Scratch::new();
    let (store, names) = open(&scratch);
    store.execute("INSERT INTO name VALUES (1, 'one'), (2, 'two'), (3, 'three')", ()).wait().unwrap();
    let count = |filter: Filter| names.count_where(filter).wait();
    let either = || Filter::sql("id = ? OR id = ? -- either", (1, 2));
    assert_eq!(count(either().and(Filter::eq("id", 2))).unwrap(), 1);
    assert_eq!(count(Filter::eq("id", 2).and(either())).unwrap(), 1);
    assert_eq!(count(either().or(Filter::sql("text = ?", ["three"]))).unwrap(), 3);
    assert_eq!(names.page().filter(either()).filter(Filter::eq("id", 3)).wait().unwrap().rows, []);
    for sql in ["1) OR (1", "1; DELETE FROM name", "1 /*", "1 OR 'x", "(1", ""] {
        let error = count(Filter::sql(sql, ())).unwrap_err();
        assert!(matches!(error, ReadError::InvalidFilter { .. }), "{sql}: {error}");
    }
    assert!(matches!(count(Filter::sql("nonsense = 1", ())), Err(ReadError::Sql(_))));
    assert!(matches!(count(Filter::sql("1 UNION SELECT 1", ())), Err(ReadError::Sql(_))));
    fn params(given: impl IntoFilterParams) -> usize {
        given.into_filter_params().unwrap().len()
    }
    assert_eq!(params(()) + params((1, "x")) + params([1, 2]) + params(vec!["a"]) + params(&[1_u8][..]), 6);
    assert_eq!(names.count().wait().unwrap(), 3);
    store.close().wait().unwrap();
}

#[test]
fn c39_any_number_of_keys() {
    const KEYS: i64 = 100_000;
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let (store, names) = open(&scratch);
        let insert = "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 2 FROM n WHERE i < ?1)
                      INSERT INTO name SELECT i, 'n' || i FROM n";
        store.execute(insert, (KEYS,)).wait().unwrap();
        let found = names.get_many((1..=KEYS).rev()).wait().unwrap();
        let ids: Vec<i64> = found.iter().map(|name| name.id).collect();
        assert_eq!(ids, (1..=KEYS / 2).rev().map(|half| half * 2).collect::<Vec<_>>());
        assert_eq!(found[0].text, "n100000");
        let exist = names.exists_many(1..=KEYS).wait().unwrap();
        assert_eq!(exist, (1..=KEYS).map(|id| id % 2 == 0).collect::<Vec<_>>());
        assert_eq!(names.count_where(Filter::any_of("id", 1..=KEYS)).wait().unwrap(), 50_000);
        let texts = (1..=KEYS).map(|id| format!("n{id}"));
        assert_eq!(names.count_where(Filter::any_of("text", texts)).wait().unwrap(), 50_000);
        store.close().wait().unwrap();
    });
}

#[test]
fn c39_keys_are_taken_as_they_are() {
    let scratch = Scratch::new();
    let (store, names) = open(&scratch);
    store.execute("INSERT INTO name VALUES (1, 'one'), (2, 'two')", ()).wait().unwrap();
    store.execute("INSERT INTO pair VALUES ('x', 1, 'first'), ('x', 2, NULL)", ()).wait().unwrap();
    let ids = |found: Vec<Name>| found.into_iter().map(|name| name.id).collect::<Vec<_>>();
    assert_eq!(ids(names.get_many([2, 9, 1, 2]).wait().unwrap()), [2, 1, 2]);
    assert_eq!(ids(names.get_many(Vec::<i64>::new()).wait().unwrap()), [0; 0]);
    assert_eq!(names.get(1).wait().unwrap().unwrap().text, "one");
    assert_eq!(names.get(Value::Null).wait().unwrap(), None);
    assert!(names.exists(1).wait().unwrap() && !names.exists(3).wait().unwrap());

    let pairs = store.table::<Row>("pair").open().wait().unwrap();
    let first = pairs.get(("x", 1)).wait().unwrap().unwrap();
    assert_eq!(first.value("v"), Some(&Value::from("first")));
    assert_eq!(pairs.get_many([("x", 2), ("y", 1), ("x", 1)]).wait().unwrap().len(), 2);

    let nan = names.get(f64::NAN).wait().unwrap_err();
    assert!(matches!(nan, ReadError::InvalidValue(_)));
    let wrong = pairs.get("x").wait().unwrap_err();
    assert!(matches!(&wrong, ReadError::WrongKey { expected: 2, given: 1, .. }) && !wrong.is_retryable());
    assert!(matches!(names.exists((1, 2)).wait(), Err(ReadError::WrongKey { expected: 1, given: 2, .. })));

    #[derive(Serialize, Deserialize, Debug)]
    struct Strict {
        a: String,
        b: i64,
        v: String,
    }
    let strict = store.table::<Strict>("pair").open().wait().unwrap();
    assert!(strict.get(("x", 1)).wait().is_ok());
    let error = strict.get(("x", 2)).wait().unwrap_err();
    assert!(matches!(&error, ReadError::Decode(error) if error.column() == Some("v")), "{error}");
    assert_eq!(strict.count().wait().unwrap(), 2);
    store.close().wait().unwrap();
}
