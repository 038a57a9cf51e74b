//! C53. The clock goes backwards, or stands before 1970: newer records sort before older ones, ids collide, or the
//! process panics (simonw/llm#1641; also eventflux-io/eventflux#20, xmtp/libxmtp#3968,
//! akka/akka-persistence-r2dbc#49).
//!
//! What must hold: commit sequences, revisions and the order of lists come from counters. Only expiry goes by the time
//! of day (a house rule holds that over the source); that nothing expires early is in `tests/retention/expiry.rs`. What
//! steps here are the program's own timestamps, which are data like any other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use walwright::{Migration, Store};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::LIMIT;

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
struct Event {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    /// Milliseconds since 1970, by a clock that is set now and then.
    at: i64,
    version: i64,
}

const DAY: i64 = 86_400_000;

#[test]
fn c53_order_and_revisions_grow_whatever_the_clock_says() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let schema =
            "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, version INTEGER NOT NULL)";
        let now = 1_700_000_000_000;
        // Today, tomorrow, yesterday, 1969, and the limits of the type.
        let clock = [now, now + DAY, now - DAY, -DAY, i64::MIN, i64::MAX, now];
        let (mut last_sequence, mut last_revision, mut ids) = (0, 0, Vec::new());
        for _start in 0..3 {
            let store = Store::builder(scratch.join("store.db"))
                .migrations(&[Migration::sql(schema)])
                .open()
                .wait()
                .unwrap();
            let events = store.table::<Event>("event").revision_by_sequence("version").open().wait().unwrap();
            for at in clock {
                let event = Event { id: None, at, version: 0 };
                // Longer than the test takes: a clock that jumps ahead must not let it expire.
                let made = events.insert(&event).deadline(LIMIT).wait().unwrap();
                let changed =
                    events.update(made.rowid.unwrap()).set("at", at).deadline(LIMIT).wait().unwrap();
                for receipt in [made, changed] {
                    assert!(receipt.sequence > last_sequence);
                    assert!(receipt.revision > Some(last_revision));
                    last_sequence = receipt.sequence;
                    last_revision = receipt.revision.unwrap();
                    ids.extend(receipt.rowid);
                }
            }
            let rows = events.page().limit(1000).deadline(Duration::from_secs(60)).wait().unwrap().rows;
            assert!(rows.is_sorted_by_key(|row| row.version), "a list by key is in the order of arrival");
            assert_eq!(rows.iter().filter_map(|row| row.id).collect::<Vec<_>>(), ids);
            assert_eq!(
                rows.iter().map(|row| row.at).collect::<Vec<_>>(),
                clock.repeat(rows.len() / clock.len())
            );
            store.close().wait().unwrap();
        }
        assert!(ids.is_sorted());
        assert_eq!(ids.len(), 3 * clock.len());
    });
}
