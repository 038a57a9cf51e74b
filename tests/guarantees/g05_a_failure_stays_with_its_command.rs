//! 5. A failure stays with its command.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use walwright::rusqlite::params;
use walwright::{AckLevel, ClosureError, Outcome, Store, StoreBuilder, Tx, WriteError};

use crate::bed::{AnyWrite, Bed, column, ids, run};

const SCHEMA: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, v UNIQUE CHECK (v <> 'forbidden'));
    INSERT INTO t VALUES (1, 'taken'), (2, 'too');
    CREATE TABLE failing (id INTEGER PRIMARY KEY, v UNIQUE ON CONFLICT FAIL);
    CREATE TABLE rolling (id INTEGER PRIMARY KEY, v UNIQUE ON CONFLICT ROLLBACK);
    CREATE TABLE abort_bell (id); CREATE TABLE fail_bell (id); CREATE TABLE rollback_bell (id);
    CREATE TRIGGER ring_abort AFTER INSERT ON abort_bell WHEN new.id = 3
        BEGIN INSERT INTO t (id) VALUES (900); SELECT RAISE(ABORT, 'no'); END;
    CREATE TRIGGER ring_fail AFTER INSERT ON fail_bell WHEN new.id = 3
        BEGIN INSERT INTO t (id) VALUES (901); SELECT RAISE(FAIL, 'no'); END;
    CREATE TRIGGER ring_rollback AFTER INSERT ON rollback_bell WHEN new.id = 3
        BEGIN INSERT INTO t (id) VALUES (902); SELECT RAISE(ROLLBACK, 'no'); END;
    CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES t DEFERRABLE INITIALLY DEFERRED);
";

/// Statements that fail, of every kind.
const CULPRITS: &[&str] = &[
    "INSERT INTO t VALUES (800, 'taken')",
    "INSERT INTO t VALUES (800, 'forbidden')",
    "INSERT INTO t VALUES (800, 'x'), (801, 'y'), (1, 'z')",
    "INSERT OR FAIL INTO t VALUES (800, 'x'), (801, 'y'), (1, 'z')",
    "INSERT OR ROLLBACK INTO t VALUES (800, 'x'), (801, 'y'), (1, 'z')",
    "INSERT OR ABORT INTO t VALUES (800, 'x'), (801, 'y'), (1, 'z')",
    "UPDATE OR FAIL t SET id = id + 800, v = 'same'",
    "UPDATE OR ROLLBACK t SET id = id + 800, v = 'forbidden'",
    "INSERT INTO failing VALUES (800, 'x'), (801, 'y'), (802, 'x')",
    "INSERT INTO rolling VALUES (800, 'x'), (801, 'y'), (802, 'x')",
    "INSERT INTO abort_bell VALUES (1), (2), (3)",
    "INSERT INTO fail_bell VALUES (1), (2), (3)",
    "INSERT INTO rollback_bell VALUES (1), (2), (3)",
    "INSERT INTO child VALUES (800, 12345)",
    "INSERT INTO nowhere VALUES (1)",
    "INSERT INTO t VALUES (800, 'x'); INSERT INTO t VALUES (801, 'y')",
    "COMMIT",
    "ROLLBACK",
    "PRAGMA foreign_keys = 0",
    "UPDATE t SET v = v || zeroblob(2000000000)",
    "WITH n (i) AS (SELECT 800 UNION ALL SELECT i + 1 FROM n) INSERT INTO t (id) SELECT i FROM n",
];

fn open(bed: &Bed) -> Store {
    crate::bed::synced(limits(bed.builder()))
}

/// Endless SQL is ended soon, and large results are refused.
fn limits(builder: StoreBuilder) -> StoreBuilder {
    builder.run_limit(Duration::from_millis(400)).largest_result(4_000)
}

/// Everything in the tables.
fn content(store: &Store) -> Vec<(String, i64)> {
    let sql = "SELECT 't', id FROM t UNION ALL SELECT 'failing', id FROM failing
               UNION ALL SELECT 'rolling', id FROM rolling UNION ALL SELECT 'abort', id FROM abort_bell
               UNION ALL SELECT 'fail', id FROM fail_bell UNION ALL SELECT 'rollback', id FROM rollback_bell
               UNION ALL SELECT 'child', id FROM child ORDER BY 1, 2";
    let rows = store.query(sql, ()).wait().unwrap();
    rows.iter().map(|row| (row.get(0).unwrap(), row.get(1).unwrap())).collect()
}

fn good(store: &Store, id: i64) -> walwright::Write<walwright::Receipt> {
    store.execute("INSERT INTO t (id) VALUES (?1)", (id,))
}

/// An error without the parts that may differ from run to run.
fn kind(error: &WriteError) -> String {
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    error.to_string()
}

