//! When a change is told, and in which order.

use walwright::{AckLevel, Change, WriteError};
use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};

use crate::bed::{Bed, hold, row, run, taken};

const SCHEMA: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER NOT NULL);
    CREATE TABLE rolling (id INTEGER PRIMARY KEY, v UNIQUE ON CONFLICT ROLLBACK);
";

#[test]
fn a_change_is_told_only_when_it_is_durable() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO t VALUES (1, 'a', 1)");
        bed.told();
        let syncs = bed.vfs.hold_syncs(FileKind::Wal);
        let pending = bed.store.execute("INSERT INTO t VALUES (2, 'b', 1)", ()).try_submit().unwrap();
        syncs.wait_until_blocked(1);
        assert!(bed.told().is_empty(), "the power may still fail");
        syncs.release();
        pending.wait().unwrap();
        assert_eq!(bed.told(), ["insert t(2)"]);
    });
}

/// The delete makes its group wait, and what is told of it as well.
#[test]
fn a_delete_at_the_weaker_level_is_told_only_when_it_is_durable() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO t VALUES (1, 'a', 1)");
        bed.told();
        let syncs = bed.vfs.hold_syncs(FileKind::Wal);
        let delete = bed.store.execute("DELETE FROM t", ()).ack(AckLevel::Committed).try_submit().unwrap();
        syncs.wait_until_blocked(1);
        assert!(bed.told().is_empty());
        syncs.release();
        delete.wait().unwrap();
        assert_eq!(bed.told(), ["delete t(1)"]);
    });
}

#[test]
fn a_commit_at_the_weaker_level_is_told_without_a_sync() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let syncs = bed.vfs.hold_syncs(FileKind::Wal);
        let insert = bed.store.execute("INSERT INTO t VALUES (1, 'a', 1)", ()).ack(AckLevel::Committed);
        insert.wait().unwrap();
        assert_eq!(bed.told(), ["insert t(1)"]);
        syncs.release();
    });
}

#[test]
fn changes_come_in_the_order_of_sequences_and_carry_them() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let t = bed.table();
        let gate = hold(&bed.store);
        let rows: Vec<_> = (0..50).map(|id| t.insert(&row(id, "x")).try_submit().unwrap()).collect();
        let sql =
            bed.store.execute("INSERT INTO t VALUES (100, 'a', 1), (101, 'a', 1)", ()).try_submit().unwrap();
        gate.open();
        let mut expected: Vec<u64> = rows.into_iter().map(|one| one.wait().unwrap().sequence).collect();
        let last = sql.wait().unwrap().sequence;
        expected.extend([last, last]);
        assert_eq!(taken(&mut bed.changes).iter().map(Change::sequence).collect::<Vec<_>>(), expected);
    });
}

/// One command takes the transaction with it, and the others are carried out again: told once.
#[test]
fn survivors_of_a_lost_transaction_are_told_once() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO rolling VALUES (1, 'x')");
        bed.told();
        let t = bed.table();
        let gate = hold(&bed.store);
        let before = t.insert(&row(1, "x")).try_submit().unwrap();
        let culprit = bed.store.execute("INSERT INTO rolling VALUES (2, 'x')", ()).try_submit().unwrap();
        let behind = t.insert(&row(2, "x")).try_submit().unwrap();
        gate.open();
        let sequences = [before.wait().unwrap().sequence, behind.wait().unwrap().sequence];
        culprit.wait().unwrap_err();
        let changes = taken(&mut bed.changes);
        assert_eq!(changes.iter().map(Change::sequence).collect::<Vec<_>>(), sequences);
        assert_eq!(
            changes.iter().map(crate::bed::shown).collect::<Vec<_>>(),
            ["insert t(1) r1", "insert t(2) r1"]
        );
    });
}

/// COMMIT went well, its sync did not: nobody knows, and nothing is told.
#[test]
fn what_is_unknown_is_never_told() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO t VALUES (1, 'a', 1)");
        bed.store.execute("INSERT INTO t VALUES (2, 'a', 1)", ()).ack(AckLevel::Committed).wait().unwrap();
        bed.vfs.arm(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
        let delete = bed.store.execute("DELETE FROM t WHERE id = 2", ()).ack(AckLevel::Committed).wait();
        assert!(matches!(delete, Err(WriteError::Unknown(_))), "{delete:?}");
        assert_eq!(told_all(&mut bed), ["insert t(1)", "insert t(2)", "stopped"]);
        let mut late = bed.store.changes();
        assert!(late.wait_next().is_some_and(|end| end.is_err()), "a late subscriber hears of it, too");
        assert!(late.wait_next().is_none());
        bed.vfs.disarm();
        bed.store.close().wait().unwrap_err();
    });
}

#[test]
fn a_commit_that_fails_is_never_told() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.vfs.arm(FaultPlan::fail(Operation::Write).on(FileKind::Wal));
        bed.store.execute("INSERT INTO t VALUES (1, 'a', 1)", ()).wait().unwrap_err();
        assert_eq!(told_all(&mut bed), ["stopped"]);
    });
}

fn told_all(bed: &mut Bed) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(next) = bed.changes.wait_next() {
        all.push(next.map_or_else(|_| "stopped".to_owned(), |change| crate::bed::shown(&change)));
    }
    all
}

#[test]
fn a_close_ends_the_stream_behind_the_last_change() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO t VALUES (1, 'a', 1)");
        bed.store.close().wait().unwrap();
        assert_eq!(told_all(&mut bed), ["insert t(1)"]);
        assert!(bed.changes.wait_next().is_none());
        assert!(bed.store.changes().wait_next().is_none(), "and one that is made later at once");
    });
}

#[test]
fn a_foreign_write_is_told_in_its_place() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO t VALUES (1, 'a', 1)");
        bed.outside().execute_batch("INSERT INTO t VALUES (2, 'b', 1)").unwrap();
        bed.sql("INSERT INTO t VALUES (3, 'c', 1)");
        assert_eq!(bed.told(), ["insert t(1)", "anything", "insert t(3)"]);
    });
}

/// Another program has written, and the transaction that finds it is lost.
#[test]
fn a_foreign_write_survives_a_lost_transaction() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        bed.sql("INSERT INTO rolling VALUES (1, 'x')");
        bed.outside().execute_batch("INSERT INTO t VALUES (2, 'b', 1)").unwrap();
        bed.store.execute("INSERT INTO rolling VALUES (2, 'x')", ()).wait().unwrap_err();
        bed.sql("INSERT INTO t VALUES (3, 'c', 1)");
        assert_eq!(bed.told(), ["insert rolling(1)", "anything", "insert t(3)"]);
    });
}
