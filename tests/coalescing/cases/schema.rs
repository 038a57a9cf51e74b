//! What the schema judges, and what sees a row on its way.

use super::{Case, PLAIN, case, delete, insert, update, upsert};
use crate::program::Handle;

const ONE: &str = "INSERT INTO t VALUES ('a', 1, 2, 1)";

pub fn cases() -> Vec<Case> {
    let mut cases = judges();
    cases.extend(witnesses());
    cases
}

fn judges() -> Vec<Case> {
    let json = "CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER, g AS (json_extract(x, '$.a')) STORED)";
    vec![
        case("a check that only the first image breaks", &["CREATE TABLE t(id TEXT PRIMARY KEY, x CHECK (x >= 0), y, rev INTEGER)"])
            .send(insert("a").with("x", -1))
            .send(update("a").with("x", 5)),
        case("a check of two columns", &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER, CHECK (x <= y))"])
            .rows(&[ONE])
            .send(update("a").with("x", 9))
            .send(update("a").with("y", 10)),
        case("a check of an upsert's candidate", &["CREATE TABLE t(id TEXT PRIMARY KEY, x DEFAULT -1 CHECK (x > 0), y, rev INTEGER)"])
            .send(insert("a").with("x", 1))
            .send(upsert("a").with("y", 2)),
        case("a check that calls the application", &[
            "CREATE TABLE t(id TEXT PRIMARY KEY, x CHECK (noted(x)), y, rev INTEGER)",
            "CREATE TABLE o(id TEXT PRIMARY KEY, n DEFAULT (counted()), rev INTEGER)",
        ])
        .handle(Handle::new("o", &["id"]))
        .send(insert("a").with("x", 1))
        .send(update("a").with("y", 2))
        .send(update("a").with("y", 3))
        .send(insert("k").by(1)),
        case("a default that calls the application", &["CREATE TABLE t(id TEXT PRIMARY KEY, x DEFAULT (counted()), y, rev INTEGER)"])
            .rows(&["INSERT INTO t(id, x, rev) VALUES ('a', 0, 1)"])
            .send(insert("a").with("y", 1))
            .send(update("a").with("y", 2))
            .send(insert("b").with("y", 1)),
        case("a default that counts changes", &[
            PLAIN,
            "CREATE TABLE o(id TEXT PRIMARY KEY, n DEFAULT (last_insert_rowid()), m DEFAULT (changes()), rev INTEGER)",
        ])
        .handle(Handle::new("o", &["id"]))
        .rows(&[ONE])
        .send(upsert("b").with("x", 1))
        .send(update("a").with("x", 1))
        .send(update("b").with("x", 2))
        .send(delete("c"))
        .send(update("b").with("x", 3))
        .send(insert("k").by(1)),
        case("a generated column that fails on the first image", &[json])
            .send(insert("a").with("x", "bad"))
            .send(update("a").with("x", "{}")),
        case("a generated column that must not be NULL", &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER, g AS (nullif(x, 0)) NOT NULL)"])
            .send(insert("a").with("x", 0))
            .send(update("a").with("x", 1)),
        case("a generated column that is unique", &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER, g AS (x % 10) UNIQUE)"])
            .rows(&["INSERT INTO t VALUES ('a', 3, 0, 1)"])
            .send(update("a").with("y", 1))
            .send(insert("b").with("x", 13))
            .send(update("a").with("x", 4)),
        case("an index that cannot be computed", &[PLAIN, "CREATE INDEX i ON t(json_extract(x, '$.a'))"])
            .send(insert("a").with("x", "bad"))
            .send(update("a").with("x", "{}")),
        case("the condition of an index that cannot be computed", &[PLAIN, "CREATE INDEX i ON t(y) WHERE x ->> '$.a' = 1"])
            .send(insert("a").with("x", "bad"))
            .send(update("a").with("x", "{}")),
        case("an index of another column that cannot be computed", &[PLAIN, "CREATE INDEX i ON t(json_extract(x, '$.a'))"])
            .rows(&["INSERT INTO t VALUES ('a', '{}', 1, 1)"])
            .send(update("a").with("y", 1))
            .send(update("a").with("y", 2))
            .coalesces(1),
        case("a unique value of the first image that is taken", &["CREATE TABLE t(id TEXT PRIMARY KEY, x UNIQUE, y, rev INTEGER)"])
            .rows(&[ONE])
            .send(insert("b").with("x", 1))
            .send(update("b").with("x", 2)),
        case("plain indexes", &[PLAIN, "CREATE INDEX i ON t(x)", "CREATE INDEX j ON t(y COLLATE NOCASE, x DESC)"])
            .send(insert("a").with("x", 1))
            .send(update("a").with("x", 5).with("y", "z"))
            .coalesces(1),
    ]
}