/// A culprit among good commands: it fails as it does alone, and nothing else shows that it was there.
fn check<W: Into<AnyWrite>>(name: &str, culprit: impl Fn(&Store) -> W) {
    let bed = Bed::with(SCHEMA);
    let store = open(&bed);
    let mut expected = content(&store);
    let alone = culprit(&store).into().wait().expect_err(name);
    assert_eq!(content(&store), expected, "{name}: alone");
    for place in [0, 1, 3] {
        let id = |at: i64| 10 * (place + 1) + at;
        let writes = (0..4).map(|at| -> AnyWrite {
            if at == place { culprit(&store).into() } else { good(&store, id(at)).into() }
        });
        let answers = bed.answers(&store, writes.collect::<Vec<_>>());
        for (at, (answer, _)) in (0..).zip(&answers) {
            match answer {
                Ok(receipt) => {
                    assert_ne!(at, place, "{name}: at {place}");
                    assert_eq!(receipt.rows_changed, 1, "{name}: at {place}");
                    expected.push(("t".to_owned(), id(at)));
                }
                Err(error) => {
                    assert_eq!(at, place, "{name}: {error}");
                    assert_eq!(kind(error), kind(&alone), "{name}: the answer of a run alone");
                }
            }
        }
        expected.sort();
        assert_eq!(content(&store), expected, "{name}: at {place}");
        // What was answered is durable, and nothing of the culprit is.
        let survived = bed.reopen(&answers[3].1);
        assert_eq!(content(&survived), expected, "{name}: at {place}, after a power cut");
    }
    // Nothing is left on the connection.
    good(&store, 99).wait().expect(name);
    assert_eq!(store.flush().wait().expect(name).rows_changed, 0);
}

/// Every second culprit from `first` on, so that the halves run side by side.
fn every_culprit(first: usize, as_closure: bool) {
    for &sql in CULPRITS.iter().skip(first).step_by(2) {
        if as_closure {
            check(sql, |store| store.write(move |tx| tx.execute(sql, ())));
        } else {
            check(sql, |store| store.execute(sql, ()));
        }
    }
}

#[test]
fn a_failing_statement_leaves_the_others_alone() {
    run(|| every_culprit(0, false));
}

#[test]
fn another_failing_statement_leaves_the_others_alone() {
    run(|| every_culprit(1, false));
}

#[test]
fn a_failing_closure_leaves_the_others_alone() {
    run(|| every_culprit(0, true));
}

#[test]
fn another_failing_closure_leaves_the_others_alone() {
    run(|| every_culprit(1, true));
}

#[test]
fn a_failing_batch_leaves_nothing_of_itself() {
    run(|| {
        for sql in [CULPRITS[0], CULPRITS[3], CULPRITS[4], CULPRITS[11], CULPRITS[13]] {
            check(sql, |store| {
                let batch = store.batch().execute("INSERT INTO t (id) VALUES (700)", ());
                batch.execute(sql, ()).execute("INSERT INTO t (id) VALUES (701)", ()).send()
            });
        }
    });
}

#[test]
fn a_closure_that_fails_by_itself_leaves_nothing_of_itself() {
    fn write(tx: &Tx<'_>) -> Result<(), ClosureError> {
        tx.execute_batch("INSERT INTO t (id) VALUES (700); DELETE FROM t WHERE id = 1")
    }
    run(|| {
        check("an error", |store| {
            store.write(|tx| {
                write(tx)?;
                Err::<(), _>(ClosureError::message("changed my mind"))
            })
        });
        check("a panic", |store| {
            store.write(|tx| -> Result<(), ClosureError> {
                write(tx)?;
                panic!("changed my mind")
            })
        });
        check("a panic with rows in hand", |store| {
            store.write(|tx| -> Result<(), ClosureError> {
                write(tx)?;
                let mut statement = tx.prepare("SELECT id FROM t")?;
                let mut rows = statement.query(())?;
                rows.next()?;
                panic!("changed my mind")
            })
        });
        check("a forgotten cursor and an error", |store| {
            store.write(|tx| {
                write(tx)?;
                let mut statement = tx.prepare("SELECT id FROM t")?;
                let mut rows = statement.query(())?;
                rows.next()?;
                std::mem::forget(rows);
                std::mem::forget(statement);
                Err::<(), _>(ClosureError::message("changed my mind"))
            })
        });
        check("rows that are too large", |store| {
            store.execute_returning("INSERT INTO t (id, v) VALUES (700, zeroblob(5000)) RETURNING v", ())
        });
        check("an error that ended the transaction and is passed over", |store| {
            store.write(|tx| {
                write(tx)?;
                let _ = tx.execute("INSERT OR ROLLBACK INTO t VALUES (2, 'x')", ());
                // Would commit by itself if it ran.
                let _ = tx.execute("INSERT INTO t (id) VALUES (702)", ());
                Ok(())
            })
        });
        check("a foreign key left open and an Ok", |store| {
            store.write(|tx| tx.execute("INSERT INTO child VALUES (700, 12345)", ()).map(drop))
        });
    });
}

