//! C15. Lists lost the rows that were equal at the edge of a page, or repeated some when others inserted or deleted
//! (tokio-rs/toasty#1141, rmyndharis/OpenWA#1479): the cursor compared the sort column alone, or counted rows.
//!
//! Must hold: walking all pages gives every record that is there throughout exactly once, under concurrent inserts,
//! deletes and updates, in both directions; a damaged cursor is a typed error.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use walwright::{Cursor, Filter, Migration, Page, PageRequest, ReadError, Store, Table};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::LIMIT;

const EVENTS: &[Migration] = &[Migration::sql(
    "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, owner TEXT, seen INTEGER);
     CREATE INDEX event_at ON event (at, id);
     CREATE INDEX event_seen ON event (seen, id);",
)];

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Event {
    id: i64,
    at: i64,
}

/// 10,000 records: the ids from 1, of which the first half shares one time.
const RECORDS: i64 = 10_000;
const SHARED: i64 = 5_000;
/// The ids of records that come and go are above this.
const GUESTS: i64 = 1_000_000;

fn open(scratch: &Scratch) -> Store {
    let store =
        Store::builder(scratch.join("events.db")).migrations(EVENTS).readers(2).open().wait().unwrap();
    let insert = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                  INSERT INTO event SELECT i, max(i, ?2), 'o' || (i % 3), iif(i % 4 = 0, NULL, i % 7) FROM n";
    store.execute(insert, (RECORDS, SHARED)).wait().unwrap();
    store
}

fn events(store: &Store) -> Table<Event> {
    store.table::<Event>("event").open().wait().unwrap()
}

/// Walks page by page with cursors that travel as text, and gives what it met.
fn walk(request: impl Fn() -> PageRequest<Event>, backward: bool) -> Vec<Event> {
    let read = |cursor: Option<&Cursor>| match (cursor, backward) {
        (None, false) => request().wait().unwrap(),
        (None, true) => request().last().wait().unwrap(),
        (Some(cursor), false) => request().after(cursor).wait().unwrap(),
        (Some(cursor), true) => request().before(cursor).wait().unwrap(),
    };
    let mut met = Vec::new();
    let mut cursor = None;
    loop {
        let Page { mut rows, next, previous, .. } = read(cursor.as_ref());
        let far = if backward { previous } else { next };
        if backward {
            rows.reverse();
        }
        met.extend(rows);
        match far {
            Some(far) => cursor = Some(far.to_string().parse().unwrap()),
            None => return met,
        }
    }
}

/// The ids of records that are there throughout, in the order in which they were met.
fn residents(met: &[Event]) -> Vec<i64> {
    met.iter().map(|event| event.id).filter(|id| (1..=RECORDS).contains(id)).collect()
}

/// Compares, and shows no more than the first difference.
#[track_caller]
fn assert_same(met: &[i64], expected: &[i64], what: &str) {
    let differs = met.iter().zip(expected).position(|(met, expected)| met != expected);
    let window = |ids: &[i64]| differs.map(|at| ids[at..(at + 3).min(ids.len())].to_vec());
    assert_eq!((window(met), met.len()), (window(expected), expected.len()), "{what}, at {differs:?}");
}

#[test]
fn c15_every_record_that_stays_is_met_once_while_others_come_and_go() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let events = events(&store);
        let expected: Vec<i64> = (1..=RECORDS).collect();
        let backward: Vec<i64> = (1..=RECORDS).rev().collect();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            // Guests come and go everywhere among the others, also in the crowd that shares one time.
            let meddler = scope.spawn(|| {
                let mut rounds = 0_i64;
                while !over.load(Ordering::Relaxed) {
                    let at = if rounds % 2 == 0 { SHARED } else { rounds * 37 % RECORDS };
                    let insert = "INSERT INTO event VALUES (?1, ?2, 'guest', ?1), (-?1, ?2, NULL, NULL)";
                    store.execute(insert, (GUESTS + rounds, at)).wait().unwrap();
                    let update = "UPDATE event SET at = ?2, owner = 'moved' WHERE id = ?1";
                    store.execute(update, (GUESTS + rounds - 2, RECORDS - at)).wait().unwrap();
                    store
                        .execute("DELETE FROM event WHERE abs(id) = ?1", (GUESTS + rounds - 5,))
                        .wait()
                        .unwrap();
                    rounds += 1;
                }
                rounds
            });
            let by_at = || events.page().order_by("at").limit(7);
            let met = [walk(by_at, false), walk(by_at, true)];
            over.store(true, Ordering::Relaxed);
            assert!(meddler.join().unwrap() > 0);
            assert_same(&residents(&met[0]), &expected, "forward");
            assert_same(&residents(&met[1]), &backward, "backward");
        });
        store.close().wait().unwrap();
    });
}

#[test]
fn c15_null_and_mixed_directions_lose_nothing() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let events = events(&store);
        for (directions, sql) in [
            ((false, false), "SELECT id FROM event WHERE owner = 'o1' ORDER BY seen, id"),
            ((true, true), "SELECT id FROM event WHERE owner = 'o1' ORDER BY seen DESC, id DESC"),
            ((true, false), "SELECT id FROM event WHERE owner = 'o1' ORDER BY seen DESC, id"),
            ((false, true), "SELECT id FROM event WHERE owner = 'o1' ORDER BY seen, id DESC"),
        ] {
            let request = || {
                let page = events.page().filter(Filter::eq("owner", "o1")).limit(97);
                let page = if directions.0 { page.order_by_desc("seen") } else { page.order_by("seen") };
                if directions.1 { page.order_by_desc("id") } else { page.order_by("id") }
            };
            let mut expected: Vec<i64> =
                store.read(move |db| db.query(sql, (), |row| row.get(0))).wait().unwrap();
            assert_eq!(expected.len(), 3_334);
            assert_same(&residents(&walk(request, false)), &expected, sql);
            expected.reverse();
            assert_same(&residents(&walk(request, true)), &expected, sql);
        }
        store.close().wait().unwrap();
    });
}

