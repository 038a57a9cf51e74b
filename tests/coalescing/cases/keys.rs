//! Which commands are on one key.

use walwright::Value;

use super::{Case, PLAIN, case, delete, insert, update};
use crate::command::RowCall;
use crate::program::{Handle, Revision};

/// Three commands on what may be one row or two, with a fourth that shows the difference.
fn spelled(name: &'static str, table: &str, spellings: [Value; 2]) -> Case {
    let [first, second] = spellings;
    case(name, &[table])
        .send(insert(first.clone()).with("x", 1))
        .send(update(second.clone()).with("x", 2).with("y", 2))
        .send(update(first.clone()).with("x", 3))
        .send(update(second).with("y", 4).only_if("x", 3))
        .send(update(first).with("x", 5).only_if("y", 4))
}

fn compound(mut call: RowCall) -> RowCall {
    if let Some(key) = &mut call.key {
        key.insert(0, "k".into());
    }
    call
}

pub fn cases() -> Vec<Case> {
    let integer = "CREATE TABLE t(id INTEGER PRIMARY KEY, x, y, rev INTEGER)";
    let untyped = "CREATE TABLE t(id PRIMARY KEY, x, y, rev INTEGER)";
    let numeric = "CREATE TABLE t(id NUMERIC PRIMARY KEY, x, y, rev INTEGER)";
    let real = "CREATE TABLE t(id REAL PRIMARY KEY, x, y, rev INTEGER)";
    let nocase = "CREATE TABLE t(id TEXT COLLATE NOCASE PRIMARY KEY, x, y, rev INTEGER)";
    let rtrim = "CREATE TABLE t(id TEXT COLLATE RTRIM PRIMARY KEY, x, y, rev INTEGER)";
    let first = "CREATE TABLE t(id TEXT COLLATE FIRST PRIMARY KEY, x, y, rev INTEGER)";
    let unique = "CREATE TABLE t(id TEXT PRIMARY KEY, name UNIQUE, x, y, rev INTEGER)";
    let mut by_name = Handle::new("T", &["name"]);
    by_name.names_key = true;
    let mut compound_handle = Handle::new("t", &["k", "id"]);
    compound_handle.names_key = false;
    let mut bare = Handle::new("t", &["id"]);
    bare.revision = None;
    vec![
        spelled("12 and '12' in an INTEGER key", integer, [12.into(), "12".into()]),
        spelled("12 and 12.0 in an INTEGER key", integer, [12.into(), 12.0.into()]),
        spelled("7 and '7' in a TEXT key", PLAIN, ["7".into(), 7.into()]),
        spelled("1 and 1.0 in a key without a type", untyped, [1.into(), 1.0.into()]),
        spelled("1 and '1' in a key without a type", untyped, [1.into(), "1".into()]),
        spelled("'007' and '7' in a NUMERIC key", numeric, ["007".into(), "7".into()]),
        spelled(
            "2^53 + 1 in a REAL key",
            real,
            [9_007_199_254_740_993_i64.into(), 9_007_199_254_740_992.0.into()],
        ),
        spelled("a real number in a key without a type", untyped, [0.0.into(), (-0.0).into()]),
        spelled("'a' and 'A' in a NOCASE key", nocase, ["a".into(), "A".into()]),
        spelled("NOCASE and NUL", nocase, ["a\0b".into(), "a\0c".into()]),
        spelled("'a' and 'a ' in an RTRIM key", rtrim, ["a".into(), "a ".into()]),
        spelled("a collation of the application's", first, ["ab".into(), "ac".into()]),
        spelled("NULL as the key", PLAIN, [Value::Null, Value::Null]),
        case(
            "a BINARY index on a NOCASE key",
            &[
                "CREATE TABLE t(id TEXT COLLATE NOCASE, x, y, rev INTEGER)",
                "CREATE UNIQUE INDEX u ON t(id COLLATE BINARY)",
            ],
        )
        .send(insert("a").with("x", 1))
        .send(update("A").with("x", 2)),
        case(
            "a compound key",
            &["CREATE TABLE t(k TEXT, id TEXT, x, y, rev INTEGER, PRIMARY KEY (k, id)) WITHOUT ROWID"],
        )
        .handle(compound_handle)
        .send(compound(insert("a").with("x", 1)).by(1))
        .send(compound(insert("b").with("x", 1)).by(1))
        .send(compound(update("a").with("x", 2)).by(1))
        .send(compound(update("b").with("y", 2)).by(1))
        .send(compound(delete("a")).by(1))
        .coalesces(2),
        case("an update that gives the row another key", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("b").with("x", 1))
            .send(update("a").with("id", "b"))
            .send(update("b").with("x", 2))
            .send(update("a").with("x", 3)),
        case("an update that takes a row's key away", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("id", "b"))
            .send(update("a").with("x", 2)),
        case("an insert without a key onto a key that a chain names", &[integer])
            .send(update(1).with("x", 1))
            .send(insert(0).without_key().with("x", 2))
            .send(update(1).with("x", 3)),
        case(
            "an insert whose key is a default",
            &["CREATE TABLE t(id TEXT PRIMARY KEY DEFAULT 'a', x, y, rev INTEGER)"],
        )
        .send(update("a").with("x", 1))
        .send(insert(0).without_key().with("x", 2))
        .send(update("a").with("x", 3)),
        case("a second handle by another key", &[unique])
            .handle(by_name)
            .send(insert("a").with("name", "n").with("x", 1))
            .send(update("n").with("x", 2).with("y", 1).by(1))
            .send(update("a").with("x", 3))
            .send(update("n").with("x", 4).only_if("x", 3).by(1))
            .send(update("a").with("y", 5).only_if("y", 1)),
        case(
            "a primary key that is not the handle's key",
            &["CREATE TABLE t(pk INTEGER PRIMARY KEY, id UNIQUE, x, rev INTEGER)"],
        )
        .handle(Handle { names_key: true, ..Handle::new("t", &["id"]) })
        .send(insert("a").with("pk", 1).by(1))
        .send(insert("b").with("pk", 2).by(1))
        .send(update("a").with("x", 1).by(1))
        .send(insert("c").with("pk", 1).by(1))
        .send(update("a").with("pk", 7).by(1))
        .send(insert("d").with("pk", 1).by(1)),
        case("a second handle without revisions", &[PLAIN])
            .handle(bare)
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2).by(1))
            .send(update("a").with("x", 3))
            .send(update("a").with("x", 4).if_revision(3)),
        case("a second handle that counts otherwise", &[PLAIN])
            .handle(Handle {
                revision: Some(Revision::Sequence("rev".to_owned())),
                ..Handle::new("t", &["id"])
            })
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2).by(1))
            .send(update("a").with("y", 3)),
        case("a second handle of the same kind", &[PLAIN])
            .handle(Handle::new("T", &["ID"]))
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("y", 2).by(1))
            .send(update("a").with("X", 3))
            .coalesces(2),
    ]
}
