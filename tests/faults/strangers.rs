//! Another program that uses the file with SQLite itself.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use walwright::rusqlite::{Connection, OpenFlags};
use walwright::{AckLevel, CloseError, OpenError, Outcome, WriteError};
use walwright_test_support::vfs::FileKind;
use walwright_test_support::{FaultVfs, Scratch};

use crate::run::{Run, builder, insert};
use crate::template::Template;

/// Names the database to the process that plays the stranger.
const DATABASE: &str = "WALWRIGHT_STRANGER_DATABASE";

/// A process that runs SQL on the file, line by line, and holds the locks that it has taken.
struct Stranger {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Stranger {
    fn on(path: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["strangers::stranger", "--exact", "--nocapture", "--test-threads=1"])
            .env(DATABASE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, to, from }
    }

    /// Runs SQL in the process, which must succeed.
    fn run(&mut self, sql: &str) {
        writeln!(self.to.as_mut().unwrap(), "{}", sql.replace('\n', " ")).unwrap();
        let mut line = String::new();
        // What the test harness prints comes in between.
        while !line.starts_with("stranger: ") {
            line.clear();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the stranger has gone");
        }
        assert_eq!(line.trim_end(), "stranger: ok", "{sql}");
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.process.wait();
    }
}

/// The process itself; as a test it does nothing.
#[test]
fn stranger() {
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    for line in std::io::stdin().lines() {
        match connection.execute_batch(&line.unwrap()) {
            Ok(()) => println!("\nstranger: ok"),
            Err(error) => println!("\nstranger: {error}"),
        }
    }
}

fn place() -> (Scratch, PathBuf, Template) {
    let (folder, template) = (Scratch::new(), Template::closed());
    let path = template.copy_to(folder.path());
    (folder, path, template)
}

/// The stranger writes before the store's first group: that write used to go unnoticed, because the first
/// group only took note of how things stood.
#[test]
fn a_held_write_lock_is_waited_for_and_then_named() {
    let (_folder, path, _) = place();
    let store = builder(&path).open().wait().unwrap();
    let mut stranger = Stranger::on(&path);
    stranger.run("BEGIN IMMEDIATE; INSERT INTO item VALUES (500, 'of the stranger')");
    let began = Instant::now();
    let error = store.execute("INSERT INTO item VALUES (101, 'a')", ()).wait().unwrap_err();
    assert!(matches!(error, WriteError::Busy(_)) && error.is_retryable(), "{error}");
    assert_eq!(error.outcome(), Outcome::NotStarted);
    assert!(began.elapsed() >= Duration::from_millis(90), "the budget was not used: {:?}", began.elapsed());
    assert_eq!(store.query("SELECT id FROM item WHERE id > 100", ()).wait().unwrap().len(), 0);
    stranger.run("COMMIT");
    store.execute("INSERT INTO item VALUES (101, 'a')", ()).wait().unwrap();
    assert_eq!(store.query("SELECT id FROM item WHERE id > 100", ()).wait().unwrap().len(), 2);
    assert_eq!(store.stats().foreign_writes, 1);
    drop(stranger);
    store.close().wait().unwrap();
}

#[test]
fn a_held_snapshot_keeps_the_log_and_loses_nothing_at_close() {
    let (_folder, path, _) = place();
    let soft = |path: &Path| builder(path).wal_limits(16 << 10, 1 << 30);
    let store = soft(&path).open().wait().unwrap();
    let mut stranger = Stranger::on(&path);
    stranger.run("BEGIN; SELECT count(*) FROM item");
    for id in 101..=120 {
        store.execute("INSERT INTO item VALUES (?1, zeroblob(4000))", (id,)).wait().unwrap();
    }
    let stats = store.stats();
    assert!(stats.checkpoints > 0 && stats.wal_bytes > 80_000, "{stats:?}");
    let closed = store.close().wait().unwrap_err();
    assert!(matches!(closed, CloseError::Checkpoint(_)), "{closed}");
    let refused = soft(&path).open().wait().unwrap_err();
    assert!(matches!(refused, OpenError::Busy { .. }) && refused.is_retryable(), "{refused}");
    stranger.run("COMMIT");
    let store = soft(&path).open().wait().unwrap();
    assert_eq!(store.query("SELECT id FROM item WHERE id > 100", ()).wait().unwrap().len(), 20);
    store.close().wait().unwrap();
}

