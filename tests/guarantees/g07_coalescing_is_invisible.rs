//! Guarantee 7, *coalescing is invisible*: results, errors, revisions and the final rows are those of carrying out the
//! commands one after the other.
//!
//! Programs of row commands run in one group, with coalescing and without, and must be answered alike. That commands
//! did share statements is seen in the statistics. Random programs are compared in `tests/coalescing`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use walwright::{AckLevel, Pending, RowReceipt, Stats, Store, Table, WriteError};

use crate::bed::{Bed, column, hold_writer, one, run};

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, body NOT NULL, made TEXT DEFAULT 'then', \
                      version INTEGER NOT NULL); CREATE TABLE log (x); \
                      INSERT INTO t VALUES (1000, 'taken', 'b', 'before', 5)";

#[derive(Serialize, Deserialize, Clone)]
struct Item {
    id: i64,
    name: Option<String>,
    body: Option<String>,
}

fn item(id: i64) -> Item {
    Item { id, name: None, body: Some("first".to_owned()) }
}

fn open(bed: &Bed, coalescing: bool) -> (Store, Table<Item>) {
    // The large values of one test share a group, too.
    let store =
        bed.builder().group(1000, 64 << 20, std::time::Duration::from_secs(60)).coalescing(coalescing);
    let store = store.open().wait().unwrap();
    let table = store.table::<Item>("t").revision("version").open().wait().unwrap();
    // The first command on a table looks at its schema, and no other joins it.
    table.delete(999).wait().unwrap();
    (store, table)
}

/// An answer without its sequence, which depends on what came before.
fn told(answer: Result<RowReceipt, WriteError>) -> String {
    match answer {
        Ok(RowReceipt { rows_changed, revision, created, rowid, .. }) => {
            format!("{rows_changed} revision {revision:?} created {created} rowid {rowid:?}")
        }
        Err(error) => error.to_string(),
    }
}

fn rows(store: &Store) -> Vec<String> {
    column(
        store,
        "SELECT id || ifnull(name, '-') || substr(body, 1, 9) || made || version FROM t ORDER BY id",
    )
}

/// What a program was answered and left, and the difference that it made in the statistics.
struct Ran {
    told: Vec<String>,
    rows: Vec<String>,
    before: Stats,
    after: Stats,
}

impl Ran {
    fn statements(&self) -> u64 {
        // Those of the two closures that hold the writer begin before either look.
        self.after.statements - self.before.statements - 1
    }

    fn coalesced(&self) -> u64 {
        self.after.coalesced - self.before.coalesced
    }
}

type Program = fn(&Store, &Table<Item>) -> Vec<Pending<RowReceipt>>;

/// Runs a program in one group.
fn carry_out(coalescing: bool, program: Program) -> Ran {
    let bed = Bed::with(SCHEMA);
    let (store, table) = open(&bed, coalescing);
    let gate = hold_writer(&store);
    let before = store.stats();
    let sent = program(&store, &table);
    gate.open();
    let mut last = 0;
    let mut told = Vec::new();
    for pending in sent {
        let answer = pending.wait();
        if let Ok(receipt) = &answer {
            assert!(receipt.sequence > last, "sequences grow in the order of admission");
            last = receipt.sequence;
        }
        told.push(self::told(answer));
    }
    let gate = hold_writer(&store);
    let after = store.stats();
    gate.open();
    let rows = rows(&store);
    store.close().wait().unwrap();
    Ran { told, rows, before, after }
}

/// Runs a program in both ways, and gives how it ran with coalescing.
#[track_caller]
fn invisible(program: Program) -> Ran {
    let (together, alone) = (carry_out(true, program), carry_out(false, program));
    assert_eq!(together.told, alone.told);
    assert_eq!(together.rows, alone.rows);
    assert_eq!(alone.coalesced(), 0);
    together
}

/// 64 tasks, each of which inserts a row and updates it without waiting in between.
#[test]
fn a_pair_shares_a_statement_and_each_caller_has_its_receipt() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let (store, table) = open(&bed, true);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let gate = hold_writer(&store);
        let before = store.stats();
        let sent = Arc::new(tokio::sync::Barrier::new(65));
        let tasks: Vec<_> = (0..64)
            .map(|id| {
                let (table, sent) = (table.clone(), Arc::clone(&sent));
                runtime.spawn(async move {
                    let inserted = table.insert(&item(id)).submit().await.unwrap();
                    let updated = table.update(id).set("body", "second").submit().await.unwrap();
                    sent.wait().await;
                    (inserted.await.unwrap(), updated.await.unwrap())
                })
            })
            .collect();
        runtime.block_on(sent.wait());
        gate.open();
        for (id, task) in (0..).zip(tasks) {
            let (inserted, updated) = runtime.block_on(task).unwrap();
            assert!(inserted.sequence < updated.sequence);
            assert_eq!((inserted.revision, inserted.created, inserted.rowid), (Some(1), true, Some(id)));
            assert_eq!(inserted.filled("made").and_then(|value| value.as_str()), Some("then"));
            assert_eq!((updated.revision, updated.created, updated.rowid), (Some(2), false, None));
            assert_eq!((updated.rows_changed, updated.filled("made")), (1, None));
        }
        let gate = hold_writer(&store);
        let after = store.stats();
        gate.open();
        assert_eq!(after.commands - before.commands, 129, "the gate and the pairs");
        assert_eq!(after.groups - before.groups, 2, "the pairs were one group");
        assert_eq!(after.coalesced - before.coalesced, 64);
        assert_eq!(after.statements - before.statements, 65, "one for each pair, and the gate");
        let written: i64 = one(&store, "SELECT count(*) FROM t WHERE body = 'second' AND version = 2");
        assert_eq!(written, 64);
    });
}

