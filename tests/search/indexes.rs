//! Indexes that are made, found again, built anew and dropped.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use walwright::{ReadError, Row, SearchIndexError, Store};
use walwright_test_support::Gate;

use crate::bed::{Bed, ids, run};

#[test]
fn the_second_open_changes_nothing() {
    run(|| {
        let bed = Bed::new(&["one", "two"]);
        bed.substrings();
        let bed = bed.reopen();
        let look = || {
            let sql = "SELECT (SELECT schema_version FROM pragma_schema_version), count(*), sum(length(block)) \
                       FROM message_search_data";
            let row = &bed.store.query(sql, ()).wait().unwrap()[0];
            [0, 1, 2].map(|at| row.get::<i64>(at).unwrap())
        };
        let before = look();
        let index = bed.substrings();
        assert_eq!(look(), before);
        assert_eq!(ids(index.find("two")), [2]);
    });
}

#[test]
fn a_full_table_is_built_behind_the_store_and_progress_ends() {
    run(|| {
        let bed = Bed::new(&["needle in here"; 5_000]);
        let index =
            bed.messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
        let progress = index.progress().wait().unwrap();
        assert!(progress.done + progress.left_at_most <= 5_000 || progress.is_ready(), "{progress:?}");
        match index.find("needle").wait() {
            Ok(_) => {}
            Err(ReadError::IndexNotReady { index }) => assert_eq!(index, "message_search"),
            Err(error) => panic!("{error}"),
        }
        index.ready().wait().unwrap();
        assert!(index.progress().wait().unwrap().is_ready());
        assert_eq!(ids(index.find("needle").limit(10_000)).len(), 5_000);
        let check = index.check().wait().unwrap();
        assert!(check.is_in_step(), "{check:?}");
        let chores = bed.store.stats().chores;
        assert!(chores.iter().any(|chore| chore.name == "search index message_search"), "{chores:?}");
    });
}

#[test]
fn whoever_waits_hears_of_it_when_the_store_closes() {
    run(|| {
        let bed = Bed::new(&["needle in here"; 20_000]);
        let index =
            bed.messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
        let ready = index.ready();
        bed.store.close().wait().unwrap();
        match ready.wait() {
            // Built, or interrupted: both can be, but it ends.
            Ok(()) | Err(SearchIndexError::Closed) => {}
            Err(error) => panic!("{error}"),
        }
        drop(index);
        let bed = bed.reopen();
        let index = bed.substrings();
        assert_eq!(ids(index.find("needle").limit(10_000)).len(), 10_000);
    });
}

#[test]
fn another_definition_is_refused_or_replaced() {
    run(|| {
        let bed = Bed::new(&["one two"]);
        let open = |substrings: bool, replace: bool| {
            let builder = bed.messages.search_index("Message_Search").columns(["body"]);
            let builder = if substrings { builder.substrings() } else { builder.words() };
            if replace { builder.replace_other().open().wait() } else { builder.open().wait() }
        };
        open(false, false).unwrap();
        open(false, true).unwrap().ready().wait().unwrap();
        assert!(
            matches!(open(true, false), Err(SearchIndexError::Differs { index }) if index == "Message_Search")
        );
        let index = open(true, true).unwrap();
        index.ready().wait().unwrap();
        assert_eq!(ids(index.find("e t")), [1]);

        bed.sql("DROP TRIGGER Message_Search_update");
        assert!(matches!(open(true, false), Err(SearchIndexError::Differs { .. })));
        bed.sql("UPDATE message SET body = 'three'");
        let index = open(true, true).unwrap();
        index.ready().wait().unwrap();
        assert_eq!(ids(index.find("three")), [1]);
    });
}

#[test]
fn what_cannot_be_an_index_is_refused_and_nothing_is_made() {
    run(|| {
        let bed = Bed::new(&["one"]);
        bed.sql(
            "CREATE TABLE taken (id INTEGER PRIMARY KEY);
             CREATE TABLE named (id TEXT PRIMARY KEY NOT NULL, body TEXT);
             CREATE TABLE dense (id INTEGER PRIMARY KEY, body TEXT) WITHOUT ROWID;
             CREATE TABLE old (id INTEGER PRIMARY KEY DESC, body TEXT);",
        );
        let schema = || {
            bed.store.query("SELECT count(*) FROM sqlite_schema", ()).wait().unwrap()[0]
                .get::<i64>(0)
                .unwrap()
        };
        let before = schema();
        let open = |name: &str, columns: &[&str]| {
            let builder = bed.messages.search_index(name).columns(columns.iter().copied());
            builder.open().wait().map(drop)
        };
        assert!(matches!(open("m", &[]), Err(SearchIndexError::NoColumns { .. })));
        assert!(
            matches!(open("m", &["absent"]), Err(SearchIndexError::UnknownColumn { column, .. }) if column == "absent")
        );
        for name in ["", "a\0b", "sqlite_x", "Walwright_x", &"x".repeat(201)] {
            assert!(matches!(open(name, &["body"]), Err(SearchIndexError::InvalidName { .. })), "{name:?}");
        }
        for name in ["taken", "Taken", "message", "message_at"] {
            assert!(matches!(open(name, &["body"]), Err(SearchIndexError::NameTaken { .. })), "{name:?}");
        }
        for table in ["named", "dense", "old"] {
            let table = bed.store.table::<Row>(table).open().wait().unwrap();
            let refused = table.search_index("m").columns(["body"]).open().wait();
            assert!(matches!(refused, Err(SearchIndexError::NoLastingRowid { .. })), "{refused:?}");
        }
        assert_eq!(schema(), before);
        assert!(ids_of_plain_page(&bed.store) == 1);
    });
}

