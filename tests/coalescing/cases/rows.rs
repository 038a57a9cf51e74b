//! What becomes of one row: images in between, revisions, defaults, receipts.

use walwright::Value;

use super::{Case, PLAIN, case, delete, insert, insert_or_ignore, update, upsert};
use crate::program::Revision;

const NOT_NULL: &str = "CREATE TABLE t(id TEXT PRIMARY KEY, x NOT NULL, y, rev INTEGER)";
const STRICT: &str = "CREATE TABLE t(id TEXT PRIMARY KEY, x INTEGER, y ANY, rev INTEGER) STRICT";
const HIGH: &str = "INSERT INTO t VALUES ('a', 0, 0, 9223372036854775806)";

pub fn cases() -> Vec<Case> {
    let mut cases = images();
    cases.extend(revisions());
    cases.extend(identities());
    cases
}

fn images() -> Vec<Case> {
    vec![
        case("an insert and updates", &[PLAIN])
            .send(insert("a").with("x", 1).with("y", 2))
            .send(insert("b").with("x", 1))
            .send(update("a").with("x", 5))
            .send(update("b").with("y", 5))
            .send(update("a").with("y", 6))
            .coalesces(3),
        case("an upsert of a row that is not there, and one that is", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('b', 0, 0, 7)"])
            .send(upsert("a").with("x", 1))
            .send(upsert("b").with("x", 1))
            .send(upsert("a").with("x", 2))
            .send(upsert("b").with("x", 2))
            .coalesces(2),
        case("updates and a delete", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 7)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(delete("a"))
            .coalesces(2),
        case("a first image without what must not be NULL", &[NOT_NULL])
            .send(insert("a").with("x", Value::Null))
            .send(update("a").with("x", 1)),
        case("an update in between that sets NULL", &[NOT_NULL])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", Value::Null))
            .send(update("a").with("x", 1)),
        case("an omitted column that must not be NULL", &[NOT_NULL])
            .send(insert("a").with("y", 1))
            .send(update("a").with("x", 1)),
        case("an upsert that omits what must not be NULL", &[NOT_NULL])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(upsert("a").with("y", 1))
            .send(update("a").with("x", 5)),
        case("a first image of the wrong type", &[STRICT])
            .send(insert("a").with("x", "abc"))
            .send(update("a").with("x", 5)),
        case("an update in between of the wrong type", &[STRICT])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", 1.5))
            .send(update("a").with("x", 2)),
        case("an upsert of nothing", &[PLAIN])
            .revision(None)
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(upsert("a"))
            .send(update("a").with("x", 1))
            .send(upsert("a"))
            .send(update("a").with("x", 2)),
        case("a second insert of the row", &[NOT_NULL])
            .send(insert("a").with("x", 1))
            .send(insert("a").with("x", Value::Null))
            .send(insert("a").with("x", 2)),
        case("an insert-or-ignore of a row that an insert made", &[STRICT])
            .send(insert("a").with("x", 1))
            .send(insert_or_ignore("a").with("x", "abc"))
            .send(insert_or_ignore("a").with("x", 3)),
        case("an insert-or-ignore of a row that is there", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(insert_or_ignore("a").with("x", 1).with("y", 1))
            .send(update("a").with("x", 2)),
        case("an insert of a row that is there", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(insert("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(delete("a")),
        case("updates of a row that is not there", &[PLAIN])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(update("b").with("x", 2))
            .send(delete("b")),
        case(
            "a default that fails",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x DEFAULT (abs(-9223372036854775808)), y, rev INTEGER)"],
        )
        .send(insert("a").with("y", 1))
        .send(update("a").with("x", 1)),
        case(
            "a default of the wrong type",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x INTEGER DEFAULT 'abc', y ANY, rev INTEGER) STRICT"],
        )
        .send(insert("a").with("y", 1))
        .send(update("a").with("x", 1)),
        case(
            "a default that the receipt tells",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x DEFAULT 7, y, rev INTEGER)"],
        )
        .send(insert("a").with("y", 1))
        .send(update("a").with("x", 1))
        .send(insert("b").with("y", 1))
        .send(update("b").with("y", 2)),
    ]
}

fn revisions() -> Vec<Case> {
    vec![
        case("a revision that runs over", &[PLAIN])
            .rows(&[HIGH])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2)),
        case(
            "a revision that runs over in a strict table",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x ANY, y ANY, rev INTEGER) STRICT"],
        )
        .rows(&[HIGH])
        .send(update("a").with("x", 1))
        .send(update("a").with("x", 2))
        .send(delete("a")),
        case("a revision that runs over before a delete", &[PLAIN])
            .rows(&[HIGH])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(delete("a")),
        case("a revision that is NULL", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, NULL), ('b', 0, 0, NULL)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(update("b").with("x", 1))
            .send(delete("b")),
        case("a revision that is text", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 'abc'), ('b', 0, 0, 1.5)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(upsert("b").with("x", 1))
            .send(upsert("b").with("x", 2)),
        case("a revision that is a great real number", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 9.1e18)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2)),
        case(
            "a revision that no check allows",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER CHECK (rev <> 2))"],
        )
        .send(insert("a").with("x", 1))
        .send(update("a").with("x", 2))
        .send(update("a").with("x", 3)),
        case(
            "a revision in a unique index",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER, UNIQUE (y, rev))"],
        )
        .rows(&["INSERT INTO t VALUES ('b', 0, 'n', 1)"])
        .send(insert("a").with("y", "n"))
        .send(update("a").with("x", 1)),
        case("a revision in a partial index", &[PLAIN, "CREATE UNIQUE INDEX u ON t(y) WHERE rev = 2"])
            .rows(&["INSERT INTO t VALUES ('b', 0, 'n', 2)"])
            .send(insert("a").with("y", "n"))
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2)),
        case(
            "a revision in a generated column",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER, g AS (nullif(rev, 2)) NOT NULL)"],
        )
        .send(insert("a").with("x", 1))
        .send(update("a").with("x", 2))
        .send(update("a").with("x", 3)),
        case("revisions by sequence", &[PLAIN])
            .revision(Some(Revision::Sequence("rev".to_owned())))
            .rows(&["INSERT INTO t VALUES ('b', 0, 0, NULL)"])
            .send(insert("a").with("x", 1))
            .send(update("b").with("x", 2))
            .send(update("a").with("x", 3))
            .send(update("a").with("x", 3).if_revision(1))
            .send(upsert("b").with("x", 4))
            .send(update("b").with("x", 5))
            .send(delete("b"))
            .coalesces(4),
        case("no revisions", &[PLAIN])
            .revision(None)
            .send(insert("a").with("x", 1))
            .send(update("a").with("x", 2))
            .send(upsert("a").with("x", 3))
            .send(update("a").with("x", 3).only_if("x", 4))
            .coalesces(3),
    ]
}

