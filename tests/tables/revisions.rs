//! The two kinds of revisions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use walwright::{RowReceipt, Table};

use crate::bed::{Bed, conflict, run};

#[derive(Serialize, Deserialize)]
struct Item {
    id: i64,
    n: i64,
}

const ITEMS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, v INTEGER NOT NULL)";

/// Every way to change a row, and to make it anew. Gives the receipts of the changes.
fn life_of_a_row(items: &Table<Item>) -> Vec<RowReceipt> {
    let item = Item { id: 1, n: 0 };
    let mut receipts = vec![
        items.insert(&item).wait().unwrap(),
        items.update(1).set("n", 1).wait().unwrap(),
        items.upsert(&item).wait().unwrap(),
        items.update(1).set_row(&item).wait().unwrap(),
    ];
    let modified = items.modify(1, |item| {
        item.n += 1;
        Ok(())
    });
    receipts.push(modified.wait().unwrap().unwrap().receipt);
    receipts
}

fn revisions(receipts: &[RowReceipt]) -> Vec<i64> {
    receipts.iter().map(|receipt| receipt.revision.unwrap()).collect()
}

#[test]
fn a_counter_counts_the_changes_of_a_row() {
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = bed.revised::<Item>();
        assert_eq!(revisions(&life_of_a_row(&items)), [1, 2, 3, 4, 5]);
        assert_eq!(bed.one("SELECT v FROM t"), "5");
        // What changes nothing does not count.
        items.insert_or_ignore(&Item { id: 1, n: 9 }).wait().unwrap();
        items.modify(1, |_| Ok(())).wait().unwrap();
        conflict(items.update(1).set("n", 9).if_revision(4).wait());
        assert_eq!(bed.one("SELECT v FROM t"), "5");
        // Statements leave it to their SQL.
        bed.sql("UPDATE t SET n = 10");
        assert_eq!(bed.one("SELECT v FROM t"), "5");
        items.delete(1).wait().unwrap();
        assert_eq!(revisions(&life_of_a_row(&items)), [1, 2, 3, 4, 5], "a new row starts at 1 again");
    });
}

/// A counter starts anew with a row that is made again, so that a stale guard can hit it. By sequence it cannot,
/// also not after the file was closed and opened again.
#[test]
fn a_revision_by_sequence_is_never_used_twice() {
    run(|| {
        let mut bed = Bed::new(ITEMS);
        let mut used = BTreeSet::new();
        let mut last = 0;
        for _ in 0..3 {
            let items = bed.store.table::<Item>("t").revision_by_sequence("v").open().wait().unwrap();
            for _ in 0..3 {
                let receipts = life_of_a_row(&items);
                for receipt in &receipts {
                    let revision = receipt.revision.unwrap();
                    assert_eq!(u64::try_from(revision).unwrap(), receipt.sequence);
                    assert!(used.insert(revision), "{revision} was used before");
                    assert!(revision > last, "{revision} does not come after {last}");
                    last = revision;
                }
                assert_eq!(bed.one("SELECT v FROM t"), last.to_string());
                items.delete(1).wait().unwrap();
            }
            items.insert(&Item { id: 1, n: 0 }).wait().unwrap();
            let stale = items.delete(1).if_revision(last).wait();
            assert!(conflict(stale).is_some_and(|now| now > Some(last)));
            items.delete(1).wait().unwrap();
            drop(items);
            bed = bed.reopen();
        }
    });
}

/// A row type need not have a field for the revision: the receipts carry it.
#[test]
fn a_guard_can_take_its_revision_from_a_receipt_or_from_a_row() {
    #[derive(Serialize, Deserialize)]
    struct Versioned {
        id: i64,
        n: i64,
        v: Option<i64>,
    }
    run(|| {
        let bed = Bed::new(ITEMS);
        let items = bed.revised::<Versioned>();
        let receipt = items.insert(&Versioned { id: 1, n: 0, v: None }).wait().unwrap();
        items.update(1).set("n", 1).if_revision(receipt.revision).wait().unwrap();
        let row = items.get(1).wait().unwrap().unwrap();
        assert_eq!(row.v, Some(2));
        let receipt = items.update(1).set("n", 2).if_revision(row.v).wait().unwrap();
        assert_eq!(receipt.revision, Some(3));
    });
}

/// A revision column that was added to a table with rows holds NULL in them. NULL + 1 is NULL, so such a row could
/// never be guarded; the engine counts it from 0.
#[test]
fn a_row_without_a_revision_gets_one_with_its_first_change() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
             INSERT INTO t VALUES (1, 0), (2, 0), (3, 0);
             ALTER TABLE t ADD COLUMN v INTEGER",
        );
        let items = bed.revised::<Item>();
        assert_eq!(items.update(1).set("n", 1).wait().unwrap().revision, Some(1));
        assert_eq!(items.upsert(&Item { id: 2, n: 1 }).wait().unwrap().revision, Some(1));
        assert_eq!(items.update_where("id", 3).set("n", 1).wait().unwrap().rows_changed, 1);
        assert_eq!(bed.look("SELECT v FROM t"), ["1", "1", "1"]);
        assert_eq!(items.update(1).set("n", 2).if_revision(1).wait().unwrap().revision, Some(2));
    });
}