#[test]
fn c15_cursors_say_what_is_there() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let events = events(&store);
    let ids = |page: &Page<Event>| page.rows.iter().map(|event| event.id).collect::<Vec<_>>();
    let page = || events.page().limit(3).filter(Filter::sql("id <= ?", (6,)));

    let first = page().wait().unwrap();
    assert_eq!((ids(&first), first.previous.is_none()), (vec![1, 2, 3], true));
    let second = page().after(first.next.as_ref().unwrap()).wait().unwrap();
    assert_eq!((ids(&second), second.next.is_none()), (vec![4, 5, 6], true), "exactly the last");
    let back = page().before(second.previous.as_ref().unwrap()).wait().unwrap();
    assert_eq!((ids(&back), back.previous.is_none()), (vec![1, 2, 3], true));
    assert_eq!(back.next, first.next);
    let last = page().last().limit(4).wait().unwrap();
    assert_eq!((ids(&last), last.next.is_none()), (vec![3, 4, 5, 6], true));
    assert_eq!(ids(&page().before(last.previous.as_ref().unwrap()).wait().unwrap()), [1, 2]);
    let whole = page().limit(6).wait().unwrap();
    assert!(whole.rows.len() == 6 && whole.next.is_none() && whole.previous.is_none());

    // The row of a cursor may go away.
    store.execute("DELETE FROM event WHERE id >= 3", ()).wait().unwrap();
    let empty = page().after(first.next.as_ref().unwrap()).wait().unwrap();
    assert!(empty.rows.is_empty() && empty.next.is_none() && empty.previous.is_none());
    assert_eq!(ids(&page().before(first.next.as_ref().unwrap()).wait().unwrap()), [1, 2]);
    store.close().wait().unwrap();
}

#[test]
fn c15_what_cannot_be_a_page_is_refused_before_it_is_queued() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let events = events(&store);
    let cursor = events.page().order_by("at").limit(7).wait().unwrap().next.unwrap();
    let text = cursor.to_string();
    let mut damaged = text.clone().into_bytes();
    damaged[20] = if damaged[20] == b'A' { b'B' } else { b'A' };
    let damaged = String::from_utf8(damaged).unwrap().parse::<Cursor>();
    assert!(matches!(damaged, Err(ReadError::InvalidCursor { .. })));
    assert_eq!(serde_json::from_str::<Cursor>(&format!("\"{text}\"")).unwrap(), cursor);

    // A closed store would answer whatever came to its queue with Closed.
    store.close().wait().unwrap();
    let refused = |request: PageRequest<Event>| request.wait().map(drop).unwrap_err();
    for other in [
        events.page().after(&cursor),
        events.page().order_by_desc("at").before(&cursor),
        events.page().order_by("seen").after(&cursor),
    ] {
        assert!(matches!(refused(other), ReadError::InvalidCursor { .. }));
    }
    let unknown = refused(events.page().order_by("absent"));
    assert!(
        matches!(unknown, ReadError::UnknownColumn { table, column } if (&*table, &*column) == ("event", "absent"))
    );
    for limit in [0, 10_001] {
        let error = refused(events.page().limit(limit));
        assert!(matches!(error, ReadError::InvalidLimit { greatest: 10_000, .. }));
    }
    assert!(matches!(refused(events.page().order_by("at").after(&cursor)), ReadError::Closed));
}

#[test]
fn c15_a_stream_gives_every_record_that_stays() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let events = events(&store);
        let mut stream = events.page().order_by("at").limit(1_000).stream();
        let mut met = Vec::new();
        while let Some(event) = stream.wait_next() {
            met.push(event.unwrap());
            // The first of the next page, and one that comes before.
            if met.len() == 1_000 {
                let meddle = "INSERT INTO event VALUES (-5, ?1, NULL, NULL), (?2, ?1, NULL, NULL)";
                store.execute(meddle, (SHARED, GUESTS)).wait().unwrap();
            }
        }
        assert!(stream.wait_next().is_none());
        let ids: Vec<i64> = met.iter().map(|event| event.id).filter(|id| *id < GUESTS).collect();
        assert_same(&ids, &(1..=RECORDS).collect::<Vec<_>>(), "a stream");
        assert!(met.iter().any(|event| event.id == GUESTS), "it came where the stream had not been yet");

        let mut backward = events.page().last().limit(10_000).stream();
        assert_eq!(backward.wait_next().unwrap().unwrap().id, GUESTS);
        assert_eq!(backward.wait_next().unwrap().unwrap().id, RECORDS);

        let mut wrong = events.page().order_by("absent").stream();
        assert!(matches!(wrong.wait_next(), Some(Err(ReadError::UnknownColumn { .. }))));
        assert!(wrong.wait_next().is_none());

        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let counted = runtime.block_on(async {
            let mut stream = events.stream();
            let mut counted = 0;
            while let Some(event) = stream.next().await {
                event.unwrap();
                counted += 1;
            }
            counted
        });
        assert_eq!(counted, RECORDS + 2);
        store.close().wait().unwrap();
    });
}