/// Another row has the name already: the one statement fails, and so does the insert, and only it.
#[test]
fn a_chain_whose_head_fails_is_carried_out_one_by_one() {
    run(|| {
        let ran = invisible(|_, table| {
            let taken = Item { name: Some("taken".to_owned()), ..item(2) };
            vec![
                table.insert(&item(1)).try_submit().unwrap(),
                table.insert(&taken).try_submit().unwrap(),
                table.update(1).set("body", "second").try_submit().unwrap(),
                table.update(2).set("body", "second").try_submit().unwrap(),
                table.delete(2).try_submit().unwrap(),
                table.insert(&item(2)).try_submit().unwrap(),
            ]
        });
        assert!(ran.told[1].contains("constraint"), "{:?}", ran.told);
        assert!(ran.told[3].starts_with("0 "), "{:?}", ran.told);
        assert_eq!(ran.rows, ["1-secondthen2", "2-firstthen1", "1000takenbbefore5"]);
        assert!(ran.coalesced() >= 1, "the row beside it does share a statement");
    });
}

/// A command in the middle breaks a constraint, and those around it do not.
#[test]
fn a_failure_in_the_middle_of_a_chain_stays_with_its_command() {
    run(|| {
        let ran = invisible(|_, table| {
            vec![
                table.insert(&item(1)).try_submit().unwrap(),
                table.update(1).set("body", "second").try_submit().unwrap(),
                table.update(1).set("body", None::<&str>).try_submit().unwrap(),
                table.update(1).set("name", "taken").try_submit().unwrap(),
                table.update(1).set("made", "now").if_revision(2).try_submit().unwrap(),
                table.update(1).set("made", "late").if_revision(2).try_submit().unwrap(),
                table.insert(&item(1)).try_submit().unwrap(),
                table.upsert(&Item { body: Some("third".to_owned()), ..item(1) }).try_submit().unwrap(),
            ]
        });
        let fails: Vec<bool> = ran.told.iter().map(|told| told.contains("nothing was applied")).collect();
        assert_eq!(fails, [false, false, true, true, false, true, true, false], "{:?}", ran.told);
        assert_eq!(ran.rows, ["1-thirdnow4", "1000takenbbefore5"]);
    });
}

#[test]
fn conflicts_are_told_the_revision_of_their_moment() {
    run(|| {
        let ran = invisible(|_, table| {
            let guarded =
                |revision| table.update(1000).set("body", "x").if_revision(revision).try_submit().unwrap();
            vec![
                guarded(5),
                guarded(5),
                guarded(6),
                guarded(6),
                guarded(9),
                table.delete(1000).if_revision(5).try_submit().unwrap(),
                table.delete(1000).if_revision(7).try_submit().unwrap(),
                guarded(7),
            ]
        });
        let revisions = [6, 6, 7, 7, 7, 7];
        for (told, revision) in ran.told.iter().zip(revisions) {
            assert!(told.contains(&revision.to_string()), "{:?}", ran.told);
        }
        assert!(ran.told[7].contains("not there"), "{:?}", ran.told);
        assert_eq!(ran.rows, Vec::<String>::new());
        assert!(ran.statements() < 8, "answered from memory");
    });
}

/// What stands between two commands on a row sees the row as it is then.
#[test]
fn a_statement_in_between_sees_the_row_of_its_moment() {
    run(|| {
        let look = |store: &Store| {
            drop(store.execute("INSERT INTO log SELECT body FROM t WHERE id = 1", ()).try_submit().unwrap());
        };
        for coalescing in [true, false] {
            let bed = Bed::with(SCHEMA);
            let (store, table) = open(&bed, coalescing);
            let gate = hold_writer(&store);
            let mut sent = vec![table.insert(&item(1)).try_submit().unwrap()];
            look(&store);
            for body in ["second", "third", "fourth"] {
                sent.push(table.update(1).set("body", body).try_submit().unwrap());
                sent.push(table.update(1).set("made", body).try_submit().unwrap());
                look(&store);
            }
            gate.open();
            let revisions: Vec<_> =
                sent.into_iter().map(|one| one.wait().unwrap().revision.unwrap()).collect();
            assert_eq!(revisions, Vec::from_iter(1..=7));
            store.flush().wait().unwrap();
            assert_eq!(column::<String>(&store, "SELECT x FROM log"), ["first", "second", "third", "fourth"]);
            assert_eq!(store.stats().coalesced, if coalescing { 3 } else { 0 });
        }
    });
}

