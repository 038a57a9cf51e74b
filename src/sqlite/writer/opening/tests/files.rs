//! What opening creates, recovers and converts.

use std::env;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::*;

#[test]
fn a_new_database_is_private_in_wal_mode_and_has_sequences() {
    let (_dir, path) = folder();
    let opened = open(&plan(&path)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let settings = &opened.settings;
    assert!(settings.created && !settings.converted && !settings.recovered && !opened.degraded);
    assert_eq!((settings.journal_mode.as_str(), settings.synchronous.as_str()), ("wal", "full"));
    assert_eq!(settings.page_size, 4096);
    assert_eq!(opened.sequences, 1..(1 << 20) + 1);
    assert_eq!(opened.path, path);
    assert!(!opened.identity.moved());
}

#[test]
fn sequences_are_never_reserved_twice() {
    let (_dir, path) = folder();
    let first = open(&plan(&path)).unwrap();
    first.connection.pragma_update(None, "synchronous", 1).unwrap();
    let second = reserve(&first.connection, 1).unwrap();
    assert_eq!(settings::read(&first.connection, "synchronous").unwrap(), 1);
    assert_eq!(second.start, first.sequences.end);
    drop(first);
    let third = open(&plan(&path)).unwrap();
    assert!(third.sequences.is_empty(), "the first write reserves them");
    assert_eq!(reserve(&third.connection, 1).unwrap().start, second.end);
}

/// Another program dropped the engine's table while the store was open, and the next range began at 1.
#[test]
fn sequences_do_not_go_back_when_their_table_is_dropped() {
    let (_dir, path) = folder();
    let opened = open(&plan(&path)).unwrap();
    opened.connection.execute_batch("DROP TABLE walwright_sequence").unwrap();
    assert_eq!(reserve(&opened.connection, 500_000).unwrap().start, 500_000);
}

#[test]
fn a_migration_cannot_drop_the_table_of_the_sequences() {
    const LIST: &[Migration] = &[Migration::sql("DROP TABLE walwright_sequence")];
    let (_dir, path) = folder();
    drop(open(&plan(&path)).unwrap());
    let error = refused(&with(&path, LIST));
    assert!(matches!(error, OpenError::Migration { index: 0, .. }), "{error}");
}

#[test]
fn symbolic_links_lead_to_one_database() {
    let (dir, path) = folder();
    let link = dir.path().join("link.db");
    symlink("a.db", &link).unwrap();
    // A link to nothing yet: the database is created where it points to.
    let opened = open(&plan(&link)).unwrap();
    assert_eq!(opened.path, path);
    assert!(matches!(refused(&plan(&path)), OpenError::AlreadyOpen { this_process: true, .. }));
    drop(opened);
    assert_eq!(open(&plan(&path)).unwrap().path, path);
}

#[test]
fn parents_are_made_only_when_asked() {
    let (dir, path) = folder();
    let deep = path.with_file_name("x").join("y").join("a.db");
    assert!(matches!(refused(&plan(&deep)), OpenError::ParentMissing { .. }));
    assert_eq!(names(&path).len(), 0);
    let opened = open(&OpenPlan { create_parents: true, ..plan(&deep) }).unwrap();
    assert_eq!(opened.path, deep);
    drop((opened, dir));
}

#[test]
fn a_rollback_journal_database_is_converted_with_its_rows_and_page_size() {
    let (_dir, path) = folder();
    let old = Connection::open(&path).unwrap();
    old.execute_batch("PRAGMA page_size = 1024; CREATE TABLE a (v); INSERT INTO a VALUES (7)").unwrap();
    drop(old);
    let opened = open(&plan(&path)).unwrap();
    assert!(opened.settings.converted && !opened.settings.created);
    assert_eq!(opened.settings.page_size, 1024);
    assert_eq!(one::<i64>(&opened.connection, "SELECT v FROM a"), 7);
    drop(opened);
    assert!(!open(&plan(&path)).unwrap().settings.converted);
}

#[test]
fn conversion_waits_for_a_writer_that_sqlite_does_not_wait_for() {
    let (_dir, path) = folder();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE a (v); BEGIN IMMEDIATE").unwrap();
    let error = refused(&OpenPlan { open_timeout: Duration::from_millis(30), ..plan(&path) });
    assert!(matches!(error, OpenError::Busy { .. }) && error.is_retryable());

    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let opening = scope.spawn(|| {
            tell.send(()).unwrap();
            open(&plan(&path))
        });
        told.recv().unwrap();
        // Released while the opening is at it, or before: either way it must succeed.
        thread::sleep(Duration::from_millis(100));
        other.execute_batch("COMMIT").unwrap();
        assert!(opening.join().unwrap().unwrap().settings.converted);
    });
}

