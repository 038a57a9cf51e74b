//! What a power cut leaves of what opening has done.

use walwright_test_support::Scratch;
use walwright_test_support::vfs::{DatabaseCreation, Disk, Event, FaultPlan, FaultVfs, FileKind};

use super::*;

fn through(vfs: &FaultVfs, path: &Path) -> OpenPlan {
    OpenPlan { vfs: Some(vfs.name().to_owned()), ..with(path, &[FIRST]) }
}

/// What stands on the disk after each prefix of the trace from the `begun`th event on, if nothing survives
/// that was not synced.
fn survivors(scratch: &Scratch, events: &[Event], begun: usize, sql: &str) -> Vec<i64> {
    let dir = scratch.subdirectory("survivors");
    (begun..=events.len())
        .map(|count| {
            fs::remove_dir_all(&dir).unwrap();
            fs::create_dir(&dir).unwrap();
            Disk::after(&events[..count]).image_at_power_cut().write_into(&dir).unwrap();
            let connection = Connection::open(dir.join("a.db")).unwrap();
            assert_eq!(one::<String>(&connection, "PRAGMA integrity_check"), "ok", "after {count} events");
            one(&connection, sql)
        })
        .collect()
}

#[test]
fn what_opening_returned_is_durable() {
    let scratch = Scratch::new();
    let vfs = FaultVfs::unique("opening");
    vfs.start_recording(DatabaseCreation::AtOnce);
    let opened = open(&through(vfs, &scratch.join("a.db"))).unwrap();
    let after = scratch.subdirectory("after");
    vfs.write_image(&after).unwrap();
    let again = open(&with(&after.join("a.db"), &[FIRST])).unwrap();
    assert!(again.sequences.is_empty(), "the table of the sequences has survived");
    assert_eq!(reserve(&again.connection, 1).unwrap().start, opened.sequences.end);
    assert_eq!(again.settings.migrations_applied, 0, "the migration has survived");
}

#[test]
fn rows_that_a_failed_sync_left_in_the_cache_only_are_written_again() {
    let scratch = Scratch::new();
    let path = scratch.join("a.db");
    let vfs = FaultVfs::unique("opening");
    vfs.start_recording(DatabaseCreation::AtOnce);
    let plan = through(vfs, &path);
    let insert = |connection: &Connection, rows: i64| {
        let sql = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                   INSERT INTO a (v) SELECT hex(randomblob(200)) FROM n";
        connection.execute(sql, [rows])
    };
    let zeroth = open(&plan).unwrap();
    // The index makes pages that are far apart depend on each other.
    zeroth.connection.execute_batch("CREATE INDEX a_v ON a (v)").unwrap();
    insert(&zeroth.connection, 300).unwrap();
    drop(zeroth);
    // Its pages are in the database now. In the WAL: some that are durable, then some that only the
    // cache knows.
    let first = open(&plan).unwrap();
    insert(&first.connection, 2).unwrap();
    vfs.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
    first.connection.pragma_update(None, "synchronous", 1).unwrap();
    insert(&first.connection, 60).unwrap();
    first.connection.pragma_update(None, "synchronous", 2).unwrap();
    insert(&first.connection, 60).unwrap_err();
    assert_eq!(vfs.fired(), 1);
    drop(first);

    let begun = vfs.trace().len();
    let second = open(&plan).unwrap();
    let seen: i64 = one(&second.connection, "SELECT count(*) FROM a");
    assert!(seen >= 362, "the cache has what the disk has not");
    let events = vfs.trace();
    let counts = survivors(&scratch, &events, begun, "SELECT count(*) FROM a");
    assert_eq!(counts[0], 302, "or this test shows nothing");
    assert_eq!(counts[counts.len() - 1], seen, "what is seen is durable before anybody is told");
    assert!(counts.is_sorted(), "nothing comes and goes on the way: {counts:?}");
}
