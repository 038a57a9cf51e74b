//! Insert, and insert-or-ignore.

use serde::{Deserialize, Serialize};
use walwright::{Row, Value};

use crate::bed::{Bed, constraint, run};

#[derive(Serialize, Deserialize)]
struct Note {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<f64>,
}

const NOTES: &str = "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, \
                     state TEXT NOT NULL DEFAULT 'new', place REAL DEFAULT (1.5 * 2), version INTEGER NOT NULL)";

fn note(id: Option<i64>, text: &str) -> Note {
    Note { id, text: text.to_owned(), state: None, place: None }
}

#[test]
fn a_receipt_tells_what_the_database_filled_in() {
    run(|| {
        let bed = Bed::new(NOTES);
        let notes = bed.store.table::<Note>("note").revision("version").open().wait().unwrap();

        let made = notes.insert(&note(None, "a")).wait().unwrap();
        assert_eq!((made.rows_changed, made.created), (1, true));
        assert_eq!((made.rowid, made.revision), (Some(1), Some(1)));
        assert_eq!(made.filled("id"), Some(&Value::Integer(1)));
        assert_eq!(made.filled("STATE"), Some(&Value::from("new")), "names in any case");
        assert_eq!(made.filled("place"), Some(&Value::Real(3.0)));
        assert_eq!(made.filled("text"), None, "it was given");

        let given = Note { place: Some(0.5), state: Some("old".to_owned()), ..note(Some(7), "b") };
        let given = notes.insert(&given).wait().unwrap();
        assert_eq!(given.rowid, Some(7));
        assert!(given.sequence > made.sequence);
        for column in ["id", "state", "place", "text", "version", "no such column"] {
            assert_eq!(given.filled(column), None, "{column}");
        }
        let rows = bed.look("SELECT * FROM note");
        assert_eq!(rows, ["1|a|new|3.0|1", "7|b|old|0.5|1"]);
    });
}

/// `None` is sent as NULL: for a rowid that means "make one", for a column with a DEFAULT it means NULL.
#[test]
fn none_is_null_except_for_a_rowid() {
    #[derive(Serialize, Deserialize)]
    struct Plain {
        id: Option<i64>,
        state: Option<String>,
    }
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT DEFAULT 'new')");
        let table = bed.table::<Plain>("t");
        for expected in 1..=2 {
            let made = table.insert(&Plain { id: None, state: None }).wait().unwrap();
            assert_eq!((made.rowid, made.filled("id")), (Some(expected), Some(&Value::Integer(expected))));
            assert_eq!(made.filled("state"), None);
        }
        table.delete(2).wait().unwrap();
        let made = table.insert(&Plain { id: None, state: None }).wait().unwrap();
        assert_eq!(made.rowid, Some(3), "AUTOINCREMENT never gives a number twice");
        assert_eq!(bed.look("SELECT * FROM t"), ["1|NULL", "3|NULL"]);
    });
}

#[test]
fn a_row_of_nothing_but_defaults_can_be_inserted() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT DEFAULT 'x' UNIQUE, b DEFAULT 5)");
        let table = bed.table::<Row>("t");
        let made = table.insert(&Row::new()).wait().unwrap();
        assert_eq!(made.filled("id"), Some(&Value::Integer(1)));
        assert_eq!(made.filled("b"), Some(&Value::Integer(5)));
        let again = table.insert_or_ignore(&Row::new()).wait().unwrap();
        assert_eq!((again.created, again.rows_changed, again.filled("b")), (false, 0, None));
        constraint(table.insert(&Row::new()).wait());
        assert_eq!(bed.look("SELECT * FROM t"), ["1|x|5"]);
    });
}

/// A part of a compound key may have a default: then the database makes the key.
#[test]
fn a_part_of_a_key_can_be_left_to_the_database() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (zone TEXT NOT NULL DEFAULT 'eu', id INTEGER NOT NULL, v INTEGER, \
                            PRIMARY KEY (zone, id)) WITHOUT ROWID",
        );
        let table = bed.revised::<Row>();
        let row = Row::new().with("id", 5).unwrap();
        let made = table.insert(&row).wait().unwrap();
        assert_eq!((made.revision, made.rowid), (Some(1), None));
        assert_eq!(made.filled("zone"), Some(&Value::from("eu")));
        constraint(table.insert(&row).wait());
        // An upsert without the whole key finds no row to update.
        constraint(table.upsert(&row).wait());
        assert_eq!(bed.look("SELECT * FROM t"), ["eu|5|1"]);
    });
}

#[test]
fn insert_or_ignore_ignores_a_row_that_is_there_and_nothing_else() {
    run(|| {
        let bed = Bed::new(NOTES);
        let notes = bed.store.table::<Row>("note").revision("version").open().wait().unwrap();
        let row =
            |id: i64, text: Option<&str>| Row::new().with("id", id).unwrap().with("text", text).unwrap();
        let made = notes.insert_or_ignore(&row(1, Some("a"))).wait().unwrap();
        assert_eq!((made.created, made.rows_changed, made.revision), (true, 1, Some(1)));
        assert_eq!((made.rowid, made.filled("state")), (Some(1), Some(&Value::from("new"))));

        for there in [row(1, Some("b")), row(2, Some("a"))] {
            let ignored = notes.insert_or_ignore(&there).wait().unwrap();
            assert_eq!((ignored.created, ignored.rows_changed), (false, 0));
            assert_eq!((ignored.revision, ignored.rowid, ignored.filled("state")), (None, None, None));
        }
        // SQL's INSERT OR IGNORE would swallow this one too.
        constraint(notes.insert_or_ignore(&row(3, None)).wait());
        assert_eq!(bed.look("SELECT id, text FROM note"), ["1|a"]);
    });
}