fn witnesses() -> Vec<Case> {
    let trigger = |moment: &str, body: &str| format!("CREATE TRIGGER one {moment} ON t BEGIN {body}; END");
    let log = "INSERT INTO l VALUES (new.x, new.y, new.rev)";
    let with = |name, moment: &str, body: &str| {
        case(name, &[PLAIN, &trigger(moment, body)])
            .rows(&[ONE])
            .send(update("a").with("x", 5))
            .send(update("a").with("x", 7))
            .send(insert("b").with("x", 5))
            .send(update("b").with("x", 7))
            .send(delete("a"))
    };
    vec![
        with("a trigger that logs", "AFTER UPDATE", log),
        with("a trigger on inserts", "AFTER INSERT", log),
        with("a trigger on deletes", "BEFORE DELETE", "INSERT INTO l SELECT old.x, count(*), old.rev FROM t"),
        with("a trigger that aborts", "BEFORE UPDATE", "SELECT RAISE(ABORT, 'no') WHERE new.x = 5"),
        with("a trigger that ignores", "BEFORE UPDATE", "SELECT RAISE(IGNORE) WHERE new.x = 5"),
        with("a trigger that rolls back", "BEFORE UPDATE", "SELECT RAISE(ROLLBACK, 'no') WHERE new.x = 5"),
        with("a trigger that fails and keeps", "AFTER UPDATE", "INSERT INTO l VALUES (1, 2, 3); SELECT RAISE(FAIL, 'no') WHERE new.x = 5"),
        with("a trigger that changes the row", "AFTER UPDATE OF x", "UPDATE t SET y = coalesce(y, 0) || 't', rev = rev + 10 WHERE id = new.id"),
        case("NOT NULL that ignores", &["CREATE TABLE t(id TEXT PRIMARY KEY, x NOT NULL ON CONFLICT IGNORE, y, rev INTEGER)"])
            .send(insert("a").with("y", 1))
            .send(update("a").with("x", 1)),
        case("NOT NULL that takes the default", &["CREATE TABLE t(id TEXT PRIMARY KEY, x NOT NULL ON CONFLICT REPLACE DEFAULT 7, y, rev INTEGER)"])
            .send(insert("a").with("x", walwright::Value::Null))
            .send(update("a").with("y", 1).only_if("x", walwright::Value::Null)),
        case("a unique value that replaces", &["CREATE TABLE t(id TEXT PRIMARY KEY, x UNIQUE ON CONFLICT REPLACE, y, rev INTEGER)"])
            .send(insert("a").with("x", "n"))
            .send(insert("b").with("x", "n"))
            .send(update("a").with("y", 1)),
        case("a unique value that rolls back", &["CREATE TABLE t(id TEXT PRIMARY KEY, x UNIQUE ON CONFLICT ROLLBACK, y, rev INTEGER)"])
            .rows(&["INSERT INTO t VALUES ('b', 'n', 0, 1)"])
            .send(insert("a").with("x", "n"))
            .send(update("a").with("x", "m"))
            .send(update("b").with("y", "m"))
            .send(update("b").with("y", "k")),
        case("a key that replaces", &["CREATE TABLE t(id TEXT PRIMARY KEY ON CONFLICT REPLACE, x, y, rev INTEGER)"])
            .send(insert("a").with("x", 1))
            .send(insert("a").with("y", 2))
            .send(update("a").with("x", 3)),
    ]
}