#[test]
fn a_forgotten_cursor_does_not_fail_the_commit() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        let forgetful = store.write(|tx| {
            let mut statement = tx.prepare("SELECT id FROM t")?;
            let mut rows = statement.query(())?;
            rows.next()?;
            std::mem::forget(rows);
            std::mem::forget(statement);
            Ok(())
        });
        let writes: [AnyWrite; 3] = [good(&store, 10).into(), forgetful.into(), good(&store, 11).into()];
        for (answer, image) in bed.answers(&store, writes) {
            answer.unwrap();
            assert_eq!(bed.ids_in(&image), [1, 2, 10, 11]);
        }
    });
}

#[test]
fn nobody_else_of_the_group_closes_an_open_foreign_key() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        let child = store.execute("INSERT INTO child VALUES (1, 50)", ());
        let answers = bed.answers(&store, [child, good(&store, 50)]);
        assert!(matches!(answers[0].0, Err(WriteError::Constraint(_))), "{:?}", answers[0].0);
        answers[1].0.as_ref().unwrap();
        // One command may open and close it.
        let both = store.batch().execute("INSERT INTO child VALUES (1, 60)", ());
        both.execute("INSERT INTO t (id) VALUES (60)", ()).send().wait().unwrap();
        // And nobody else of the group opens it for a command that was right.
        let answers = bed.answers(
            &store,
            [
                store.execute("INSERT INTO child VALUES (2, 50)", ()),
                store.execute("DELETE FROM t WHERE id = 50", ()),
                store.execute("INSERT INTO child VALUES (3, 60)", ()),
            ],
        );
        assert!(answers[0].0.is_ok() && answers[1].0.is_err() && answers[2].0.is_ok());
        assert_eq!(column::<i64>(&store, "SELECT id FROM child ORDER BY id"), [1, 2, 3]);
    });
}

#[test]
fn many_culprits_in_one_group_do_not_run_it_many_times() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        let runs = Arc::new(AtomicUsize::new(0));
        let writes = (0..40_i64).map(|at| -> AnyWrite {
            match at % 4 {
                0 => store.execute("INSERT OR ROLLBACK INTO t VALUES (1, 'x')", ()).into(),
                1 => good(&store, 100 + at).into(),
                2 => store.execute("INSERT INTO rollback_bell VALUES (3)", ()).into(),
                _ => {
                    let runs = runs.clone();
                    let write = store.write(move |tx| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        tx.execute("INSERT INTO t (id) VALUES (?1)", params![100 + at])
                    });
                    write.into()
                }
            }
        });
        let answers = bed.answers(&store, writes);
        for (at, (answer, _)) in answers.iter().enumerate() {
            assert_eq!(answer.is_ok(), at % 2 == 1, "{at}: {answer:?}");
        }
        assert_eq!(ids(&store).len(), 2 + 20);
        let runs = runs.load(Ordering::Relaxed);
        assert!((10..=30).contains(&runs), "10 closures ran {runs} times");
    });
}

#[test]
fn a_closure_that_is_carried_out_again_does_not_see_its_first_run() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let counting = store.write(move |tx| {
            counted.fetch_add(1, Ordering::Relaxed);
            tx.execute("INSERT INTO t (id) SELECT 100 + count(*) FROM t", ())
        });
        let culprit = store.execute("INSERT OR ROLLBACK INTO t VALUES (2, 'x')", ());
        let writes: [AnyWrite; 3] = [good(&store, 10).into(), counting.into(), culprit.into()];
        let answers = bed.answers(&store, writes);
        assert!(answers[0].0.is_ok() && answers[1].0.is_ok() && answers[2].0.is_err());
        assert_eq!(runs.load(Ordering::Relaxed), 2, "or this test shows nothing");
        assert_eq!(ids(&store), [1, 2, 10, 103]);
    });
}

/// A command rolled the whole group back because of a row that another one had inserted. Carried out again, the
/// other one failed; yet the first kept its "UNIQUE constraint failed", about a row that never was.
#[test]
fn a_culprit_does_not_fail_by_a_row_that_never_was() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        let mut runs = 0;
        let fickle = store.write(move |tx| {
            tx.execute("INSERT INTO t VALUES (10, 'first run')", ())?;
            runs += 1;
            if runs == 1 { Ok(()) } else { Err(ClosureError::message("second run")) }
        });
        let culprit = store.execute("INSERT OR ROLLBACK INTO t VALUES (10, 'mine')", ());
        let writes: [AnyWrite; 2] = [fickle.into(), culprit.into()];
        let answers = bed.answers(&store, writes);
        assert!(answers[0].0.is_err(), "or this test shows nothing");
        assert!(answers[1].0.is_ok(), "{:?}", answers[1].0);
        assert_eq!(column::<String>(&store, "SELECT v FROM t WHERE id = 10"), ["mine"]);
    });
}

