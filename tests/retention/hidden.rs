//! Rows that have expired and are still there, as reads see them.

use walwright::{Filter, Row, TableError, TimeUnit, WriteError};

use crate::bed::{Bed, run};

const SESSIONS: &str =
    "CREATE TABLE session (id INTEGER PRIMARY KEY, owner TEXT, expires INTEGER, stamp TEXT);
                        CREATE INDEX session_owner ON session (owner, id);";

#[test]
fn no_read_shows_what_has_expired() {
    run(|| {
        let bed = Bed::filled(
            SESSIONS,
            "INSERT INTO session (id, owner, expires)
             VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', NULL), (4, 'b', 30), (5, 'c', 10)",
            // Nobody removes them.
            &[],
        );
        bed.clock.set(20);
        let open = |table: &str| {
            bed.store.table::<Row>(table).hide_expired("Expires", TimeUnit::Milliseconds).open()
        };
        let sessions = open("session").wait().unwrap();
        assert!(sessions.get(2).wait().unwrap().is_none());
        assert!(!sessions.exists(1).wait().unwrap());
        assert_eq!(sessions.exists_many([1, 3, 4]).wait().unwrap(), [false, true, true]);
        assert_eq!(sessions.get_many([4, 1, 3, 2]).wait().unwrap().len(), 2);
        assert_eq!(sessions.count().wait().unwrap(), 2);
        assert_eq!(sessions.count_where(Filter::eq("owner", "a")).wait().unwrap(), 0);
        let either = Filter::eq("owner", "a").or(Filter::eq("owner", "b"));
        assert_eq!(sessions.count_where(either.clone()).wait().unwrap(), 2);
        // A page goes on behind what is hidden, and knows that nothing more comes.
        let page = sessions.page().filter(either).order_by("owner").limit(1).wait().unwrap();
        let next = sessions.page().order_by("owner").after(&page.next.unwrap()).limit(1).wait().unwrap();
        assert_eq!((page.rows.len(), next.rows.len(), next.next.is_some()), (1, 1, false));

        // One millisecond before, they were there; and a clock that steps back shows them again.
        bed.clock.set(19);
        assert_eq!(sessions.count().wait().unwrap(), 3);
        assert!(sessions.get(2).wait().unwrap().is_some());
        bed.clock.set(-1);
        assert_eq!(sessions.count().wait().unwrap(), 5);
        bed.store.close().wait().unwrap();
    });
}

/// A sweep has not come by: for writes the row is there.
#[test]
fn writes_see_rows_that_reads_hide() {
    run(|| {
        let bed = Bed::filled(SESSIONS, "INSERT INTO session (id, owner, expires) VALUES (1, 'a', 10)", &[]);
        bed.clock.set(20);
        let sessions = bed.store.table::<Row>("session").hide_expired("expires", TimeUnit::Milliseconds);
        let sessions = sessions.open().wait().unwrap();
        let row = |owner: &str| {
            let row = Row::new().with("id", 1)?.with("owner", owner)?.with("expires", 30)?;
            Ok::<_, walwright::InvalidValue>(row)
        };
        let error = sessions.insert(&row("b").unwrap()).wait().unwrap_err();
        assert!(matches!(error, WriteError::Constraint(_)), "{error}");
        sessions.upsert(&row("b").unwrap()).wait().unwrap();
        assert!(sessions.exists(1).wait().unwrap());
        bed.store.close().wait().unwrap();
    });
}

#[test]
fn a_column_that_holds_no_times_is_refused() {
    run(|| {
        let bed = Bed::new(SESSIONS, &[]);
        let open = |column: &str| {
            bed.store.table::<Row>("session").hide_expired(column, TimeUnit::Seconds).open().wait()
        };
        assert!(matches!(open("stamp"), Err(TableError::NotATime { .. })));
        assert!(matches!(open("absent"), Err(TableError::UnknownColumn { .. })));
        bed.store.close().wait().unwrap();
    });
}
