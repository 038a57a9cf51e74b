//! Deadlines, levels and submission of each kind of request, and what is counted.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use walwright::rusqlite::functions::FunctionFlags;
use walwright::{AckLevel, Pending, Row, Table, WriteError};
use walwright_test_support::FaultVfs;
use walwright_test_support::vfs::{DatabaseCreation, FileKind};

use crate::bed::{Bed, hold, run};

#[derive(Serialize, Deserialize, Clone)]
struct Item {
    id: i64,
    n: i64,
}

const ITEMS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, v INTEGER)";

fn item(id: i64) -> Item {
    Item { id, n: 0 }
}

/// What every request answers, reduced to how many rows it changed.
type Answer = Box<dyn FnOnce() -> Result<u64, WriteError>>;

/// Sends each kind of request that leaves the row 1 there, with a deadline or without.
fn send_each(bed: &Bed, table: &Table<Item>, deadline: Option<Duration>) -> Vec<Answer> {
    macro_rules! send {
        ($($request:expr),+ $(,)?) => {
            vec![$({
                let pending: Pending<_> = match deadline {
                    Some(deadline) => $request.deadline(deadline).try_submit().unwrap(),
                    None => $request.try_submit().unwrap(),
                };
                Box::new(move || pending.wait().map(|receipt| receipt.rows_changed)) as Answer
            }),+]
        };
    }
    let mut sent = send![
        table.insert(&item(2)),
        table.insert_or_ignore(&item(2)),
        table.upsert(&item(2)),
        table.update(1).set("n", 1),
        table.update(1).set_row(&item(1)).if_revision(2),
        table.delete(2),
        table.insert_many([item(3), item(4)]),
        table.update_many([3, 4]).set("n", 1),
        table.update_where("n", 1).set("n", 2),
        table.delete_many([3, 4]),
        table.delete_where("n", 2),
        bed.store.batch().add(table.update(1).set("n", 2)).send(),
    ];
    let mut modify = table.modify(1, |item| {
        item.n += 1;
        Ok(())
    });
    if let Some(deadline) = deadline {
        modify = modify.deadline(deadline);
    }
    let pending = modify.try_submit().unwrap();
    sent.push(Box::new(move || Ok(pending.wait()?.map_or(0, |modified| modified.receipt.rows_changed))));
    sent
}

#[test]
fn every_request_can_be_sent_without_waiting() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        table.insert(&item(1)).wait().unwrap();
        let gate = hold(&bed.store);
        let sent = send_each(&bed, &table, None);
        gate.open();
        let changed: Vec<u64> = sent.into_iter().map(|answer| answer().unwrap()).collect();
        assert_eq!(changed, [1, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 1, 1]);
        assert_eq!(bed.look("SELECT * FROM t"), ["1|3|5"]);
    });
}

#[test]
fn every_request_can_expire_before_it_starts() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        table.insert(&item(1)).wait().unwrap();
        let gate = hold(&bed.store);
        let sent = send_each(&bed, &table, Some(Duration::from_millis(1)));
        for answer in sent {
            assert!(matches!(answer(), Err(WriteError::Expired)));
        }
        assert_eq!(bed.store.stats().queued_commands, 0, "they gave their places back");
        gate.open();
        bed.store.flush().wait().unwrap();
        assert_eq!(bed.look("SELECT * FROM t"), ["1|0|1"]);
    });
}

#[test]
fn a_row_command_may_be_answered_at_its_commit() {
    run(|| {
        let vfs = FaultVfs::unique("row-levels");
        vfs.start_recording(DatabaseCreation::AtOnce);
        let bed = Bed::with(ITEMS, |builder| builder.vfs(vfs.name()));
        let table = bed.revised::<Item>();
        bed.store.flush().wait().unwrap();
        let syncs = || vfs.counts(FileKind::Wal).syncs;

        let before = syncs();
        table.insert(&item(1)).ack(AckLevel::Committed).wait().unwrap();
        table.update(1).set("n", 1).ack(AckLevel::Committed).wait().unwrap();
        table.upsert_many([item(1), item(2)]).ack(AckLevel::Committed).wait().unwrap();
        table.update_where("n", 0).set("n", 2).ack(AckLevel::Committed).wait().unwrap();
        assert_eq!(syncs(), before);
        table.update(1).set("n", 1).wait().unwrap();
        assert!(syncs() > before, "the default is durable");
        let before = syncs();
        table.delete_where("n", 2).ack(AckLevel::Committed).wait().unwrap();
        assert!(syncs() > before, "a delete always is");
    });
}

