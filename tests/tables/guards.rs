//! Conditional changes: `if_revision` and `only_if`.

use serde::{Deserialize, Serialize};
use walwright::{Row, WriteError};

use crate::bed::{Bed, conflict, run};

#[derive(Serialize, Deserialize)]
struct Session {
    id: String,
    owner: Option<String>,
    v: i64,
}

const SESSIONS: &str = "CREATE TABLE t (id TEXT PRIMARY KEY, owner TEXT, v INTEGER NOT NULL); \
                        INSERT INTO t VALUES ('a', NULL, 1), ('b', 'ann', 3)";

#[test]
fn a_revision_that_is_not_the_rows_is_a_conflict() {
    run(|| {
        let bed = Bed::new(SESSIONS);
        let sessions = bed.revised::<Session>();
        let changed = sessions.update("a").set("owner", "bea").if_revision(1).wait().unwrap();
        assert_eq!(changed.revision, Some(2));

        let stale = sessions.update("a").set("owner", "eve").if_revision(1);
        assert_eq!(conflict(stale.wait()), Some(Some(2)));
        assert_eq!(conflict(sessions.delete("a").if_revision(1).wait()), Some(Some(2)));
        assert_eq!(conflict(sessions.delete("b").if_revision(2).wait()), Some(Some(3)));
        assert_eq!(bed.look("SELECT * FROM t"), ["a|bea|2", "b|ann|3"]);

        assert_eq!(sessions.delete("a").if_revision(changed.revision).wait().unwrap().rows_changed, 1);
        assert_eq!(bed.look("SELECT * FROM t"), ["b|ann|3"]);
    });
}

#[test]
fn a_row_that_is_not_there_is_a_conflict_for_a_guard() {
    run(|| {
        let bed = Bed::new(SESSIONS);
        let sessions = bed.revised::<Session>();
        assert_eq!(conflict(sessions.update("x").set("owner", "eve").if_revision(1).wait()), None);
        assert_eq!(
            conflict(sessions.update("x").set("owner", "eve").only_if("owner", None::<&str>).wait()),
            None
        );
        assert_eq!(conflict(sessions.delete("x").if_revision(1).wait()), None);
        assert_eq!(conflict(sessions.delete("x").only_if("owner", "ann").wait()), None);
    });
}

#[test]
fn a_column_guard_compares_as_is_does() {
    run(|| {
        let bed = Bed::new(SESSIONS);
        let sessions = bed.revised::<Session>();
        let take = |id: &str, from: Option<&str>| {
            sessions.update(id).set("owner", "new").only_if("OWNER", from).wait()
        };
        assert_eq!(conflict(take("a", Some("ann"))), Some(Some(1)));
        assert_eq!(take("a", None).unwrap().revision, Some(2), "NULL is equal to NULL");
        assert_eq!(conflict(take("a", None)), Some(Some(2)));
        assert_eq!(conflict(sessions.delete("b").only_if("owner", None::<&str>).wait()), Some(Some(3)));
        assert_eq!(sessions.delete("b").only_if("owner", "ann").wait().unwrap().rows_changed, 1);
    });
}

/// The column's type and collation count, as in the program's own SQL.
#[test]
fn a_column_guard_goes_by_type_and_collation() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, n INTEGER, x); \
                            INSERT INTO t VALUES (1, 'Ann', 5, '5')",
        );
        let table = bed.table::<Row>("t");
        let touch = |column: &str, value: walwright::Value| {
            table.update(1).set("x", "5").only_if(column, value).wait()
        };
        assert!(touch("name", "ANN".into()).is_ok());
        assert!(touch("n", 5.0.into()).is_ok());
        assert!(touch("x", "5".into()).is_ok());
        assert_eq!(conflict(touch("x", 5.into())), Some(None), "a column without a type converts nothing");
        assert_eq!(conflict(touch("name", "Anna".into())), Some(None), "there is no revision to report");
        assert_eq!(conflict(touch("n", 6.into())), Some(None));
    });
}

#[test]
fn both_guards_have_to_hold() {
    run(|| {
        let bed = Bed::new(SESSIONS);
        let sessions = bed.revised::<Session>();
        let both = |revision: i64, owner: &str| {
            sessions.update("b").set("owner", "bea").if_revision(revision).only_if("owner", owner).wait()
        };
        assert_eq!(conflict(both(3, "eve")), Some(Some(3)));
        assert_eq!(conflict(both(2, "ann")), Some(Some(3)));
        assert_eq!(both(3, "ann").unwrap().revision, Some(4));
        // A second guard of a kind takes the place of the first.
        let late = sessions.update("b").set("owner", "x").only_if("owner", "nobody").only_if("owner", "bea");
        assert_eq!(late.if_revision(9).if_revision(4).wait().unwrap().revision, Some(5));
    });
}

#[test]
fn a_conflict_says_what_to_do() {
    run(|| {
        let bed = Bed::new(SESSIONS);
        let sessions = bed.revised::<Session>();
        let error = sessions.delete("a").if_revision(7).wait().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the row is not as the guard expects, its revision is 1, nothing was applied; read the row again"
        );
        let error = sessions.delete("x").if_revision(7).wait().unwrap_err();
        assert_eq!(error.to_string(), "the row is not there, nothing was applied; read the row again");
        assert!(matches!(error, WriteError::Conflict(_)));
    });
}
