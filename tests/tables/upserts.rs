//! Upsert: update the row, or insert it.

use serde::{Deserialize, Serialize};
use walwright::Row;

use crate::bed::{Bed, constraint, hold, run};

#[derive(Serialize, Deserialize)]
struct Member {
    id: i64,
    name: String,
}

#[test]
fn an_upsert_says_whether_it_made_the_row() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, made TEXT DEFAULT 'then', v INTEGER)",
        );
        let table = bed.revised::<Member>();
        let ann = Member { id: 7, name: "ann".to_owned() };
        let made = table.upsert(&ann).wait().unwrap();
        assert_eq!((made.created, made.rows_changed), (true, 1));
        assert_eq!((made.revision, made.rowid), (Some(1), Some(7)));
        assert_eq!(made.filled("made").and_then(|value| value.as_str()), Some("then"));

        bed.sql("UPDATE t SET made = 'now'");
        let changed = table.upsert(&Member { name: "bea".to_owned(), ..ann }).wait().unwrap();
        assert_eq!((changed.created, changed.rows_changed), (false, 1));
        assert_eq!((changed.revision, changed.rowid, changed.filled("made")), (Some(2), None, None));
        assert_eq!(bed.look("SELECT * FROM t"), ["7|bea|now|2"]);
    });
}

#[test]
fn an_upsert_that_has_nothing_to_set_leaves_the_row_alone() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'x')");
        let table = bed.table::<Row>("t");
        let row = Row::new().with("id", 1).unwrap();
        assert!(table.upsert(&row).wait().unwrap().created);
        bed.sql("UPDATE t SET name = 'y'");
        let again = table.upsert(&row).wait().unwrap();
        assert_eq!((again.created, again.rows_changed), (false, 0));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|y"]);
    });
}

/// Another row in the way is an error on both ways, and neither row is changed.
#[test]
fn an_upsert_does_not_take_another_rows_place() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, v INTEGER); \
                            INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1)",
        );
        let table = bed.revised::<Member>();
        for id in [2, 3] {
            constraint(table.upsert(&Member { id, name: "a".to_owned() }).wait());
        }
        assert_eq!(bed.look("SELECT * FROM t"), ["1|a|1", "2|b|1"]);
    });
}

/// A row is known by its address; its id is the database's. To upsert by the address without knowing the id must
/// leave the id of the row that is there alone.
#[test]
fn an_upsert_by_another_key_leaves_the_rowid_alone() {
    #[derive(Serialize, Deserialize)]
    struct User {
        id: Option<i64>,
        email: String,
        name: String,
    }
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT, v INTEGER)",
        );
        let users = bed.store.table::<User>("t").key(["email"]).revision("v").open().wait().unwrap();
        let ann = |name: &str| User { id: None, email: "a@x".to_owned(), name: name.to_owned() };
        bed.sql("INSERT INTO t VALUES (41, 'b@x', 'Bea', 1)");
        let made = users.upsert(&ann("Ann")).wait().unwrap();
        assert_eq!((made.created, made.rowid), (true, Some(42)));
        assert_eq!(made.filled("id").and_then(|value| value.as_i64()), Some(42));
        let changed = users.upsert(&ann("Anna")).wait().unwrap();
        assert_eq!((changed.created, changed.revision), (false, Some(2)));
        let changed = users.update("a@x").set_row(&ann("Annie")).wait().unwrap();
        assert_eq!(changed.revision, Some(3));
        assert_eq!(bed.look("SELECT * FROM t"), ["41|b@x|Bea|1", "42|a@x|Annie|3"]);
    });
}

/// A record of progress that is written again and again: within a group the latest one is written, once.
#[test]
fn upserts_of_one_row_in_a_group_are_one_statement() {
    const UPSERTS: i64 = 100;
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER)");
        let table = bed.revised::<Member>();
        let upsert = |id, at| table.upsert(&Member { id, name: format!("{at} of {UPSERTS}") }).try_submit();
        // The first command on a table learns its facts, and is by itself.
        upsert(8, 1).unwrap().wait().unwrap();
        for round in 0..2 {
            let gate = hold(&bed.store);
            let before = bed.store.stats();
            let sent: Vec<_> = (1..=UPSERTS).map(|at| upsert(7, at).unwrap()).collect();
            gate.open();
            for (at, receipt) in (1..).zip(sent) {
                let receipt = receipt.wait().unwrap();
                assert_eq!(receipt.revision, Some(round * UPSERTS + at));
                assert_eq!(receipt.created, round == 0 && at == 1);
            }
            let stats = bed.store.stats();
            assert_eq!(stats.statements - before.statements, 1);
            assert_eq!(stats.coalesced - before.coalesced, UPSERTS.unsigned_abs() - 1);
        }
        assert_eq!(bed.look("SELECT * FROM t WHERE id = 7"), ["7|100 of 100|200"]);
    });
}