fn identities() -> Vec<Case> {
    const AUTO: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, x, y, rev INTEGER)";
    vec![
        case("an insert taken back between two others", &[PLAIN])
            .send(insert("a").with("x", 1))
            .send(insert("b").with("x", 1))
            .send(delete("a")),
        case("an insert taken back leaves its mark", &[AUTO])
            .send(insert(10).with("x", 1))
            .send(insert(0).without_key().with("x", 2))
            .send(delete(10))
            .send(insert(0).without_key().with("x", 3)),
        case("keys that the database makes", &[AUTO])
            .send(insert(0).without_key().with("x", 1))
            .send(update(1).with("x", 2))
            .send(update(1).with("x", 3))
            .send(upsert(0).without_key().with("x", 4))
            .send(update(2).with("x", 5)),
        case("a row that leaves and comes back", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 4), ('b', 0, 0, 4), ('c', 0, 0, 4)"])
            .send(update("c").with("x", 1))
            .send(delete("c"))
            .send(insert("d").with("x", 1))
            .send(insert("c").with("x", 1))
            .send(update("c").with("x", 2)),
        case("an upsert and a delete", &[PLAIN])
            .send(upsert("a").with("x", 1))
            .send(delete("a"))
            .send(insert("b")),
        case(
            "a table without rowids",
            &["CREATE TABLE t(k TEXT, id TEXT, x, y, rev INTEGER, PRIMARY KEY (k, id)) WITHOUT ROWID"],
        )
        .send(insert("a").with("x", 1)),
    ]
}
