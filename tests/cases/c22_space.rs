//! C22. VACUUM blocks everything, and the file never shrinks after deletes (diegosouzapw/OmniRoute#12821, 7 min 55 s of
//! standstill; also stellar/stellar-cli#464, nexi-lab/nexus#4336, chatmail/core#2931, anomalyco/opencode#31526).
//!
//! What must hold: space goes back in slices beside writes that go on, never by a VACUUM of its own accord; after 90 % of
//! the rows are gone the file is less than a third of what it was; and a disk with less room than the file is enough.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use walwright::{Migration, Store};
use walwright_test_support::{FaultVfs, Probe, Scratch, watchdog};

use crate::support_write::LIMIT;

const MIB: u64 = 1 << 20;
const SCHEMA: &str = "CREATE TABLE event (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, body BLOB NOT NULL);
                      CREATE INDEX event_kind ON event (kind);
                      CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);";

#[test]
fn c22_after_deletes_the_file_shrinks_beside_writes_on_a_nearly_full_disk() {
    watchdog(2 * LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c22");
        let store = Store::builder(scratch.join("store.db"))
            .vfs(vfs.name())
            .migrations(&[Migration::sql(SCHEMA)])
            .reclaim_space()
            .open()
            .wait()
            .unwrap();
        let length = || std::fs::metadata(scratch.join("store.db")).unwrap().len();
        for chunk in 0..20 {
            // One in ten is of the kind that stays, all over the file.
            let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                       INSERT INTO event SELECT ?1 * 1000 + i, i % 10 = 0, zeroblob(2000) FROM n";
            store.execute(sql, (chunk,)).wait().unwrap();
        }
        store.close().wait().unwrap();
        let full = length();
        assert!(full > 38 * MIB);

        // Room for the log at its soft limit four times over, and no more: less than half of the file.
        vfs.set_free_bytes(Some(17 * MIB));
        let store =
            Store::builder(scratch.join("store.db")).vfs(vfs.name()).reclaim_space().open().wait().unwrap();
        let stop = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0_i64;
                while !stop.load(Ordering::Relaxed) {
                    store.execute("INSERT INTO note (text) VALUES ('x')", ()).wait().unwrap();
                    written += 1;
                }
                written
            });
            let events = store.table::<walwright::Row>("event").open().wait().unwrap();
            assert_eq!(events.delete_where("kind", 0).wait().unwrap().rows_changed, 18_000);
            while length() >= full / 3 {
                store.sweep();
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
            writer.join().unwrap()
        });
        let chores = store.stats().chores;
        assert!(chores.iter().all(|chore| chore.failures == 0), "{chores:?}");
        store.close().wait().unwrap();
        assert!(length() < full / 3);
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        probe.integrity_check().unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM event WHERE kind = 1").unwrap(), 2_000);
        assert_eq!(probe.count("SELECT count(*) FROM event").unwrap(), 2_000);
        assert_eq!(probe.count("SELECT count(*) FROM note").unwrap(), written);
    });
}