#[test]
fn a_wal_left_by_a_crash_is_brought_into_the_file_before_anything_else() {
    let (_dir, path) = folder();
    let victim = path.with_file_name("victim.db");
    let connection = probe(&victim);
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (v); INSERT INTO a VALUES (7)")
        .unwrap();
    crash_copy(&victim, &path);
    let wal = path.with_file_name("a.db-wal");
    let bytes = fs::metadata(&wal).unwrap().len();
    assert!(bytes > 0);
    let opened = open(&plan(&path)).unwrap();
    assert!(opened.settings.recovered);
    assert_eq!(opened.settings.wal_bytes_recovered, bytes);
    drop(opened);
    // The row is in the main file by itself.
    fs::remove_file(&wal).unwrap();
    assert_eq!(one::<i64>(&probe(&path), "SELECT v FROM a"), 7);
}

#[test]
fn a_reader_that_pins_the_wal_makes_opening_wait_and_then_fail() {
    let (_dir, path) = folder();
    let writer = probe(&path);
    writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (v)").unwrap();
    let reader = probe(&path);
    reader.execute_batch("BEGIN; SELECT * FROM a").unwrap();
    let _: i64 = one(&reader, "SELECT count(*) FROM a");
    writer.execute_batch("INSERT INTO a VALUES (7)").unwrap();
    let short = OpenPlan { open_timeout: Duration::from_millis(100), ..plan(&path) };
    let begun = Instant::now();
    assert!(matches!(refused(&short), OpenError::Busy { doing: "checkpointing the WAL", .. }));
    assert!(begun.elapsed() >= Duration::from_millis(100));
    reader.execute_batch("ROLLBACK").unwrap();
    assert!(open(&plan(&path)).unwrap().settings.recovered);
}

/// A database whose rollback journal is hot, with `user_version` 3 and 1000 rows of 'old'.
fn hot_journal(path: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim.db");
    let connection = Connection::open(&victim).unwrap();
    connection
        .execute_batch(
            "PRAGMA cache_size = 5; CREATE TABLE a (v); PRAGMA user_version = 3;
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO a SELECT 'old' || hex(zeroblob(100)) FROM n;
             BEGIN; UPDATE a SET v = 'new' || hex(zeroblob(100));",
        )
        .unwrap();
    crash_copy(&victim, path);
    assert!(fs::metadata(path.with_file_name("a.db-journal")).unwrap().len() > 0);
    assert!(fs::read(path).unwrap().windows(5).any(|w| w == b"new00"), "the cache has spilled");
}

#[test]
fn a_hot_journal_is_played_back_and_the_checks_repeated() {
    let (_dir, path) = folder();
    hot_journal(&path);
    let error = refused(&with(&path, &[FIRST]));
    assert!(matches!(error, OpenError::SchemaTooNew { found: 3, known: 1, .. }));
    let connection = probe(&path);
    assert_eq!(one::<String>(&connection, "PRAGMA journal_mode"), "delete", "nothing else was changed");
    drop(connection);

    fs::remove_file(&path).unwrap();
    hot_journal(&path);
    let opened = open(&plan(&path)).unwrap();
    assert!(opened.settings.recovered && opened.settings.converted);
    assert_eq!(one::<i64>(&opened.connection, "SELECT count(*) FROM a WHERE v LIKE 'old%'"), 1000);
}