/// The disk has no room for one value: the whole run loses its transaction, and only that command fails.
#[test]
fn a_run_that_loses_its_transaction_answers_each_right() {
    run(|| {
        for coalescing in [true, false] {
            let bed = Bed::with(SCHEMA);
            let builder = bed.builder().group(1000, 64 << 20, std::time::Duration::from_secs(60));
            let store = builder.page_cache(256 << 10).coalescing(coalescing).open().wait().unwrap();
            let table = store.table::<Item>("t").revision("version").open().wait().unwrap();
            table.delete(999).wait().unwrap();
            let gate = hold_writer(&store);
            let before = store.stats();
            let mut sent = Vec::new();
            for id in 1..=20 {
                sent.push(table.insert(&item(id)).try_submit().unwrap());
                let body = if id == 11 { "x".repeat(5_000_000) } else { "second".to_owned() };
                sent.push(table.update(id).set("body", body).try_submit().unwrap());
                sent.push(table.update(id).set("made", "now").try_submit().unwrap());
            }
            sent.push(table.delete(20).try_submit().unwrap());
            bed.vfs.set_free_bytes(Some(1 << 20));
            gate.open();
            for (at, pending) in sent.into_iter().enumerate() {
                let (id, step) = (at / 3 + 1, at % 3);
                match (id, step, pending.wait()) {
                    (11, 1, Err(WriteError::DiskFull(_))) => {}
                    (11, 2, Ok(receipt)) => assert_eq!(receipt.revision, Some(2)),
                    (21, 0, Ok(receipt)) => assert_eq!((receipt.rows_changed, receipt.revision), (1, None)),
                    (_, _, Ok(receipt)) => assert_eq!(receipt.revision, Some(step as i64 + 1)),
                    (_, _, Err(error)) => panic!("{id} {step}: {error}"),
                }
            }
            let gate = hold_writer(&store);
            let after = store.stats();
            gate.open();
            assert_eq!(after.failed_commands - before.failed_commands, 1);
            let rows = rows(&store);
            assert_eq!(rows.len(), 20);
            assert_eq!((rows[0].as_str(), rows[10].as_str()), ("1-secondnow3", "11-firstnow2"));
            // With room again they share statements again.
            bed.vfs.set_free_bytes(None);
            let gate = hold_writer(&store);
            let inserted = table.insert(&item(11_000)).try_submit().unwrap();
            let updated = table.update(11_000).set("body", "second").try_submit().unwrap();
            gate.open();
            assert_eq!(
                (inserted.wait().unwrap().revision, updated.wait().unwrap().revision),
                (Some(1), Some(2))
            );
            assert_eq!(store.stats().coalesced > after.coalesced, coalescing);
        }
    });
}

/// A delete right behind changes that were asked for less than durable: once it is answered the row is gone, for
/// every reader and after a power cut at that very moment, and nothing that was sent before it comes later.
#[test]
fn a_delete_behind_pending_changes_is_final() {
    run(|| {
        let bed = Bed::with(SCHEMA);
        let (store, table) = open(&bed, true);
        let committed = AckLevel::Committed;
        for round in 0..3 {
            // On the disk already: a delete that a power cut takes back would show them.
            table.insert_many([item(1), item(3)]).wait().unwrap();
            let writes = [
                table.update(1).set("body", "second").ack(committed),
                table.delete(1).ack(committed),
                table.insert(&item(2)).ack(committed),
                table.update(2).set("body", "second").ack(committed),
                table.delete(2).ack(committed),
                table.upsert(&Item { body: Some("second".to_owned()), ..item(3) }).ack(committed),
                table.update(3).set("made", "now").ack(committed),
                table.delete(3).ack(committed),
                table.delete(3).ack(committed),
                table.update(3).set("body", "none").ack(committed),
            ];
            let answers = bed.row_answers(&store, writes);
            let (rows, images): (Vec<_>, Vec<_>) =
                answers.into_iter().map(|(answer, image)| (answer.unwrap().rows_changed, image)).unzip();
            assert_eq!(rows, [1, 1, 1, 1, 1, 1, 1, 1, 0, 0], "{round}");
            for image in &images[1..] {
                assert_eq!(bed.ids_in(image), [1000]);
            }
            assert!(!table.exists(1).wait().unwrap());
            assert_eq!(table.count().wait().unwrap(), 1);
        }
        assert!(store.stats().coalesced > 0);
    });
}
