//! The keeper with chores of every kind of manners, on real stores.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use walwright_test_support::{Scratch, watchdog};

use super::{Chore, ChoreStep, KeepError, slice, slice_value};
use crate::error::{OpenError, WriteError};
use crate::handle::Store;
use crate::sqlite::writer::WriteOutput;

const LIMIT: Duration = Duration::from_secs(60);

/// A chore that does what it is told, and tells what became of each slice.
struct Puppet {
    name: &'static str,
    steps: Box<dyn FnMut() -> ChoreStep + Send>,
    results: Sender<Result<i64, String>>,
}

impl Chore for Puppet {
    fn name(&self) -> &str {
        self.name
    }

    fn next(&mut self, _: Duration, _: Instant) -> ChoreStep {
        (self.steps)()
    }

    fn done(&mut self, result: Result<WriteOutput, WriteError>) {
        let result = result.map(|output| slice_value(output).unwrap()).map_err(|error| error.to_string());
        let _ = self.results.send(result);
    }
}

fn keep(
    store: &Store,
    name: &'static str,
    steps: impl FnMut() -> ChoreStep + Send + 'static,
) -> Receiver<Result<i64, String>> {
    let (results, received) = channel();
    store.keep(Box::new(Puppet { name, steps: Box::new(steps), results })).unwrap();
    received
}

/// A slice that inserts a row and gives the number of rows.
fn insert() -> ChoreStep {
    ChoreStep::Slice(slice(|tx| {
        tx.execute("INSERT INTO t VALUES (1)", [])?;
        tx.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
    }))
}

fn failing() -> ChoreStep {
    ChoreStep::Slice(slice(|tx| tx.query_row("SELECT x FROM absent", [], |row| row.get::<_, i64>(0))))
}

fn store() -> Store {
    let store = Store::temporary().readers(1).open().wait().unwrap();
    store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    store
}

#[test]
fn slices_are_carried_out_one_after_the_other_until_the_chore_is_over() {
    watchdog(LIMIT, || {
        let store = store();
        let mut left = 3;
        let results = keep(&store, "three", move || {
            left -= 1;
            if left >= 0 { insert() } else { ChoreStep::Over }
        });
        assert_eq!(results.iter().collect::<Vec<_>>(), [Ok(1), Ok(2), Ok(3)]);
        // It was dropped, so it is over, and its line is gone.
        assert_eq!(store.stats().chores, []);
        store.close().wait().unwrap();
    });
}

#[test]
fn stats_have_a_line_for_each_chore() {
    watchdog(LIMIT, || {
        let store = store();
        let mut left = 2;
        let results = keep(&store, "two", move || {
            left -= 1;
            if left >= 0 { insert() } else { ChoreStep::Sleep }
        });
        assert_eq!(results.iter().take(2).collect::<Vec<_>>(), [Ok(1), Ok(2)]);
        let line = store.stats().chores.remove(0);
        assert_eq!((&*line.name, line.slices, line.rows, line.failures), ("two", 2, 2, 0));
        store.close().wait().unwrap();
    });
}

#[test]
fn chores_take_turns() {
    watchdog(LIMIT, || {
        let store = store();
        let (turns, taken) = channel();
        let turns_of_b = turns.clone();
        // Both are there before either has a turn: the first one waits for the second.
        let gate = walwright_test_support::Gate::new();
        let inside = gate.clone();
        let a = keep(&store, "a", move || {
            inside.wait();
            let _ = turns.send('a');
            insert()
        });
        let b = keep(&store, "b", move || {
            let _ = turns_of_b.send('b');
            insert()
        });
        gate.open();
        let order: String = taken.iter().take(6).collect();
        assert_eq!(order, "ababab");
        drop((a, b));
        store.close().wait().unwrap();
    });
}

#[test]
fn a_sleeping_chore_is_asked_again_when_it_is_woken() {
    watchdog(LIMIT, || {
        let store = store();
        let (asked, asks) = channel();
        let _results = keep(&store, "sleeper", move || {
            let _ = asked.send(());
            ChoreStep::Sleep
        });
        for _ in 0..3 {
            asks.recv().unwrap();
            store.engine().keeper.wake("somebody else");
            store.engine().keeper.wake("sleeper");
        }
        store.close().wait().unwrap();
    });
}

#[test]
fn close_does_not_wait_for_a_chore_that_never_ends() {
    watchdog(LIMIT, || {
        for resting in [false, true] {
            let store = store();
            let mut first = true;
            let results = keep(&store, "endless", move || {
                if resting && !std::mem::take(&mut first) {
                    return ChoreStep::Rest(Duration::from_secs(3600));
                }
                insert()
            });
            assert_eq!(results.recv(), Ok(Ok(1)));
            store.close().wait().unwrap();
            assert!(matches!(
                store.keep(Box::new(Puppet { name: "late", steps: Box::new(insert), results: channel().0 })),
                Err(KeepError::Closed)
            ));
            // The keeper is gone, and the chore with it.
            assert!(results.iter().all(|result| result.is_ok()));
        }
    });
}

#[test]
fn a_chore_does_not_keep_the_store_open() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let open = || Store::builder(scratch.join("store.db")).readers(1).open().wait();
        let store = open().unwrap();
        store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
        let results = keep(&store, "endless", insert);
        results.recv().unwrap().unwrap();
        drop(store);
        // Ends when the keeper drops the chore.
        results.iter().for_each(drop);
        let again = loop {
            match open() {
                Err(OpenError::AlreadyOpen { .. }) => std::thread::yield_now(),
                other => break other.unwrap(),
            }
        };
        again.close().wait().unwrap();
    });
}

#[test]
fn a_slice_that_fails_is_counted_and_leaves_the_others_alone() {
    watchdog(LIMIT, || {
        let store = store();
        let failures = keep(&store, "failing", failing);
        let error = failures.recv().unwrap().unwrap_err();
        assert!(error.contains("no such table: absent"), "{error}");
        let results = keep(&store, "other", insert);
        assert_eq!(results.recv(), Ok(Ok(1)));
        let line = store.stats().chores.remove(0);
        assert_eq!((&*line.name, line.slices, line.failures), ("failing", 0, 1));
        assert_eq!(line.last_error.as_deref(), Some(&*error));
        // Being woken does not shorten its rest.
        store.engine().keeper.wake("failing");
        assert_eq!(results.iter().nth(3), Some(Ok(5)));
        assert_eq!(store.stats().chores[0].failures, 1);
        store.close().wait().unwrap();
    });
}

#[test]
fn a_chore_that_panics_is_given_up_and_the_others_go_on() {
    watchdog(LIMIT, || {
        let store = store();
        let broken = keep(&store, "broken", || std::panic::resume_unwind(Box::new("out of order")));
        // Dropped.
        assert!(broken.recv().is_err());
        let line = store.stats().chores.remove(0);
        assert!(line.last_error.unwrap().contains("out of order"));
        assert_eq!(store.stats().panics, 1);
        assert_eq!(keep(&store, "other", insert).recv(), Ok(Ok(1)));
        store.close().wait().unwrap();
    });
}