#[test]
fn without_shared_memory_it_degrades_only_if_allowed() {
    let (_dir, path) = folder();
    // A VFS of SQLite's own that has no shared memory.
    let strict = OpenPlan { vfs: Some("unix-dotfile".into()), ..plan(&path) };
    match refused(&strict) {
        OpenError::WalRefused { mode, .. } => assert_eq!(mode, "delete"),
        other => panic!("{other}"),
    }
    assert_eq!(names(&path).len(), 0, "nothing half-made is left");
    let opened = open(&OpenPlan { require_wal: false, ..strict }).unwrap();
    assert!(opened.degraded);
    let settings = &opened.settings;
    assert_eq!((settings.journal_mode.as_str(), settings.synchronous.as_str()), ("delete", "extra"));
    reserve(&opened.connection, 1).unwrap();
    assert_eq!(settings::read(&opened.connection, "synchronous").unwrap(), 3);
}

#[test]
fn dropping_what_was_opened_leaves_the_wal_to_the_next_opening() {
    let (_dir, path) = folder();
    let opened = open(&plan(&path)).unwrap();
    opened.connection.execute_batch("CREATE TABLE a (v)").unwrap();
    drop(opened);
    assert!(fs::metadata(path.with_file_name("a.db-wal")).unwrap().len() > 0);
    assert!(open(&plan(&path)).unwrap().settings.recovered);
}

const RACE: &str = "WALWRIGHT_TEST_OPEN_RACE";

/// Not a test by itself: one of the processes that `racing_processes` starts.
#[test]
fn child_that_races() {
    let Some(path) = env::var_os(RACE) else { return };
    let result = open(&plan(Path::new(&path)));
    match &result {
        Ok(_) => println!("\nowner"),
        Err(OpenError::AlreadyOpen { this_process: false, .. }) => println!("\nrefused"),
        Err(other) => println!("\n{other:?}"),
    }
    // Kept open until everybody has tried.
    let _ = io::stdin().read(&mut [0]);
}

#[test]
fn racing_processes_get_the_store_or_hear_that_it_is_open() {
    for _ in 0..5 {
        let (_dir, path) = folder();
        let mut children: Vec<_> = (0..8)
            .map(|_| {
                let mut child = Command::new(env::current_exe().unwrap());
                child.args([
                    "--exact",
                    "sqlite::writer::opening::tests::files::child_that_races",
                    "--nocapture",
                ]);
                child.env(RACE, &path).stdin(Stdio::piped()).stdout(Stdio::piped());
                child.spawn().unwrap()
            })
            .collect();
        let mut answers = Vec::new();
        for child in &mut children {
            let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
            let known = |line: &String| {
                !line.is_empty() && !line.starts_with("running") && !line.starts_with("test ")
            };
            answers.push(lines.map_while(Result::ok).find(known).unwrap());
        }
        for mut child in children {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        answers.sort();
        let mut wanted = vec!["owner"; 1];
        wanted.extend(["refused"; 7]);
        assert_eq!(answers, wanted);
    }
}

#[test]
fn racing_threads_get_the_store_or_hear_that_it_is_open() {
    let (_dir, path) = folder();
    for _ in 0..5 {
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&plan(&path)))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for result in &results {
            assert!(
                matches!(result, Ok(_) | Err(OpenError::AlreadyOpen { .. })),
                "{:?}",
                result.as_ref().err()
            );
        }
        assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1);
        drop(results);
        fs::remove_file(&path).unwrap();
        fs::remove_file(path.with_file_name("a.db-wal")).unwrap();
    }
}
