//! Live views: a page and what follows it, each change once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use walwright::{AckLevel, Change, ChangeStream, LiveError, LiveView, Operation, Row, Store, Table, Value};
use walwright_test_support::Rng;
use walwright_test_support::vfs::FileKind;

use crate::bed::{Bed, hold, row, run, taken, told};

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER NOT NULL);
                      CREATE TABLE other (id INTEGER PRIMARY KEY);";

#[test]
fn a_view_goes_on_where_its_page_ends() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let t = bed.table();
        let first = t.insert(&row(1, "x")).wait().unwrap();
        let mut view = t.page().wait_live().unwrap();
        assert_eq!(view.page.rows.len(), 1);
        assert!(view.sequence > first.sequence);
        t.update(1).set("name", "y").wait().unwrap();
        bed.sql("INSERT INTO other VALUES (1)");
        bed.sql("DELETE FROM t");
        assert_eq!(told(&mut view.changes), ["update t(1) r2", "delete t(1)"]);
    });
}

/// The group's rows are visible from its COMMIT on, and told after its sync. A view that is made in between shows them,
/// and must not be told of them again.
#[test]
fn what_is_committed_and_not_yet_told_comes_once() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let t = bed.table();
        t.insert(&row(0, "x")).ack(AckLevel::Committed).wait().unwrap();
        let gate = hold(&bed.store);
        let inserts = [1, 2].map(|id| t.insert(&row(id, "x")).ack(AckLevel::Committed).try_submit().unwrap());
        let delete = t.delete(0).try_submit().unwrap();
        let syncs = bed.vfs.hold_syncs(FileKind::Wal);
        let viewed = {
            let t = t.clone();
            thread::spawn(move || t.page().wait_live().unwrap())
        };
        gate.open();
        syncs.wait_until_blocked(1);
        syncs.release();
        let mut view = viewed.join().unwrap();
        inserts.into_iter().for_each(|insert| drop(insert.wait().unwrap()));
        delete.wait().unwrap();
        let ids: Vec<i64> = view.page.rows.iter().map(|row| row.get("id").unwrap()).collect();
        assert_eq!(replay(&mut view).keys().copied().collect::<Vec<_>>(), [1, 2], "from {ids:?}");
    });
}

/// Writers change few rows all the time, in every way; views are made meanwhile. Each page with its changes, carried out
/// strictly, gives the rows that there are in the end.
#[test]
fn every_view_leads_to_the_same_rows() {
    run(|| {
        const WRITES: usize = 1_500;
        let bed = Bed::with(SCHEMA, |builder| builder.change_buffer(1 << 20, 1 << 30).readers(2));
        let t = bed.table();
        let done = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..2)
            .map(|seed| {
                let (store, t) = (bed.store.clone(), t.clone());
                thread::spawn(move || write(&store, &t, seed, WRITES))
            })
            .collect();
        let viewer = {
            let (t, done) = (t.clone(), done.clone());
            thread::spawn(move || {
                let mut views = Vec::new();
                while !done.load(Ordering::SeqCst) {
                    views.push(t.page().limit(1_000).wait_live().unwrap());
                }
                views
            })
        };
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::SeqCst);
        let mut views = viewer.join().unwrap();
        bed.store.flush().wait().unwrap();
        let rows = rows_of(&t.page().limit(1_000).wait().unwrap().rows);
        assert!(views.len() > 20, "only {} views", views.len());
        let mut followed = 0;
        for view in &mut views {
            followed += usize::from(view.sequence > 0);
            assert_eq!(replay(view), rows, "of a view at {}", view.sequence);
        }
        assert_eq!(followed, views.len());
    });
}

