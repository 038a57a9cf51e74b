//! Freed space goes back to the filesystem, and a file that cannot give any is rebuilt when that is asked for.
//! Case C22 is in `tests/cases`.

use walwright::rusqlite::Connection;
use walwright::{Migration, Settings, Store, StoreBuilder};
use walwright_test_support::{Probe, Scratch};

use crate::bed::run;

const SCHEMA: &str = "CREATE TABLE event (id INTEGER PRIMARY KEY, body BLOB NOT NULL)";
const FILL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
                    INSERT INTO event SELECT i, zeroblob(2000) FROM n;";

fn builder(scratch: &Scratch) -> StoreBuilder {
    Store::builder(scratch.join("store.db")).migrations(&[Migration::sql(SCHEMA)]).readers(1)
}

fn sql(store: &Store, sql: &'static str) {
    store
        .write(move |tx| {
            tx.execute_batch(sql)?;
            Ok(())
        })
        .wait()
        .unwrap();
}

fn length(scratch: &Scratch) -> u64 {
    std::fs::metadata(scratch.join("store.db")).unwrap().len()
}

fn open_and_close(builder: StoreBuilder) -> Settings {
    let store = builder.open().wait().unwrap();
    let settings = store.settings().clone();
    store.close().wait().unwrap();
    settings
}

#[test]
fn a_new_file_shrinks_while_it_is_open() {
    run(|| {
        let scratch = Scratch::new();
        let store = builder(&scratch).reclaim_space().open().wait().unwrap();
        assert!(store.settings().reclaims_space && !store.settings().rebuilt);
        sql(&store, FILL);
        store.flush().wait().unwrap();
        // Every second row is in the way, so that pages have to move.
        sql(&store, "DELETE FROM event WHERE id % 10 <> 0");
        let full = 4000 * 2000;
        // With nothing else going on the writer copies the log, and so cuts the file.
        while length(&scratch) == 0 || length(&scratch) > full / 3 {
            store.sweep();
            // Each look is a command: the writer copies the log when there is none for a while.
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        let line = store.stats().chores.remove(0);
        assert_eq!((&*line.name, line.failures), ("give space back", 0));
        assert!(line.rows > 1000, "{line:?}");
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        probe.integrity_check().unwrap();
        assert_eq!(probe.count("SELECT sum(length(body)) FROM event").unwrap(), 400 * 2000);
        drop(probe);
        store.close().wait().unwrap();
    });
}

/// What is freed at the end of the file goes without a page being moved, and leaves a short log.
#[test]
fn free_pages_at_the_end_of_the_file_go_too() {
    run(|| {
        let scratch = Scratch::new();
        let store = builder(&scratch).reclaim_space().open().wait().unwrap();
        sql(&store, FILL);
        store.close().wait().unwrap();
        let store = builder(&scratch).reclaim_space().open().wait().unwrap();
        let full = length(&scratch);
        sql(&store, "DELETE FROM event WHERE id > 400");
        while length(&scratch) > full / 5 {
            store.sweep();
            // Each look is a command: the writer copies the log when there is none for a while.
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        store.close().wait().unwrap();
    });
}

#[test]
fn without_being_asked_a_file_keeps_what_is_freed() {
    run(|| {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        assert!(!store.settings().reclaims_space);
        assert_eq!(store.stats().chores, []);
        store.close().wait().unwrap();
    });
}

#[test]
fn an_old_file_is_left_alone_until_its_rebuilding_is_asked_for() {
    run(|| {
        let scratch = Scratch::new();
        let old = Connection::open(scratch.join("store.db")).unwrap();
        old.execute_batch(&format!(
            "{SCHEMA}; {FILL}; DELETE FROM event WHERE id > 400; PRAGMA user_version = 1"
        ))
        .unwrap();
        drop(old);
        let full = length(&scratch);
        let settings = open_and_close(builder(&scratch).reclaim_space());
        assert!(!settings.reclaims_space && !settings.rebuilt);
        assert_eq!(length(&scratch) / 4096, full / 4096, "nothing does a VACUUM by itself");

        let settings = open_and_close(builder(&scratch).rebuild_to_reclaim());
        assert!(settings.reclaims_space && settings.rebuilt);
        assert!(length(&scratch) < full / 5);
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        probe.integrity_check().unwrap();
        assert_eq!(probe.count("SELECT sum(length(body)) FROM event").unwrap(), 400 * 2000);
        drop(probe);
        let settings = open_and_close(builder(&scratch).rebuild_to_reclaim());
        assert!(settings.reclaims_space && !settings.rebuilt, "once is enough");
    });
}

/// In the mode FULL every commit would move pages.
#[test]
fn a_file_that_moves_pages_with_every_commit_is_switched() {
    run(|| {
        let scratch = Scratch::new();
        let old = Connection::open(scratch.join("store.db")).unwrap();
        old.execute_batch("PRAGMA auto_vacuum = FULL; CREATE TABLE t (x)").unwrap();
        drop(old);
        let settings = open_and_close(builder(&scratch).reclaim_space());
        assert!(settings.reclaims_space && !settings.rebuilt);
        let settings = open_and_close(builder(&scratch));
        assert!(settings.reclaims_space, "it stays with the file");
    });
}
