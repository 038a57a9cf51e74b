//! Keys: compound ones, those of a UNIQUE index, and how they compare.

use serde::{Deserialize, Serialize};
use walwright::{Row, Value};

use crate::bed::{Bed, conflict, constraint, run};

#[derive(Serialize, Deserialize)]
struct Port {
    sandbox: String,
    number: i64,
    open: bool,
}

/// The key is in the order of the primary key, not in that of the columns.
const PORTS: &str = "CREATE TABLE t (number INTEGER, open INTEGER NOT NULL, sandbox TEXT, v INTEGER, \
                     PRIMARY KEY (sandbox, number))";

#[test]
fn a_compound_key_is_a_tuple_in_the_order_of_the_primary_key() {
    for without_rowid in [false, true] {
        run(move || {
            let schema = if without_rowid {
                "CREATE TABLE t (number INTEGER, open INTEGER NOT NULL, sandbox TEXT, v INTEGER, \
                 PRIMARY KEY (sandbox, number)) WITHOUT ROWID"
            } else {
                PORTS
            };
            let bed = Bed::new(schema);
            let ports = bed.revised::<Port>();
            for (sandbox, number) in [("a", 1), ("a", 2), ("b", 1)] {
                let port = Port { sandbox: sandbox.to_owned(), number, open: true };
                let made = ports.insert(&port).wait().unwrap();
                assert_eq!(made.rowid.is_none(), without_rowid);
                constraint(ports.insert(&port).wait());
                assert!(!ports.upsert(&port).wait().unwrap().created);
            }
            let closed = ports.update(("a", 2)).set("open", false).if_revision(2).wait().unwrap();
            assert_eq!(closed.revision, Some(3));
            assert_eq!(ports.delete(("a", 3)).wait().unwrap().rows_changed, 0);
            let dynamic: Vec<Value> = vec!["b".into(), 1.into()];
            assert_eq!(ports.delete(&dynamic).wait().unwrap().rows_changed, 1);
            let moved = ports.update(("a", 1)).set("sandbox", "c").wait().unwrap();
            assert_eq!(moved.revision, Some(3), "a part of the key can change");
            assert_eq!(
                bed.look("SELECT sandbox, number, open, v FROM t ORDER BY 1, 2"),
                ["a|2|0|3", "c|1|1|3"]
            );
        });
    }
}

#[test]
fn a_unique_index_can_be_the_key_of_a_table_without_one() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (sandbox TEXT, number INTEGER, open INTEGER, v INTEGER); \
                            CREATE UNIQUE INDEX by_port ON t (number, sandbox)",
        );
        let ports =
            bed.store.table::<Port>("t").key(["sandbox", "number"]).revision("v").open().wait().unwrap();
        let port = Port { sandbox: "a".to_owned(), number: 1, open: true };
        let made = ports.upsert(&port).wait().unwrap();
        assert_eq!((made.created, made.rowid), (true, Some(1)));
        assert_eq!(ports.upsert(&port).wait().unwrap().revision, Some(2));
        assert_eq!(ports.update(("a", 1)).set("open", false).wait().unwrap().rows_changed, 1);
        assert_eq!(ports.update((1, "a")).set("open", true).wait().unwrap().rows_changed, 0);
        assert_eq!(ports.delete(("a", 1)).if_revision(3).wait().unwrap().rows_changed, 1);
    });
}

/// No row with NULL in its key is ever found by it, as in SQL.
#[test]
fn a_null_in_a_key_finds_no_row() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, n INTEGER)");
        let table = bed.store.table::<Row>("t").key(["mail"]).open().wait().unwrap();
        let row = Row::new().with("mail", None::<&str>).unwrap().with("n", 1).unwrap();
        assert!(table.insert(&row).wait().unwrap().created);
        assert!(table.upsert(&row).wait().unwrap().created, "two rows with NULL are not equal");
        assert_eq!(table.update(Value::Null).set("n", 2).wait().unwrap().rows_changed, 0);
        assert_eq!(conflict(table.delete(None::<&str>).only_if("n", 1).wait()), None);
        assert_eq!(bed.look("SELECT mail, n FROM t"), ["NULL|1", "NULL|1"]);
    });
}

#[test]
fn a_key_compares_by_the_columns_collation_and_type() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (name TEXT COLLATE NOCASE PRIMARY KEY, n INTEGER, v INTEGER)");
        let table = bed.revised::<Row>();
        let row = |name: &str| Row::new().with("name", name).unwrap().with("n", 1).unwrap();
        table.insert(&row("Ann")).wait().unwrap();
        assert_eq!(table.update("ANN").set("n", 2).wait().unwrap().revision, Some(2));
        let upserted = table.upsert(&row("ann")).wait().unwrap();
        assert_eq!((upserted.created, upserted.revision), (false, Some(3)));
        assert_eq!(table.update("aNN").set("name", "anna").wait().unwrap().revision, Some(4));
        assert_eq!(bed.look("SELECT * FROM t"), ["anna|1|4"]);
    });
}

/// INTEGER PRIMARY KEY DESC is an ordinary column with an index, by an old mistake of SQLite's.
#[test]
fn a_key_that_only_looks_like_the_rowid_is_none() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY DESC, n INTEGER)");
        let table = bed.table::<Row>("t");
        let row = |id: Option<i64>| Row::new().with("id", id).unwrap().with("n", 1).unwrap();
        let made = table.insert(&row(Some(50))).wait().unwrap();
        assert_eq!(made.rowid, Some(1));
        assert_eq!(table.insert(&row(None)).wait().unwrap().filled("id"), None);
        assert_eq!(table.delete(50).wait().unwrap().rows_changed, 1);
        assert_eq!(bed.look("SELECT id FROM t"), ["NULL"]);
    });
}

#[test]
fn keys_can_be_bytes_and_the_ends_of_integers() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id BLOB PRIMARY KEY, n INTEGER); CREATE TABLE u (id INTEGER PRIMARY KEY)",
        );
        let table = bed.table::<Row>("t");
        for id in [&b""[..], b"\0", b"a\0b", b"\xff"] {
            table.insert(&Row::new().with("id", id).unwrap().with("n", 0).unwrap()).wait().unwrap();
            assert_eq!(table.update(id).set("n", 1).wait().unwrap().rows_changed, 1);
        }
        assert_eq!(table.update("").set("n", 2).wait().unwrap().rows_changed, 0, "text is no BLOB");
        assert_eq!(bed.one("SELECT sum(n) FROM t"), "4");

        let table = bed.table::<Row>("u");
        for id in [i64::MIN, -1, 0, i64::MAX] {
            let made = table.insert(&Row::new().with("id", id).unwrap()).wait().unwrap();
            assert_eq!(made.rowid, Some(id));
            assert_eq!(table.delete(id).wait().unwrap().rows_changed, 1);
        }
    });
}