fn write(store: &Store, t: &Table<Row>, seed: u64, writes: usize) {
    let mut rng = Rng::new(seed);
    let mut pending = Vec::new();
    for _ in 0..writes {
        let id = i64::try_from(rng.below(40)).unwrap();
        let level = if rng.below(3) == 0 { AckLevel::Durable } else { AckLevel::Committed };
        let sent = match rng.below(8) {
            0 => t.insert(&row(id, "i")).ack(level),
            1 => t.delete(id).ack(level),
            2 | 3 => t.upsert(&row(id, "u")).ack(level),
            4 => t.insert_or_ignore(&row(id, "n")).ack(level),
            5 => {
                let rows: Vec<Row> = (0..5).map(|more| row((id + more) % 40, "m")).collect();
                t.upsert_many(&rows).ack(level).wait().unwrap();
                continue;
            }
            6 => {
                t.delete_where("name", ["i", "u", "n", "m"][rng.below(4)]).ack(level).wait().unwrap();
                continue;
            }
            _ => t.update(id).set("name", "c").ack(level),
        };
        pending.push(sent.try_submit().unwrap());
        if pending.len() > 20 {
            // Some fail, such as inserts of rows that are there.
            pending.drain(..).for_each(|one| drop(one.wait()));
        }
    }
    pending.into_iter().for_each(|one| drop(one.wait()));
    store.flush().wait().unwrap();
}

fn rows_of(rows: &[Row]) -> BTreeMap<i64, i64> {
    rows.iter().map(|row| (row.get("id").unwrap(), row.get("v").unwrap())).collect()
}

/// Carries the changes out on the page: each must fit what is there, or one was missed or told twice.
fn replay(view: &mut LiveView<Row>) -> BTreeMap<i64, i64> {
    let mut rows = rows_of(&view.page.rows);
    for change in taken(&mut view.changes) {
        let Change::Row(row) = &change else { panic!("{change:?}") };
        let Some([Value::Integer(id)]) = row.key.values() else { panic!("{row:?}") };
        let before = match row.operation {
            Operation::Insert => rows.insert(*id, row.revision.unwrap()),
            Operation::Update => rows.insert(*id, row.revision.unwrap()),
            Operation::Delete => rows.remove(id),
        };
        let fits = match row.operation {
            Operation::Insert => before.is_none() && row.revision == Some(1),
            Operation::Update => before.is_some() && row.revision == before.map(|before| before + 1),
            Operation::Delete => before.is_some(),
        };
        assert!(fits, "{row:?} on {before:?}, in a view at {}", view.sequence);
    }
    rows
}

#[test]
fn a_view_cannot_be_made_without_the_writer_or_the_page() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let t = bed.table();
        let limit = t.page().limit(0).wait_live();
        assert!(matches!(limit, Err(LiveError::Read(_))), "{limit:?}");
        bed.store.close().wait().unwrap();
        let closed = t.page().wait_live();
        assert!(matches!(closed, Err(LiveError::Write(_))), "{closed:?}");
    });
}

/// Another program has taken the engine's table away: no view, and the store goes on.
#[test]
fn a_view_that_cannot_be_placed_is_refused() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let t = bed.table();
        t.page().wait_live().unwrap();
        bed.outside().execute_batch("DELETE FROM walwright_sequence").unwrap();
        let view = t.page().wait_live();
        assert!(matches!(view, Err(LiveError::Unplaced)), "{view:?}");
        bed.outside().execute_batch("DROP TABLE walwright_sequence").unwrap();
        t.page().wait_live().unwrap_err();
        t.insert(&row(1, "x")).wait().unwrap();
        bed.store.close().wait().unwrap();
    });
}

/// A file of an earlier version has a table without the column.
#[test]
fn an_older_engines_table_is_completed() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        bed.store.close().wait().unwrap();
        bed.outside().execute_batch("ALTER TABLE walwright_sequence DROP COLUMN last").unwrap();
        let store = Store::builder(bed.scratch.join("store.db")).open().wait().unwrap();
        let t: Table<Row> = store.table("t").revision("v").open().wait().unwrap();
        let mut view = t.page().wait_live().unwrap();
        t.insert(&row(1, "x")).wait().unwrap();
        assert_eq!(told(&mut view.changes), ["insert t(1) r1"]);
        store.close().wait().unwrap();
    });
}

#[test]
fn nobody_pays_for_views_once_they_are_made() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let view = bed.table().page().wait_live().unwrap();
        let last = || {
            bed.outside()
                .query_row("SELECT last FROM walwright_sequence", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        assert_eq!(last(), view.sequence.cast_signed());
        bed.sql("INSERT INTO other VALUES (1)");
        assert_eq!(last(), view.sequence.cast_signed(), "not put down any more");
        let _: &ChangeStream = &view.changes;
    });
}