/// A lock that is taken between two groups meets the checkpoint and not the BEGIN.
#[test]
fn a_held_write_lock_only_puts_the_checkpoint_off() {
    let (_folder, path, _) = place();
    let store = builder(&path).wal_limits(400 << 10, 1 << 30).open().wait().unwrap();
    store.execute("INSERT INTO item VALUES (101, zeroblob(300000))", ()).wait().unwrap();
    let mut stranger = Stranger::on(&path);
    stranger.run("BEGIN IMMEDIATE");
    // The writer is idle: it has tried to copy the log meanwhile, or tries now.
    let began = Instant::now();
    while store.stats().checkpoints == 0 && began.elapsed() < Duration::from_millis(200) {
        std::thread::sleep(Duration::from_millis(5));
    }
    stranger.run("COMMIT");
    store.execute("INSERT INTO item VALUES (102, zeroblob(300000))", ()).wait().unwrap();
    drop(stranger);
    store.close().wait().unwrap();
}

#[test]
fn what_a_stranger_writes_and_checkpoints_in_between_is_kept() {
    let (folder, path, template) = place();
    let vfs = FaultVfs::unique("strangers");
    let mut run = Run::new(vfs, path.clone(), template.rows());
    run.open();
    let mut stranger = Stranger::on(&path);
    for round in 0..12 {
        let id = 101 + round;
        run.one(AckLevel::Committed, "insert", &[insert(id, "a")], |store| {
            store.execute("INSERT INTO item VALUES (?1, 'a')", (id,))
        });
        let mode = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"][(round % 4) as usize];
        stranger.run(&format!(
            "INSERT INTO item VALUES ({}, 'of the stranger'); PRAGMA wal_checkpoint({mode})",
            500 + id
        ));
        run.ledger.rows.insert(500 + id, "of the stranger".to_owned());
        run.one(AckLevel::Durable, "update", &[], |store| {
            store.execute("UPDATE item SET text = text WHERE id = ?1", (500 + id,))
        });
        run.read();
    }
    assert_eq!(run.store().unwrap().stats().foreign_writes, 12);
    drop(stranger);
    run.close().unwrap();
    run.conclude(folder.path());
}

/// A stranger deletes a row and syncs nothing. Here somebody asks for the same delete: it finds nothing,
/// writes nothing, and is acknowledged. A power cut must not bring the row back.
#[test]
fn a_delete_after_a_strangers_unsynced_one_is_durable() {
    let (folder, path, _) = place();
    let vfs = FaultVfs::unique("strangers");
    let store = builder(&path).vfs(vfs.name()).open().wait().unwrap();
    store.execute("INSERT INTO item VALUES (101, 'a')", ()).wait().unwrap();
    vfs.start_recording(Default::default());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let stranger = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    stranger.execute_batch("PRAGMA synchronous = OFF; DELETE FROM item WHERE id = 101").unwrap();
    let before = vfs.counts(FileKind::Wal).syncs;
    let receipt =
        store.execute("DELETE FROM item WHERE id = 101", ()).ack(AckLevel::Committed).wait().unwrap();
    assert_eq!(receipt.rows_changed, 0);
    assert_eq!(vfs.counts(FileKind::Wal).syncs, before + 1);
    let after = folder.subdirectory("after");
    vfs.write_image(&after).unwrap();
    let reopened = builder(&after.join("db")).open().wait().unwrap();
    assert_eq!(reopened.query("SELECT id FROM item WHERE id = 101", ()).wait().unwrap().len(), 0);
    drop(stranger);
    store.close().wait().unwrap();
}
