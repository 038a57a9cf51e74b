//! Update of one row.

use serde::{Deserialize, Serialize};

use crate::bed::{Bed, constraint, run};

#[derive(Serialize, Deserialize)]
struct Job {
    id: i64,
    state: String,
    load: Option<f64>,
    v: i64,
}

const JOBS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, state TEXT NOT NULL, load REAL, v INTEGER NOT NULL); \
                    INSERT INTO t VALUES (1, 'new', 0.5, 1), (2, 'new', 0.5, 1)";

#[test]
fn an_update_changes_what_it_sets_and_nothing_else() {
    run(|| {
        let bed = Bed::new(JOBS);
        let jobs = bed.revised::<Job>();
        let changed = jobs.update(1).set("state", "done").wait().unwrap();
        assert_eq!((changed.rows_changed, changed.created), (1, false));
        assert_eq!((changed.revision, changed.rowid), (Some(2), None));
        let changed = jobs.update(1).set("LOAD", None::<f64>).set("load", 1.5).set("state", "over").wait();
        assert_eq!(changed.unwrap().revision, Some(3), "the last value counts, names in any case");
        assert_eq!(bed.look("SELECT * FROM t"), ["1|over|1.5|3", "2|new|0.5|1"]);
    });
}

#[test]
fn a_row_that_is_not_there_is_no_error() {
    run(|| {
        let bed = Bed::new(JOBS);
        let jobs = bed.revised::<Job>();
        let updated = jobs.update(9).set("state", "done").wait().unwrap();
        assert_eq!((updated.rows_changed, updated.revision, updated.created), (0, None, false));
        let deleted = jobs.delete(9).wait().unwrap();
        assert_eq!((deleted.rows_changed, deleted.revision, deleted.created), (0, None, false));
        assert!(deleted.sequence > updated.sequence);
        assert_eq!(bed.one("SELECT count(*) FROM t"), "2");
    });
}

/// The engine writes the revision, whatever the field holds, and the key names the row.
#[test]
fn set_row_sets_all_but_the_key_and_the_revision() {
    run(|| {
        let bed = Bed::new(JOBS);
        let jobs = bed.revised::<Job>();
        let row = Job { id: 77, state: "done".to_owned(), load: None, v: 99 };
        assert_eq!(jobs.update(1).set_row(&row).wait().unwrap().revision, Some(2));
        let changed = jobs.update(2).set("load", 9.0).set_row(&row).set("state", "late").wait().unwrap();
        assert_eq!(changed.revision, Some(2));
        assert_eq!(bed.look("SELECT * FROM t"), ["1|done|NULL|2", "2|late|NULL|2"]);
    });
}

#[test]
fn an_update_can_change_the_key_itself() {
    run(|| {
        let bed = Bed::new(JOBS);
        let jobs = bed.revised::<Job>();
        assert_eq!(jobs.update(1).set("id", 5).wait().unwrap().revision, Some(2));
        constraint(jobs.update(5).set("id", 2).wait());
        assert_eq!(jobs.update(1).set("state", "gone").wait().unwrap().rows_changed, 0);
        assert_eq!(jobs.update(5).set("state", "moved").wait().unwrap().revision, Some(3));
        assert_eq!(bed.look("SELECT id, state, v FROM t"), ["2|new|1", "5|moved|3"]);
    });
}

/// Setting what is there already changes the row all the same: the caller who wrote it learns that it did.
#[test]
fn an_update_to_the_same_values_counts_as_a_change() {
    run(|| {
        let bed = Bed::new(JOBS);
        let jobs = bed.revised::<Job>();
        let changed = jobs.update(1).set("state", "new").wait().unwrap();
        assert_eq!((changed.rows_changed, changed.revision), (1, Some(2)));
    });
}