fn ids_of_plain_page(store: &Store) -> i64 {
    store.query("SELECT count(*) FROM message", ()).wait().unwrap()[0].get(0).unwrap()
}

#[test]
fn a_dropped_index_is_gone_for_all_and_can_be_made_again() {
    run(|| {
        let bed = Bed::new(&["one", "two"]);
        let index = bed.substrings();
        let other = bed.substrings();
        index.drop_index().wait().unwrap();
        index.drop_index().wait().unwrap();
        assert!(matches!(other.find("one").wait(), Err(ReadError::NoSearchIndex { .. })));
        bed.sql("INSERT INTO message VALUES (3, 1, 1, 'without an index')");
        let index = bed.substrings();
        assert_eq!(ids(index.find("without")), [3]);
    });
}

#[test]
fn a_rebuilt_index_finds_the_same() {
    run(|| {
        let bed = Bed::new(&["one", "two", "three"]);
        let index = bed.words();
        index.rebuild().wait().unwrap();
        index.ready().wait().unwrap();
        bed.sql("UPDATE message SET body = 'two again' WHERE id = 3");
        assert_eq!(ids(index.find("two")), [2, 3]);
        assert!(index.check().wait().unwrap().is_in_step());
    });
}

#[test]
fn names_of_any_kind_are_names() {
    run(|| {
        let bed = Bed::new(&[]);
        bed.sql(
            "CREATE TABLE \"a \"\"b'\" (\"i d\" INTEGER PRIMARY KEY, \"rank\" TEXT, \"te\"\"xt\" TEXT);
             INSERT INTO \"a \"\"b'\" VALUES (1, 'needle', 'x'), (2, 'x', 'needle')",
        );
        let table = bed.store.table::<Row>("a \"b'").open().wait().unwrap();
        let builder = table.search_index("se arch\"'");
        let index = builder.columns(["rank", "te\"xt"]).substrings().open().wait().unwrap();
        index.ready().wait().unwrap();
        let found = index.find("needle").order_by_desc("i d").wait().unwrap();
        assert_eq!(found.rows.len(), 2);
        assert!(index.check().wait().unwrap().is_in_step());
    });
}

#[test]
fn a_renamed_table_keeps_its_index() {
    run(|| {
        let bed = Bed::new(&["one"]);
        bed.substrings();
        bed.sql(
            "ALTER TABLE message RENAME TO letter; ALTER TABLE letter RENAME COLUMN body TO text;
             INSERT INTO letter VALUES (2, 1, 1, 'renamed')",
        );
        let letters = bed.store.table::<Row>("letter").open().wait().unwrap();
        let index =
            letters.search_index("message_search").columns(["text"]).substrings().open().wait().unwrap();
        index.ready().wait().unwrap();
        assert_eq!(index.find("renamed").wait().unwrap().rows.len(), 1);
    });
}

#[test]
fn vacuum_keeps_the_numbers() {
    run(|| {
        let bed = Bed::new(&["one", "two", "three"]);
        bed.substrings();
        bed.sql("DELETE FROM message WHERE id = 1");
        bed.store.close().wait().unwrap();
        bed.outside().execute_batch("VACUUM").unwrap();
        let bed = bed.reopen();
        let index = bed.substrings();
        assert_eq!((ids(index.find("two")), ids(index.find("three"))), (vec![2], vec![3]));
    });
}

#[test]
fn a_generated_column_can_be_searched() {
    run(|| {
        let bed = Bed::new(&[]);
        bed.sql(
            "CREATE TABLE note (id INTEGER PRIMARY KEY, a TEXT, b TEXT AS (a || ' behind it') VIRTUAL);
             INSERT INTO note (a) VALUES ('one')",
        );
        let notes = bed.store.table::<Row>("note").open().wait().unwrap();
        let index = notes.search_index("note_search").columns(["b"]).words().open().wait().unwrap();
        index.ready().wait().unwrap();
        bed.sql("UPDATE note SET a = 'two'; INSERT INTO note (a) VALUES ('three')");
        let count = |text: &str| index.find(text).wait().unwrap().rows.len();
        assert_eq!((count("one"), count("two behind"), count("behind")), (0, 1, 2));
    });
}

#[test]
fn the_engines_own_table_is_left_alone() {
    run(|| {
        let bed = Bed::new(&["one"]);
        bed.substrings();
        let refused = bed.store.execute("INSERT INTO walwright_search VALUES ('x', 1, 1, 1)", ()).wait();
        assert!(matches!(refused, Err(walwright::WriteError::NotAllowed { .. })), "{refused:?}");
        assert!(bed.store.table::<Row>("walwright_search").open().wait().is_err());
    });
}

