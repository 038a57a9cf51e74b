//! Work on many rows goes in pieces: others come through in between, and what is said of a half is true.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

use walwright::{AckLevel, Outcome, Row, Table, WriteError};
use walwright_test_support::FaultVfs;
use walwright_test_support::vfs::{DatabaseCreation, FileKind};

use crate::bed::{Bed, not_applied, run};
use crate::visits::Visits;

/// Each row takes longer than a piece may. A list is looked at every 8 rows; a walk begins with 16 and halves
/// that until it is 1. The revision is a commit sequence: rows of one piece have the same.
const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE, v INTEGER); CREATE TABLE other (x); \
                      CREATE TRIGGER made BEFORE INSERT ON t BEGIN SELECT visit(new.id); END; \
                      CREATE TRIGGER gone BEFORE DELETE ON t BEGIN SELECT visit(old.id); END";

fn bed(visits: &Visits) -> (Bed, Table<Row>) {
    let bed = Bed::with(SCHEMA, |builder| visits.known_to(builder));
    let table = bed.store.table::<Row>("t").revision_by_sequence("v").open().wait().unwrap();
    (bed, table)
}

fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<Row> {
    ids.into_iter().map(|id| Row::new().with("id", id).unwrap()).collect()
}

/// The pieces in which rows were written: their sequences and how many rows each has.
fn pieces(bed: &Bed) -> Vec<(u64, usize)> {
    let parse = |row: String| {
        let (sequence, rows) = row.split_once('|').unwrap();
        (sequence.parse().unwrap(), rows.parse().unwrap())
    };
    bed.look("SELECT v, count(*) FROM t GROUP BY v ORDER BY v").into_iter().map(parse).collect()
}

fn sizes(pieces: &[(u64, usize)]) -> Vec<usize> {
    pieces.iter().map(|(_, rows)| *rows).collect()
}

#[test]
fn a_small_command_comes_through_between_two_pieces() {
    run(|| {
        let visits = Visits::default();
        let (bed, table) = bed(&visits);
        let (first, second, third) = (visits.gate_at(5), visits.gate_at(12), visits.gate_at(20));
        let bulk = table.insert_many(rows(1..=24)).try_submit().unwrap();
        first.wait_until_entered();
        let small = bed.store.execute("INSERT INTO other SELECT count(*) FROM t", ()).try_submit().unwrap();
        first.open();
        second.wait_until_entered();
        assert_eq!(table.count().wait().unwrap(), 8, "readers see the pieces that are done");
        second.open();
        // It shared a group with the second piece, and is answered while the work is in its third.
        third.wait_until_entered();
        let small = small.wait().unwrap();
        third.open();

        let bulk = bulk.wait().unwrap();
        assert_eq!(bulk.rows_changed, 24);
        let pieces = pieces(&bed);
        assert_eq!(sizes(&pieces), [8, 8, 8]);
        assert!(pieces[0].0 < small.sequence && small.sequence < pieces[1].0);
        assert_eq!(bulk.sequence, pieces[2].0, "its receipt is that of the last piece");
        assert_eq!(bed.one("SELECT x FROM other"), "8");
    });
}

#[test]
fn a_small_command_comes_through_while_a_table_is_walked() {
    run(|| {
        let visits = Visits::default();
        let (bed, table) = bed(&visits);
        bed.sql("INSERT INTO t (id, v) WITH number(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number LIMIT 40) \
                 SELECT value, 0 FROM number");
        let gates = [visits.gate_at(10), visits.gate_at(20)];
        let bulk = table.delete_where("n", None::<i64>).try_submit().unwrap();
        let small: Vec<_> = gates
            .iter()
            .map(|gate| {
                gate.wait_until_entered();
                let look = "INSERT INTO other SELECT count(*) FROM t";
                let small = bed.store.execute(look, ()).try_submit().unwrap();
                gate.open();
                small
            })
            .collect();
        for one in small {
            one.wait().unwrap();
        }
        assert_eq!(bulk.wait().unwrap().rows_changed, 40);
        assert_eq!(bed.look("SELECT x FROM other"), ["24", "16"], "after 16 rows, and after 8 more");
    });
}

#[test]
fn atomic_work_is_one_piece_and_all_or_none() {
    run(|| {
        let visits = Visits::default();
        let (bed, table) = bed(&visits);
        let gate = visits.gate_at(12);
        let bulk = table.insert_many(rows(1..=24)).atomic().try_submit().unwrap();
        gate.wait_until_entered();
        let small = bed.store.execute("INSERT INTO other SELECT count(*) FROM t", ()).try_submit().unwrap();
        assert_eq!(table.count().wait().unwrap(), 0);
        gate.open();
        let (bulk, small) = (bulk.wait().unwrap(), small.wait().unwrap());
        assert_eq!(pieces(&bed), [(bulk.sequence, 24)]);
        assert!(bulk.sequence < small.sequence, "everybody waited for it");

        let doubled = [rows(31..=50), rows([1])].concat();
        not_applied(table.insert_many(&doubled).atomic().wait());
        assert_eq!(bed.one("SELECT max(id) FROM t"), "24");
        assert_eq!(table.delete_where("n", None::<i64>).atomic().wait().unwrap().rows_changed, 24);
    });
}