#[test]
fn requests_are_futures_of_any_runtime() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let table = bed.revised::<Item>();
        runtime.block_on(async {
            let inserted = table.insert(&item(1)).submit().await.unwrap();
            let updated = table.update(1).set("n", 1).if_revision(1).submit().await.unwrap();
            let many = table.insert_many([item(2), item(3)]).submit().await.unwrap();
            let changed = table.update_where("n", 0).set("n", 1).submit().await.unwrap();
            let (inserted, updated) = tokio::try_join!(inserted, updated).unwrap();
            assert_eq!((inserted.revision, updated.revision), (Some(1), Some(2)));
            assert_eq!(many.await.unwrap().rows_changed + changed.await.unwrap().rows_changed, 4);
            assert_eq!(table.delete_where("n", 1).await.unwrap().rows_changed, 3);
            assert!(matches!(table.delete(1).wait(), Err(WriteError::WouldBlockRuntime { admitted: false })));
        });
    });
}

/// A request that is dropped before it is sent does nothing; one that is dropped later is carried out.
#[test]
fn a_dropped_request_is_carried_out_once_it_was_admitted() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let table = bed.revised::<Item>();
        drop(table.insert(&item(1)));
        drop(table.insert(&item(2)).try_submit().unwrap());
        drop(table.insert_many([item(3), item(4)]).try_submit().unwrap());
        bed.store.flush().wait().unwrap();
        assert_eq!(bed.look("SELECT id FROM t"), ["2", "3", "4"]);
    });
}

/// What `stats` counts for row commands: a statement each, unless another one's carried it out too.
#[test]
fn statistics_count_statements_and_what_needed_none() {
    for coalescing in [false, true] {
        run(move || {
            let bed = Bed::with(ITEMS, |builder| builder.coalescing(coalescing));
            let table = bed.revised::<Item>();
            table.insert(&item(9)).wait().unwrap();
            // Groups are counted when the writer goes on to the next: it stands at a gate each time.
            let gate = hold(&bed.store);
            let before = bed.store.stats();
            let mut sent = Vec::new();
            for id in 1..=10 {
                sent.push(table.insert(&item(id + 10)).try_submit().unwrap());
                sent.push(table.update(id + 10).set("n", id).try_submit().unwrap());
            }
            let failing = table.insert(&item(9)).try_submit().unwrap();
            gate.open();
            for one in sent {
                one.wait().unwrap();
            }
            crate::bed::constraint(failing.wait());
            let gate = hold(&bed.store);
            let stats = bed.store.stats();
            gate.open();
            assert_eq!(stats.commands - before.commands, 22, "the first gate too");
            assert_eq!(stats.failed_commands - before.failed_commands, 1);
            let coalesced = if coalescing { 10 } else { 0 };
            assert_eq!(stats.coalesced - before.coalesced, coalesced);
            assert_eq!(stats.statements - before.statements, 22 - coalesced, "the second gate too");
            assert_eq!(bed.look("SELECT sum(n), count(*), sum(v) FROM t"), ["55|11|21"]);
        });
    }
}

/// A group took all row commands that were there before it looked at its time: of a hundred thousand, or of few that
/// call a slow function, it kept everybody waiting for many times its limit.
#[test]
fn a_group_of_row_commands_ends_when_its_time_is_up() {
    const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n); \
                          CREATE TABLE own (id INTEGER PRIMARY KEY, n CHECK (own(n)))";
    run(|| {
        let bed = Bed::with(SCHEMA, |builder| {
            builder.group(100_000, 64 << 20, Duration::ZERO).on_connection(|connection| {
                let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
                connection.create_scalar_function("own", 1, flags, |_| Ok(true))
            })
        });
        let groups_of = |table: &str, rows: i64| {
            let table = bed.table::<Row>(table);
            let row = |id: i64| Row::new().with("id", id).unwrap().with("n", id).unwrap();
            // The writer knows the table from here on.
            table.insert(&row(-1)).wait().unwrap();
            let (gate, before) = (hold(&bed.store), bed.store.stats().groups);
            let sent: Vec<_> = (0..rows).map(|id| table.insert(&row(id)).try_submit().unwrap()).collect();
            gate.open();
            sent.into_iter().for_each(|one| drop(one.wait().unwrap()));
            bed.store.stats().groups - before
        };
        // One is that of the gate.
        assert!((4..10).contains(&groups_of("t", 3_000)));
        assert_eq!(groups_of("own", 10), 11);
    });
}
