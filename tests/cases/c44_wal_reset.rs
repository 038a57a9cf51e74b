//! C44. SQLite up to 3.51.2 could lose committed pages when one connection reset the log while another was
//! checkpointing it, and a refreshed lockfile silently went back to such a version
//! (benbjohnson/litestream#1432, openai/codex#27718).
//!
//! Must hold: the linked SQLite is 3.51.3 or newer, and says so in the settings; a second connection that
//! checkpoints all the time costs nothing that was acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use walwright::{AckLevel, Store};
use walwright_test_support::{Probe, Scratch, watchdog};

use crate::support_read::{KIB, LIMIT, MIB, number};

#[test]
fn c44_the_linked_sqlite_has_the_fix() {
    watchdog(LIMIT, || {
        assert!(walwright::rusqlite::version_number() >= 3_051_003);
        let scratch = Scratch::new();
        let store = Store::builder(scratch.join("a.db")).open().wait().unwrap();
        let sql = "SELECT sqlite_version()";
        let writer: String = store.write(|tx| tx.query_row(sql, (), |row| row.get(0))).wait().unwrap().value;
        let reader: String = store.read(|db| db.query_row(sql, (), |row| row.get(0))).wait().unwrap();
        let version = &store.settings().sqlite_version;
        assert_eq!((&writer, &reader), (version, version));
        let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
        assert!(parts >= vec![3, 51, 3], "{version}");
    });
}

/// The case asks for a minute; 1,000 groups against some hundred checkpoints from outside are what fits here.
#[test]
fn c44_checkpoints_from_outside_cost_nothing_that_was_acknowledged() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        // A short log of the store's own, so that both sides reset it all the time.
        let store = Store::builder(&path).wal_limits(64 * KIB, 64 * MIB).open().wait().unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).wait().unwrap();
        store.execute("CREATE INDEX i ON t (data)", ()).wait().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let outside = thread::spawn({
            let (path, over) = (path.clone(), over.clone());
            move || {
                let probe = Probe::open(&path).unwrap();
                let mut made = 0;
                while !over.load(Ordering::SeqCst) {
                    for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
                        let sql = format!("PRAGMA wal_checkpoint({mode})");
                        // BUSY while the store writes is part of the game.
                        if probe
                            .connection()
                            .query_row(&sql, [], |row| row.get::<_, i64>(0))
                            .is_ok_and(|busy| busy == 0)
                        {
                            made += 1;
                        }
                    }
                }
                made
            }
        });
        let mut acknowledged = Vec::new();
        for n in 0..1000_i64 {
            let level = if n % 16 == 0 { AckLevel::Durable } else { AckLevel::Committed };
            let data = vec![(n % 251) as u8; 200];
            let write = store.execute("INSERT INTO t VALUES (?1, ?2)", (n, data)).ack(level);
            write.wait().unwrap();
            acknowledged.push(n);
        }
        over.store(true, Ordering::SeqCst);
        assert!(outside.join().unwrap() > 0, "it has made some");
        assert_eq!(number(&store, "SELECT count(*) FROM t"), acknowledged.len() as i64);
        store.close().wait().unwrap();
        let probe = Probe::open(&path).unwrap();
        probe.integrity_check().unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 1000);
        assert_eq!(
            probe.count("SELECT count(*) FROM t WHERE id <> rowid OR length(data) <> 200").unwrap(),
            0
        );
    });
}
