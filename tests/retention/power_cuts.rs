//! The power is cut while a sweep goes on and pages are given back: whatever is on the disk then, nothing else is
//! lost, and the next open goes on where it stood.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use walwright::{Migration, Retention, Store, StoreBuilder, TimeUnit};
use walwright_test_support::vfs::DatabaseCreation;
use walwright_test_support::{Explorer, FaultVfs, Probe, Scratch};

use crate::bed::{Clock, run};

/// Images that are opened. More of them: set `WALWRIGHT_IMAGES`.
const IMAGES: usize = 16;
const SEED: u64 = 6;

const SCHEMA: &str = "CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER, body BLOB);
                      CREATE INDEX session_expires ON session (expires);
                      CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER, at INTEGER);
                      CREATE INDEX message_place ON message (buffer, at);";
/// One session in five stays; of each of ten groups the newest 20 messages.
const FILL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
                    INSERT INTO session SELECT i, CASE WHEN i % 5 = 0 THEN NULL ELSE i END, zeroblob(700) FROM n;
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                    INSERT INTO message SELECT i, i % 10, i FROM n;";
const KEPT_SESSIONS: i64 = 300;
const KEPT_MESSAGES: i64 = 200;

fn builder(path: &Path, clock: &Clock) -> StoreBuilder {
    clock
        .of(Store::builder(path))
        .readers(1)
        .migrations(&[Migration::sql(SCHEMA)])
        .retention(Retention::of("session").expires("expires", TimeUnit::Milliseconds))
        .retention(Retention::of("message").newest(20, "buffer", "at"))
        .reclaim_space()
}

#[track_caller]
fn count(path: &Path, sql: &str) -> i64 {
    Probe::open(path).unwrap().count(sql).unwrap()
}

/// Waits until nothing that is to go is left, and the file has given its space back.
fn sweep_to_the_end(store: &Store, path: &Path) {
    let free = "SELECT (SELECT freelist_count FROM pragma_freelist_count) <= 64";
    while count(path, "SELECT count(*) FROM session") > KEPT_SESSIONS
        || count(path, "SELECT count(*) FROM message") > KEPT_MESSAGES
        || count(path, free) == 0
    {
        store.sweep();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// What has to be there at every moment.
fn check_what_stays(path: &Path, at: &str) {
    let probe = Probe::open(path).unwrap();
    probe.integrity_check().unwrap_or_else(|error| panic!("{at}: {error}"));
    let sessions =
        probe.count("SELECT count(*) FROM session WHERE expires IS NULL AND length(body) = 700").unwrap();
    assert_eq!(sessions, KEPT_SESSIONS, "{at}");
    let messages = probe.count("SELECT count(*) FROM message WHERE at > 800").unwrap();
    assert_eq!(messages, KEPT_MESSAGES, "{at}");
}

#[test]
fn whatever_a_power_cut_leaves_the_sweep_goes_on() {
    run(|| {
        let images = std::env::var("WALWRIGHT_IMAGES").ok().map_or(IMAGES, |images| images.parse().unwrap());
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("sweep");
        vfs.start_recording(DatabaseCreation::AtOnce);
        let path = scratch.join("store.db");
        let store =
            Store::builder(&path).vfs(vfs.name()).migrations(&[Migration::sql(SCHEMA)]).reclaim_space();
        let store = store.open().wait().unwrap();
        store
            .write(|tx| {
                tx.execute_batch(FILL)?;
                Ok(())
            })
            .wait()
            .unwrap();
        store.close().wait().unwrap();
        let filled = vfs.trace().len();
        let clock = Clock::at(10_000);
        let store = builder(&path, &clock).vfs(vfs.name()).open().wait().unwrap();
        sweep_to_the_end(&store, &path);
        store.close().wait().unwrap();
        let trace = vfs.stop_recording();

        let (mut seen, mut unfinished) = (HashSet::new(), 0);
        Explorer::new(&trace, 4 * images, SEED).explore(|wreck| {
            if wreck.events < filled || seen.len() >= images || !seen.insert(wreck.number) {
                return;
            }
            let Some(image) = wreck.image else { return };
            let at = format!("image {} at event {}", wreck.number, wreck.events);
            let folder = scratch.subdirectory("wreck");
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
            image.write_into(&folder).unwrap();
            let path = folder.join("store.db");
            check_what_stays(&path, &at);
            unfinished += usize::from(count(&path, "SELECT count(*) FROM session") > KEPT_SESSIONS);
            let store = builder(&path, &clock).open().wait().unwrap();
            sweep_to_the_end(&store, &path);
            check_what_stays(&path, &at);
            store.close().wait().unwrap();
        });
        assert!(unfinished > images / 10, "only {unfinished} of {} images are of a sweep", seen.len());
        // All of it was told as done, and the store was closed: nothing comes back.
        check_what_stays(&path, "at the end");
        assert_eq!(count(&path, "SELECT count(*) FROM session"), KEPT_SESSIONS);
    });
}
