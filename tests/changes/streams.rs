//! Subscribers: what each gets, how much is kept for it, and who may wait.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use walwright::{Change, ChangesError};

use crate::bed::{Bed, row, run, taken, told};

const SCHEMA: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER NOT NULL);
    CREATE TABLE other (id INTEGER PRIMARY KEY);
";

#[test]
fn a_slow_subscriber_is_told_what_it_missed_and_goes_on() {
    run(|| {
        let mut bed = Bed::with(SCHEMA, |builder| builder.change_buffer(3, 1 << 20));
        let t = bed.table();
        let sequences: Vec<u64> =
            (0..10).map(|id| t.insert(&row(id, "x")).wait().unwrap().sequence).collect();
        let changes = taken(&mut bed.changes);
        assert_eq!(changes.len(), 4);
        assert_eq!(changes[3], Change::Lagged { missed_from: sequences[3] });
        t.insert(&row(10, "x")).wait().unwrap();
        assert_eq!(bed.told(), ["insert t(10) r1"]);
    });
}

/// Until it has heard of the gap nothing comes behind it, or there would be a second one nobody knows of.
#[test]
fn a_subscriber_that_lags_gets_nothing_before_it_knows() {
    run(|| {
        let mut bed = Bed::with(SCHEMA, |builder| builder.change_buffer(1, 1 << 20));
        let t = bed.table();
        t.insert_many(&[row(1, "x"), row(2, "x")]).wait().unwrap();
        assert!(matches!(bed.changes.try_next(), Some(Ok(Change::Row(_)))));
        t.insert(&row(3, "x")).wait().unwrap();
        assert!(matches!(bed.changes.try_next(), Some(Ok(Change::Lagged { .. }))));
        assert!(bed.changes.try_next().is_none());
        t.insert(&row(4, "x")).wait().unwrap();
        assert_eq!(bed.told(), ["insert t(4) r1"]);
    });
}

#[test]
fn bytes_are_bounded_too() {
    run(|| {
        let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name TEXT, v INTEGER NOT NULL)";
        let mut bed = Bed::with(schema, |builder| builder.change_buffer(1_000, 4_096));
        let t = bed.table();
        for id in ["a", "b", "c"] {
            t.insert(&row(id.repeat(3_000).as_str(), "x")).wait().unwrap();
        }
        let words: Vec<usize> = bed.told().iter().map(String::len).collect();
        assert_eq!(words.len(), 2, "one, and that others were missed: {words:?}");
    });
}

#[test]
fn each_subscriber_gets_everything_from_its_subscription_on() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let t = bed.table();
        t.insert(&row(1, "x")).wait().unwrap();
        let mut second = bed.store.changes();
        let mut of_other = bed.store.table::<walwright::Row>("other").open().wait().unwrap().changes();
        t.insert(&row(2, "x")).wait().unwrap();
        bed.sql("INSERT INTO other VALUES (1)");
        bed.outside().execute_batch("INSERT INTO other VALUES (2)").unwrap();
        bed.sql("UPDATE t SET name = 'y'");
        assert_eq!(
            told(&mut second),
            ["insert t(2) r1", "insert other(1)", "anything", "update t(1)", "update t(2)"]
        );
        assert_eq!(told(&mut of_other), ["insert other(1)", "anything"]);
        drop(second);
        assert_eq!(bed.told().len(), 6);
    });
}

#[test]
fn a_stream_that_is_waited_for_wakes_its_task() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let Bed { store, mut changes, .. } = bed;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let waiting = tokio::spawn(async move {
                let first = changes.next().await;
                (first, changes)
            });
            store.execute("INSERT INTO t VALUES (1, 'a', 1)", ()).await.unwrap();
            let (first, mut changes) = waiting.await.unwrap();
            assert!(matches!(first, Some(Ok(Change::Row(_)))));
            assert!(matches!(changes.wait_next(), Some(Err(ChangesError::WouldBlockRuntime))));
            // A future that is dropped takes nothing along.
            {
                let mut next = pin!(changes.next());
                assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            store.execute("INSERT INTO t VALUES (2, 'a', 1)", ()).await.unwrap();
            assert!(matches!(changes.next().await, Some(Ok(Change::Row(_)))));
            store.close().await.unwrap();
            let mut context = Context::from_waker(Waker::noop());
            assert!(matches!(changes.poll_next(&mut context), Poll::Ready(None)));
        });
    });
}

#[test]
fn a_closure_cannot_wait_for_changes() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let Bed { store, mut changes, .. } = bed;
        let inside =
            store.write(move |_| Ok(matches!(changes.wait_next(), Some(Err(ChangesError::Reentrant)))));
        assert!(inside.wait().unwrap().value);
    });
}

/// The stream is no handle of the store: with the last of these the store closes.
#[test]
fn a_stream_does_not_keep_the_store_open() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let Bed { store, mut changes, .. } = bed;
        store.execute("INSERT INTO t VALUES (1, 'a', 1)", ()).wait().unwrap();
        drop(store);
        assert!(matches!(changes.wait_next(), Some(Ok(Change::Row(_)))));
        assert!(changes.wait_next().is_none());
    });
}

/// With a waker that panics: it is the subscriber's code.
#[test]
fn a_waker_that_panics_hurts_nobody() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker of the test");
        }
    }
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let waker = Waker::from(std::sync::Arc::new(Panics));
        assert!(bed.changes.poll_next(&mut Context::from_waker(&waker)).is_pending());
        bed.sql("INSERT INTO t VALUES (1, 'a', 1)");
        assert_eq!(bed.told(), ["insert t(1)"]);
    });
}