/// The piece that fails is undone, those before it stay, and the error counts their rows.
#[test]
fn work_that_fails_half_way_says_how_many_rows_stay() {
    run(|| {
        let visits = Visits::default();
        let (bed, table) = bed(&visits);
        bed.sql("INSERT INTO t (id, v) VALUES (21, 0)");
        let error = table.insert_many(rows(1..=40)).wait().unwrap_err();
        assert_eq!(error.outcome(), Outcome::Partial { rows: 16 });
        match &error {
            WriteError::Partial { rows: 16, source } => {
                assert!(matches!(**source, WriteError::Constraint(_)))
            }
            error => panic!("{error}"),
        }
        assert!(
            error
                .to_string()
                .starts_with("16 rows were changed and stay so; then a piece of the work failed and the rest was given up: a constraint"),
            "{error}"
        );
        assert_eq!(bed.look("SELECT id FROM t ORDER BY id").len(), 17);
        assert_eq!(bed.one("SELECT max(id) FROM t WHERE v > 0"), "16");

        // In its first piece nothing stays, and it fails like any command.
        let error = not_applied(table.insert_many(rows(17..=40)).wait());
        assert!(matches!(error, WriteError::Constraint(_)), "{error}");
        assert_eq!(bed.one("SELECT count(*) FROM t"), "17");
    });
}

/// A store that closes in the middle of it says how far it came.
#[test]
fn work_that_a_close_ends_says_how_many_rows_stay() {
    run(|| {
        let visits = Visits::default();
        let (bed, table) = bed(&visits);
        let gate = visits.gate_at(20);
        let bulk = table.insert_many(rows(1..=200)).try_submit().unwrap();
        gate.wait_until_entered();
        let mut closing = pin!(bed.store.close_within(Duration::ZERO).into_future());
        let mut context = Context::from_waker(Waker::noop());
        assert!(closing.as_mut().poll(&mut context).is_pending(), "it waits for the row");
        gate.open();
        let error = bulk.wait().unwrap_err();
        let Outcome::Partial { rows } = error.outcome() else { panic!("{error}") };
        assert!((16..200).contains(&rows), "{rows}");
        match error {
            WriteError::Partial { source, .. } => {
                assert!(matches!(*source, WriteError::CloseTimedOut | WriteError::Closed), "{source}");
            }
            error => panic!("{error}"),
        }
        drop(bed.store.close().wait());
        assert_eq!(bed.one("SELECT count(*) FROM t"), rows.to_string());
        assert_eq!(bed.one("SELECT max(id) FROM t"), rows.to_string());
    });
}

/// A deadline holds until it starts. Work that has begun is carried out, however long its pieces take.
#[test]
fn a_deadline_does_not_cut_work_in_two() {
    run(|| {
        let visits = Visits::default();
        let (bed, table) = bed(&visits);
        let gate = visits.gate_at(12);
        let bulk = table.insert_many(rows(1..=24)).deadline(Duration::from_millis(200)).try_submit().unwrap();
        gate.wait_until_entered();
        std::thread::sleep(Duration::from_millis(250));
        gate.open();
        assert_eq!(bulk.wait().unwrap().rows_changed, 24);

        let gate = crate::bed::hold(&bed.store);
        let late = table.delete_where("n", None::<i64>).deadline(Duration::ZERO).try_submit().unwrap();
        assert!(matches!(late.wait(), Err(WriteError::Expired)));
        gate.open();
        bed.store.flush().wait().unwrap();
        assert_eq!(bed.one("SELECT count(*) FROM t"), "24");
    });
}

/// The answer comes when the last piece is on the disk, and every piece before it is then.
#[test]
fn work_is_durable_before_its_answer() {
    run(|| {
        let visits = Visits::default();
        let vfs = FaultVfs::unique("bulk-durable");
        vfs.start_recording(DatabaseCreation::AtOnce);
        let bed =
            Bed::with(SCHEMA, |builder| visits.known_to(builder).vfs(vfs.name()).ack(AckLevel::Committed));
        let table = bed.table::<Row>("t");
        bed.store.flush().wait().unwrap();

        let syncs = vfs.counts(FileKind::Wal).syncs;
        assert_eq!(table.insert_many(rows(1..=24)).wait().unwrap().rows_changed, 24);
        assert_eq!(vfs.counts(FileKind::Wal).syncs, syncs, "nobody asked for more than a commit");

        // A delete is durable whatever is asked for.
        let hold = vfs.hold_syncs(FileKind::Wal);
        let mut deleting = table.delete_many(1..=24).try_submit().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            hold.wait_until_blocked(1);
            assert!(Pin::new(&mut deleting).poll(&mut context).is_pending(), "answered before its sync");
            hold.let_through(1);
        }
        hold.release();
        assert_eq!(deleting.wait().unwrap().rows_changed, 24);
        let image = vfs.image_at_power_cut();
        let folder = walwright_test_support::Scratch::new();
        image.write_into(folder.path()).unwrap();
        let after = walwright::Store::builder(folder.join("store.db")).open().wait().unwrap();
        let left: i64 = after.query("SELECT count(*) FROM t", ()).wait().unwrap()[0].get(0).unwrap();
        assert_eq!(left, 0);
    });
}
