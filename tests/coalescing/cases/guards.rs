//! Guards: which can be answered from memory.

use walwright::Value;

use super::{Case, PLAIN, case, delete, insert, update, upsert};

/// An insert of a value, and an update that is guarded by another spelling of it.
fn guarded(name: &'static str, declared: &str, stored: impl Into<Value>, asked: impl Into<Value>) -> Case {
    let table = format!("CREATE TABLE t(id TEXT PRIMARY KEY, x {declared}, y, rev INTEGER)");
    let asked = asked.into();
    case(name, &[&table])
        .send(insert("a").with("x", stored))
        .send(update("a").with("y", 1).only_if("x", asked.clone()))
        .send(update("a").with("y", 2).only_if("x", asked))
}

pub fn cases() -> Vec<Case> {
    let beyond = 9_007_199_254_740_993_i64;
    vec![
        guarded("a number in two spellings of text", "INTEGER", "12", "012"),
        guarded("text that becomes a number", "INTEGER", "12", 12),
        guarded("a real number that becomes text", "TEXT", 1.0, "1.0"),
        guarded("a number that is asked of text", "TEXT", "12", 12),
        guarded("text that is asked of a number", "INTEGER", 12, "12"),
        guarded("an integer against a real number", "BLOB", 1, 1.0),
        guarded("a real number that becomes an integer", "INTEGER", 1.0, 1),
        guarded("an integer that becomes a real number", "REAL", beyond, beyond - 1),
        guarded("another case in a NOCASE column", "TEXT COLLATE NOCASE", "abc", "ABC"),
        guarded("NOCASE and NUL in a guard", "TEXT COLLATE NOCASE", "a\0b", "a\0c"),
        guarded("trailing spaces in an RTRIM column", "TEXT COLLATE RTRIM", "a", "a "),
        guarded("text with NUL", "TEXT", "a\0b", "a\0c"),
        guarded("zeros of both signs", "REAL", 0.0, -0.0),
        guarded("a word that is no type", "ANY", "12", 12),
        guarded("bytes against text", "TEXT", Value::Blob(b"ab".to_vec()), "ab"),
        guarded("NULL against NULL", "TEXT", Value::Null, Value::Null),
        guarded("NULL against a value", "TEXT", Value::Null, "a"),
        guarded("a value against itself", "TEXT", "a", "a").coalesces(2),
        case("a guard on a default", &["CREATE TABLE t(id TEXT PRIMARY KEY, x DEFAULT 5, y, rev INTEGER)"])
            .send(insert("a").with("y", 1))
            .send(update("a").with("y", 2).only_if("x", 5))
            .send(update("a").with("y", 3).only_if("x", Value::Null)),
        case(
            "a guard on a generated column",
            &["CREATE TABLE t(id TEXT PRIMARY KEY, x, y, g AS (y + 1), rev INTEGER)"],
        )
        .send(insert("a").with("y", 1))
        .send(update("a").with("x", 2).only_if("g", 2))
        .send(update("a").with("x", 3).only_if("g", 3)),
        case("a guard on a column that no member sets", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 1, 1, 1)"])
            .send(update("a").with("x", 2))
            .send(update("a").with("x", 3).only_if("y", 1))
            .send(update("a").with("x", 4).only_if("y", Value::Null)),
        case("a guard on the revision's column", &[PLAIN])
            .send(insert("a").with("x", 1))
            .send(update("a").with("x", 2).only_if("rev", 1))
            .send(update("a").with("x", 3).only_if("rev", 1)),
        case("guards on the revisions of receipts", &[PLAIN])
            .send(insert("a").with("x", 1))
            .send(update("a").with("x", 2).if_revision(1))
            .send(update("a").with("x", 3).if_revision(1))
            .send(update("a").with("x", 4).if_revision(2))
            .send(delete("a").if_revision(2))
            .coalesces(4),
        case("two guards, of which the second holds", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 5)"])
            .send(update("a").with("x", 1).if_revision(4))
            .send(update("a").with("x", 2).if_revision(5))
            .send(update("a").with("x", 3).if_revision(6)),
        case("a guard behind an upsert of a row that was there", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 5)"])
            .send(upsert("a").with("x", 1))
            .send(update("a").with("x", 2).if_revision(1))
            .send(update("a").with("x", 3).if_revision(6)),
        case("a guard on a row that is not there", &[PLAIN])
            .send(update("a").with("x", 1).if_revision(1))
            .send(update("a").with("x", 2).if_revision(2))
            .send(delete("a").if_revision(3)),
        case("guarded updates and a guarded delete", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, 1)"])
            .send(update("a").with("x", 1).if_revision(1))
            .send(update("a").with("x", 9).if_revision(7))
            .send(delete("a").if_revision(2))
            .coalesces(2),
        case("a guard without a revision in the row", &[PLAIN])
            .rows(&["INSERT INTO t VALUES ('a', 0, 0, NULL)"])
            .send(update("a").with("x", 1))
            .send(update("a").with("x", 2).if_revision(1))
            .send(update("a").with("x", 3).if_revision(2)),
    ]
}