/// FTS5 may remember how the index was before: see `src/search/check.rs`.
#[test]
fn a_check_goes_by_the_index_as_it_is() {
    run(|| {
        let bed = Bed::new(&["needle"; 50]);
        let index = bed.substrings();
        for round in 0..5 {
            assert_eq!(ids(index.find("needle")).len(), 50);
            // Written and put together by another hand: the reader has searched before, and checks next.
            bed.sql("UPDATE message SET body = body || ' x'; INSERT INTO message_search (message_search) VALUES ('optimize')");
            let check = index.check().wait().unwrap();
            assert!(check.is_in_step(), "round {round}: {check:?}");
        }
    });
}

/// The names of an index's triggers are made of its own. Who has a trigger of such a name keeps it.
#[test]
fn a_trigger_of_the_users_own_is_not_taken_for_one_of_an_index() {
    run(|| {
        let bed = Bed::new(&["one two"]);
        bed.sql(
            "CREATE TABLE noted (id INTEGER);
             CREATE TRIGGER log_insert AFTER INSERT ON message BEGIN INSERT INTO noted VALUES (new.id); END",
        );
        for replace in [false, true] {
            let index = bed.messages.search_index("log").columns(["body"]);
            let index = if replace { index.replace_other() } else { index };
            let refused = index.open().wait().unwrap_err();
            assert!(matches!(&refused, SearchIndexError::NameTaken { index } if index == "log"), "{refused}");
        }
        bed.sql("INSERT INTO message VALUES (2, 1, 2, 'three')");
        assert_eq!(
            bed.outside().query_row("SELECT id FROM noted", [], |row| row.get::<_, i64>(0)).unwrap(),
            2
        );
        bed.store.close().wait().unwrap();
    });
}

/// A waker is the program's code.
#[test]
fn a_waker_that_panics_keeps_nobody_else_waiting() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker of the test");
        }
    }
    run(|| {
        let bed = Bed::new(&["needle in here"; 2_000]);
        let gate = walwright_test_support::Gate::new();
        let index = bed.messages.search_index("message_search").columns(["body"]).substrings();
        let index = index.open().wait().unwrap();
        // A slice may have built it by now: then it is built anew.
        let at_gate = gate.clone();
        let rebuilding = index.rebuild();
        rebuilding.wait().unwrap();
        let held = bed.store.write(move |_| {
            at_gate.wait();
            Ok(())
        });
        let held = held.try_submit().unwrap();
        gate.wait_until_entered_by(1);
        let mut panics = Box::pin(index.ready());
        let waker = std::task::Waker::from(std::sync::Arc::new(Panics));
        let polled = std::future::Future::poll(panics.as_mut(), &mut std::task::Context::from_waker(&waker));
        let ready = index.ready();
        gate.open();
        held.wait().unwrap();
        ready.wait().unwrap();
        // And the keeper goes on with it.
        if polled.is_pending() {
            index.rebuild().wait().unwrap();
            index.ready().wait().unwrap();
        }
        assert_eq!(ids(index.find("needle").limit(10_000)).len(), 2_000);
        bed.store.close().wait().unwrap();
    });
}

/// Polls a future once, which sends its command, while the writer stands at a gate. Behind that it is carried out.
fn send_behind_gate<F: Future + Unpin>(store: &Store, future: &mut F) {
    let gate = Gate::new();
    let inside = gate.clone();
    let stand = store.write(move |_| {
        inside.wait();
        Ok(())
    });
    let stand = stand.try_submit().unwrap();
    gate.wait_until_entered();
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(future).poll(&mut context).is_pending());
    gate.open();
    stand.wait().unwrap();
    store.flush().wait().unwrap();
}

/// The index was dropped and made again, and then the task that had dropped it went on: it stopped the upkeep of the
/// new one, which was never built.
#[test]
fn an_index_that_is_opened_behind_its_drop_is_built() {
    run(|| {
        let bed = Bed::new(&["needle in here"]);
        let first = bed.substrings();
        let mut dropped = first.drop_index().into_future();
        send_behind_gate(&bed.store, &mut dropped);
        let second = bed.messages.search_index("message_search").columns(["body"]).substrings().open();
        let second = second.wait().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(Pin::new(&mut dropped).poll(&mut context), Poll::Ready(Ok(()))));
        second.ready().wait().unwrap();
        assert_eq!(ids(second.find("needle")), [1]);
    });
}

/// The index was emptied, and since nobody waited for the answer nobody filled it again.
#[test]
fn a_rebuild_that_nobody_waits_for_is_carried_out() {
    run(|| {
        let bed = Bed::new(&["needle in here"; 20_000]);
        let index = bed.substrings();
        let mut rebuilt = index.rebuild().into_future();
        send_behind_gate(&bed.store, &mut rebuilt);
        drop(rebuilt);
        index.ready().wait().unwrap();
        assert_eq!(ids(index.find("needle").limit(1)), [1]);
    });
}