#[test]
fn a_failure_that_was_caused_by_a_culprit_is_taken_back() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        // The first is undone by the third; without the first, the second is right.
        let answers = bed.answers(
            &store,
            [
                store.execute("INSERT INTO t VALUES (10, 'mine')", ()),
                store.execute("INSERT INTO t VALUES (11, 'mine')", ()),
                store.execute("INSERT OR ROLLBACK INTO t VALUES (1, 'x')", ()),
                store.execute("INSERT INTO t VALUES (12, 'mine')", ()),
            ],
        );
        let ok: Vec<bool> = answers.iter().map(|(answer, _)| answer.is_ok()).collect();
        assert_eq!(ok, [true, false, false, false], "as one after the other would have been answered");
        assert_eq!(ids(&store), [1, 2, 10]);
    });
}

#[test]
fn a_failing_closure_keeps_its_own_error() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        #[derive(Debug, PartialEq)]
        struct Mine(u8);
        impl std::fmt::Display for Mine {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "mine")
            }
        }
        impl std::error::Error for Mine {}
        let error = store.write(|_| Err::<(), _>(Mine(7).into())).wait().unwrap_err();
        let WriteError::Closure(error) = error else { panic!("{error:?}") };
        assert_eq!(error.downcast_ref(), Some(&Mine(7)));
    });
}

#[test]
fn a_panic_while_a_command_is_dropped_stays_with_it() {
    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("dropped");
            }
        }
    }
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = open(&bed);
        let captured = PanicsWhenDropped;
        let bad = store.write(move |tx| {
            let _used = &captured;
            tx.execute("INSERT INTO t (id) VALUES (10)", ())
        });
        let writes: [AnyWrite; 2] = [bad.into(), good(&store, 11).into()];
        let answers = bed.answers(&store, writes);
        assert!(answers[1].0.is_ok(), "{:?}", answers[1].0);
        good(&store, 12).wait().unwrap();
        // A value that nobody waits for any more is dropped by the writer.
        drop(store.write(|_| Ok(PanicsWhenDropped)).try_submit().unwrap());
        good(&store, 13).wait().unwrap();
        assert_eq!(ids(&store), [1, 2, 10, 11, 12, 13]);
    });
}

#[test]
fn a_command_alone_in_its_group_fails_as_in_company() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = crate::bed::synced(limits(bed.builder()).group(1, 1, Duration::from_secs(60)));
        for &sql in CULPRITS.iter().filter(|sql| !sql.contains("WITH n")) {
            let error = store.execute(sql, ()).ack(AckLevel::Committed).wait().unwrap_err();
            assert_eq!(error.outcome(), Outcome::NotApplied, "{sql}: {error:?}");
        }
        assert_eq!(ids(&store), [1, 2]);
    });
}

#[test]
fn a_statement_that_comes_again_fails_as_the_first_time() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let store = bed.open();
        const INSERT: &str = "INSERT INTO t VALUES (?1, ?2)";
        let mut first = None;
        for round in 10..16 {
            // A text of the program, and one that lies elsewhere each time.
            let insert = |id: i64, v: &str| store.execute(INSERT, (id, v)).wait();
            let elsewhere = |id: i64, v: &str| store.execute(INSERT.to_owned(), (id, v)).wait();
            assert_eq!(insert(round, &format!("a{round}")).unwrap().rows_changed, 1);
            assert_eq!(elsewhere(round + 100, &format!("b{round}")).unwrap().rows_changed, 1);
            let failures = [
                insert(1, "new").unwrap_err(),
                elsewhere(round + 200, "forbidden").unwrap_err(),
                store.execute(INSERT, (1,)).wait().unwrap_err(),
                store.execute(INSERT, (1, 2, 3)).wait().unwrap_err(),
            ];
            let failures = failures.map(|failure| failure.to_string());
            assert_eq!(first.get_or_insert(failures.clone()), &failures, "round {round}");
            let nobody = store.execute("UPDATE t SET v = NULL WHERE id = ?1", (round + 300,));
            assert_eq!(nobody.wait().unwrap().rows_changed, 0, "not the count of the statement before");
            let batch =
                store.batch().execute(INSERT, (round + 300, format!("c{round}"))).execute(INSERT, (1, "x"));
            batch.send().wait().unwrap_err();
        }
        assert_eq!(ids(&store).len(), 2 + 2 * 6);
    });
}
