//! SQLite itself over the VFS.

use super::*;
use crate::{Probe, Scratch};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use std::ffi::c_int;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// A database over a VFS of its own.
struct Fixture {
    scratch: Scratch,
    vfs: &'static FaultVfs,
}

impl Fixture {
    fn new() -> Self {
        Self { scratch: Scratch::new(), vfs: FaultVfs::unique("fault") }
    }

    fn path(&self) -> PathBuf {
        self.scratch.join("db")
    }

    fn connect(&self) -> Connection {
        Connection::open_with_flags_and_vfs(self.path(), OpenFlags::default(), self.vfs.name()).unwrap()
    }

    /// A connection in WAL mode at FULL, with a table whose creation is in the synced WAL.
    fn open(&self) -> Connection {
        let connection = self.connect();
        connection
            .execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0")
            .unwrap();
        connection.execute_batch("CREATE TABLE IF NOT EXISTS t(x INTEGER PRIMARY KEY, y)").unwrap();
        connection
    }

    /// As [`Fixture::open`], with everything recorded from the first call on.
    fn open_recorded(&self) -> Connection {
        self.vfs.start_recording(DatabaseCreation::WithDirectory);
        self.open()
    }

    fn wal_syncs(&self) -> u64 {
        self.vfs.counts(FileKind::Wal).syncs
    }

    /// The keys in `t` after a power cut.
    fn survivors(&self) -> Vec<i64> {
        self.rows_of(&self.vfs.image_at_power_cut())
    }

    fn rows_of(&self, image: &Image) -> Vec<i64> {
        let directory = self.scratch.subdirectory("image");
        image.write_into(&directory).unwrap();
        let path = directory.join("db");
        let connection = Connection::open(&path).unwrap();
        let rows = match connection.prepare("SELECT x FROM t ORDER BY x") {
            Ok(mut statement) => {
                statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            }
            Err(error) if error.to_string().contains("no such table") => Vec::new(),
            Err(error) => panic!("{error}"),
        };
        Probe::open(&path).unwrap().integrity_check().unwrap();
        rows
    }
}

fn insert(connection: &Connection, x: i64) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO t(x) VALUES(?1)", [x]).map(drop)
}

fn synchronous(connection: &Connection, level: &str) {
    connection.pragma_update(None, "synchronous", level).unwrap();
}

fn extended_code<T: std::fmt::Debug>(result: rusqlite::Result<T>) -> c_int {
    result.unwrap_err().sqlite_error().unwrap().extended_code
}

/// Syncs the WAL through SQLite's own file object.
fn sync_wal(connection: &Connection) -> c_int {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: An open connection, used by this thread alone; the file object that SQLite answers
    // lives as long as the WAL is open, which this connection sees to.
    unsafe {
        let code = ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_JOURNAL_POINTER,
            (&raw mut file).cast(),
        );
        assert_eq!(code, ffi::SQLITE_OK);
        (*(*file).pMethods).xSync.unwrap()(file, ffi::SQLITE_SYNC_NORMAL)
    }
}

#[test]
fn a_full_commit_syncs_the_wal_once_and_a_normal_one_never() {
    let fixture = Fixture::new();
    let connection = fixture.open();

    let before = fixture.vfs.counts(FileKind::Wal);
    insert(&connection, 1).unwrap();
    let full = fixture.vfs.counts(FileKind::Wal) - before;
    assert_eq!(full.syncs, 1);
    assert!(full.writes > 0 && full.bytes_written >= 4096, "{full:?}");

    synchronous(&connection, "NORMAL");
    let before = fixture.vfs.total_counts();
    insert(&connection, 2).unwrap();
    let normal = fixture.vfs.total_counts() - before;
    assert_eq!(normal.syncs, 0);
    assert!(normal.writes > 0);
}

#[test]
fn files_are_counted_while_open_and_when_deleted() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    let second = fixture.connect();
    assert_eq!(second.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert_eq!(fixture.vfs.open_files(), 4, "a database and a WAL each");
    assert_eq!(fixture.vfs.counts(FileKind::Database).opens, 2);
    drop((connection, second));
    assert_eq!(fixture.vfs.open_files(), 0);
    assert_eq!(fixture.vfs.counts(FileKind::Wal).deletes, 1);
}

#[test]
fn sqlite_finds_the_vfs_below_its_connection_and_the_file_where_it_was() {
    let fixture = Fixture::new();
    let uri = format!("file:{}?mode=rwc&psow=0", fixture.path().display());
    let connection =
        Connection::open_with_flags_and_vfs(uri, OpenFlags::default(), fixture.vfs.name()).unwrap();
    connection.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x)").unwrap();

    let mut name: *mut std::ffi::c_char = ptr::null_mut();
    let mut moved: c_int = -1;
    // SAFETY: An open connection, places for the answers, and a string of SQLite's that is freed.
    let name = unsafe {
        let control = |operation, place| {
            ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), operation, place)
        };
        assert_eq!(control(ffi::SQLITE_FCNTL_HAS_MOVED, (&raw mut moved).cast()), ffi::SQLITE_OK);
        assert_eq!(control(ffi::SQLITE_FCNTL_VFSNAME, (&raw mut name).cast()), ffi::SQLITE_OK);
        let copy = CStr::from_ptr(name).to_str().unwrap().to_owned();
        ffi::sqlite3_free(name.cast());
        copy
    };
    assert_eq!(moved, 0);
    assert!(name.starts_with(&format!("{}/unix", fixture.vfs.name())), "{name}");

    std::fs::remove_file(fixture.path()).unwrap();
    // SAFETY: As above.
    unsafe {
        let place = (&raw mut moved).cast();
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_HAS_MOVED, place);
    }
    assert_eq!(moved, 1);
}

#[test]
fn an_unsynced_commit_is_lost_and_a_synced_one_is_not() {
    let fixture = Fixture::new();
    let connection = fixture.open_recorded();
    insert(&connection, 1).unwrap();
    assert_eq!(fixture.survivors(), [1]);

    synchronous(&connection, "NORMAL");
    insert(&connection, 2).unwrap();
    assert_eq!(fixture.survivors(), [1]);
    let kept = fixture.vfs.image_with(&|_| true);
    assert_eq!(fixture.rows_of(&kept), [1, 2]);

    assert_eq!(sync_wal(&connection), ffi::SQLITE_OK);
    assert_eq!(fixture.survivors(), [1, 2]);
}

#[test]
fn a_recording_that_starts_late_knows_what_was_there() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    insert(&connection, 1).unwrap();
    fixture.vfs.start_recording(DatabaseCreation::WithDirectory);
    assert_eq!(fixture.survivors(), [1]);

    // The locks of the connection have survived the look at its files.
    let probe = Probe::open(fixture.path()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(probe.begin_immediate().is_err());
    connection.execute_batch("COMMIT").unwrap();

    synchronous(&connection, "NORMAL");
    insert(&connection, 2).unwrap();
    assert_eq!(fixture.survivors(), [1]);
    synchronous(&connection, "FULL");
    insert(&connection, 3).unwrap();
    assert_eq!(fixture.survivors(), [1, 2, 3]);
    assert!(matches!(fixture.vfs.trace()[0], Event::Found { .. }));
}

#[test]
fn a_checkpoint_and_a_clean_close_lose_nothing() {
    let fixture = Fixture::new();
    let connection = fixture.open_recorded();
    insert(&connection, 1).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(fixture.survivors(), [1]);
    insert(&connection, 2).unwrap();
    drop(connection);
    assert_eq!(fixture.survivors(), [1, 2]);

    let reopened = fixture.open();
    insert(&reopened, 3).unwrap();
    assert_eq!(fixture.survivors(), [1, 2, 3]);
}

#[test]
fn a_rollback_journal_that_is_deleted_without_a_sync_undoes_its_commit() {
    let fixture = Fixture::new();
    fixture.vfs.start_recording(DatabaseCreation::WithDirectory);
    let connection = fixture.connect();
    connection.execute_batch("PRAGMA synchronous=EXTRA; CREATE TABLE t(x INTEGER PRIMARY KEY)").unwrap();
    insert(&connection, 1).unwrap();
    assert_eq!(fixture.survivors(), [1]);

    // SQLite syncs the directory after the delete at EXTRA only.
    synchronous(&connection, "FULL");
    insert(&connection, 2).unwrap();
    assert_eq!(fixture.survivors(), [1]);
    assert!(fixture.vfs.counts(FileKind::Journal).syncs > 0);
}

#[test]
fn a_new_database_needs_its_directory() {
    let fixture = Fixture::new();
    fixture.vfs.start_recording(DatabaseCreation::WithDirectory);
    let connection = fixture.connect();
    connection.execute_batch("PRAGMA synchronous=OFF; CREATE TABLE t(x INTEGER PRIMARY KEY)").unwrap();
    assert_eq!(fixture.vfs.image_at_power_cut().get(fixture.path()), None);
    fixture.vfs.directory_synced(fixture.scratch.path());
    assert_eq!(fixture.vfs.image_at_power_cut().get(fixture.path()), Some(&[][..]));
    drop(connection);

    let fixture = Fixture::new();
    fixture.vfs.start_recording(DatabaseCreation::AtOnce);
    let connection = fixture.connect();
    connection.execute_batch("PRAGMA synchronous=OFF; CREATE TABLE t(x INTEGER PRIMARY KEY)").unwrap();
    assert_eq!(fixture.vfs.image_at_power_cut().get(fixture.path()), Some(&[][..]));
}

#[test]
fn held_syncs_wait_and_nothing_else_does() {
    let fixture = Fixture::new();
    let connection = fixture.open_recorded();
    let hold = fixture.vfs.hold_syncs(FileKind::Wal);
    let before = fixture.wal_syncs();
    let writer = thread::spawn(move || {
        insert(&connection, 1).unwrap();
        insert(&connection, 2).unwrap();
        connection
    });
    hold.wait_until_blocked(1);
    assert_eq!(hold.blocked(), 1);
    assert!(!writer.is_finished());
    assert_eq!(fixture.wal_syncs(), before);
    assert!(fixture.survivors().is_empty(), "the frames are written and not synced");
    assert_eq!(Probe::open(fixture.path()).unwrap().count("SELECT count(*) FROM t").unwrap(), 0);

    hold.let_through(1);
    // The first commit goes through; the second one is stopped.
    hold.wait_until_blocked(1);
    assert_eq!(fixture.survivors(), [1]);
    hold.release();
    let _connection = writer.join().unwrap();
    assert_eq!(fixture.wal_syncs(), before + 2);
    assert_eq!(fixture.survivors(), [1, 2]);
}

#[test]
fn a_hold_of_another_kind_stops_nothing() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    let hold = fixture.vfs.hold_syncs(FileKind::Database);
    insert(&connection, 1).unwrap();
    assert_eq!(hold.blocked(), 0);
}

#[test]
fn a_delay_makes_syncs_slow() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    let delay = Duration::from_millis(20);
    fixture.vfs.set_sync_delay(delay);
    let start = Instant::now();
    insert(&connection, 1).unwrap();
    assert!(start.elapsed() >= delay);
}

#[test]
fn a_full_disk_refuses_growth_and_recovers() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    insert(&connection, 1).unwrap();
    fixture.vfs.set_free_bytes(Some(10_000));
    let big = "INSERT INTO t(x, y) VALUES(2, zeroblob(20000))";
    let refused = connection.execute(big, []).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DiskFull));
    assert!(connection.is_autocommit());

    fixture.vfs.set_free_bytes(None);
    connection.execute(big, []).unwrap();
    let probe = Probe::open(fixture.path()).unwrap();
    assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 2);
}

#[test]
fn overwriting_needs_no_room_and_truncating_gives_some_back() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    connection.execute("INSERT INTO t(x, y) VALUES(1, zeroblob(20000))", []).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    fixture.vfs.set_free_bytes(Some(0));
    // The WAL starts over, inside the length that it has.
    connection.execute("UPDATE t SET y = 1", []).unwrap();
    assert_eq!(fixture.vfs.free_bytes(), Some(0));
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert!(fixture.vfs.free_bytes().unwrap() > 20_000);
}

#[test]
fn planned_calls_fail_with_the_planned_code() {
    let fixture = Fixture::new();
    let connection = fixture.open();
    let vfs = fixture.vfs;

    vfs.arm(FaultPlan::fail(Operation::Sync).on(FileKind::Wal));
    assert_eq!(extended_code(insert(&connection, 1)), ffi::SQLITE_IOERR_FSYNC);
    insert(&connection, 2).unwrap();
    assert_eq!(vfs.fired(), 1);

    vfs.arm(FaultPlan::fail(Operation::Write).on(FileKind::Wal).nth(2).from_then_on());
    assert_eq!(extended_code(insert(&connection, 3)), ffi::SQLITE_IOERR_WRITE);
    assert_eq!(extended_code(insert(&connection, 4)), ffi::SQLITE_IOERR_WRITE);
    vfs.arm(FaultPlan::fail(Operation::Write).with_code(ffi::SQLITE_FULL));
    assert_eq!(extended_code(insert(&connection, 5)), ffi::SQLITE_FULL);
    vfs.disarm();
    insert(&connection, 6).unwrap();

    let checkpoint = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    vfs.arm(FaultPlan::fail(Operation::Truncate));
    assert_eq!(extended_code(checkpoint()), ffi::SQLITE_IOERR_TRUNCATE);
    checkpoint().unwrap();

    let flags = OpenFlags::default();
    vfs.arm(FaultPlan::fail(Operation::Open).on(FileKind::Database).from_then_on());
    let refused = Connection::open_with_flags_and_vfs(fixture.path(), flags, vfs.name()).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::CannotOpen));
    vfs.disarm();

    let second = fixture.connect();
    let count = || second.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
    vfs.arm(FaultPlan::fail(Operation::Lock));
    assert_eq!(extended_code(count()), ffi::SQLITE_IOERR_LOCK);
    vfs.arm(FaultPlan::fail(Operation::Read).on(FileKind::Database));
    assert_eq!(extended_code(count()), ffi::SQLITE_IOERR_READ);
    vfs.arm(FaultPlan::fail(Operation::SharedMemoryLock));
    assert_eq!(extended_code(count()), ffi::SQLITE_IOERR_SHMLOCK);
    vfs.disarm();
    assert_eq!(count().unwrap(), 2);
}

#[test]
fn a_short_read_is_noticed() {
    let fixture = Fixture::new();
    drop(fixture.open());
    let connection = fixture.connect();
    // The header's second half is missing: not a database that SQLite can use.
    fixture.vfs.arm(FaultPlan::short_read().on(FileKind::Database).from_then_on());
    let read = connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
    assert!(read.is_err(), "{read:?}");
    assert!(fixture.vfs.fired() > 0);
}

#[test]
fn a_failed_delete_leaves_the_file() {
    let fixture = Fixture::new();
    let connection = fixture.connect();
    connection.execute_batch("CREATE TABLE t(x INTEGER PRIMARY KEY)").unwrap();
    fixture.vfs.arm(FaultPlan::fail(Operation::Delete).on(FileKind::Journal));
    assert_eq!(extended_code(insert(&connection, 1)), ffi::SQLITE_IOERR_DELETE);
    assert_eq!(fixture.vfs.fired(), 1);
}

#[test]
fn a_failed_sync_loses_the_pages_until_they_are_written_again() {
    let fixture = Fixture::new();
    let connection = fixture.open_recorded();
    insert(&connection, 1).unwrap();

    // The commit that was told Ok at NORMAL; then the sync that should make it durable.
    synchronous(&connection, "NORMAL");
    insert(&connection, 2).unwrap();
    fixture.vfs.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
    assert_eq!(sync_wal(&connection), ffi::SQLITE_IOERR_FSYNC);
    assert_eq!(fixture.vfs.fired(), 1);

    // Syncing again succeeds and helps nothing, nor does a durable commit behind the hole.
    assert_eq!(sync_wal(&connection), ffi::SQLITE_OK);
    synchronous(&connection, "FULL");
    insert(&connection, 3).unwrap();
    let probe = Probe::open(fixture.path()).unwrap();
    assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 3);
    assert_eq!(fixture.survivors(), [1]);
    assert!(fixture.vfs.disk().pending().iter().all(|pending| pending.dropped));

    // A checkpoint writes the rows into the database file, but the WAL that it cut comes back in a
    // power cut, and what is left of it is older. Only a sync of the cut WAL ends that.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(fixture.survivors(), [1]);
    assert_eq!(sync_wal(&connection), ffi::SQLITE_OK);
    assert_eq!(fixture.survivors(), [1, 2, 3]);
}

#[test]
fn a_lying_device_loses_everything() {
    let fixture = Fixture::new();
    fixture.vfs.lie_about_syncs(true);
    let connection = fixture.open_recorded();
    insert(&connection, 1).unwrap();
    assert!(fixture.wal_syncs() > 0);
    assert!(fixture.survivors().is_empty());
    assert!(fixture.vfs.image_at_power_cut().files().is_empty());

    fixture.vfs.lie_about_syncs(false);
    drop(connection);
    assert!(fixture.vfs.image_at_power_cut().files().is_empty(), "the name is still pending");
    let reopened = fixture.open();
    insert(&reopened, 2).unwrap();
    assert_eq!(fixture.survivors(), [1, 2]);
}

#[test]
fn marks_stand_where_they_were_made() {
    let fixture = Fixture::new();
    let connection = fixture.open_recorded();
    synchronous(&connection, "NORMAL");
    insert(&connection, 1).unwrap();
    fixture.vfs.mark(7);
    assert_eq!(sync_wal(&connection), ffi::SQLITE_OK);
    let trace = fixture.vfs.stop_recording();
    let mark = trace.iter().position(|event| matches!(event, Event::Mark(7))).unwrap();
    let before = Disk::after(&trace[..mark]).image_at_power_cut();
    assert!(fixture.rows_of(&before).is_empty());
    assert_eq!(fixture.rows_of(&Disk::after(&trace).image_at_power_cut()), [1]);
    assert!(fixture.vfs.trace().is_empty());
}

#[test]
fn connections_on_many_threads_leave_a_sound_image() {
    let fixture = Arc::new(Fixture::new());
    let _keeper = fixture.open_recorded();
    let writers: Vec<_> = (0..4)
        .map(|thread| {
            let fixture = Arc::clone(&fixture);
            thread::spawn(move || {
                let connection = fixture.connect();
                connection.busy_timeout(crate::PATIENCE).unwrap();
                connection.execute_batch("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=5").unwrap();
                for number in 0..10 {
                    insert(&connection, thread * 10 + number).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(fixture.survivors(), (0..40).collect::<Vec<_>>());
}

#[test]
fn names_are_unique() {
    assert_ne!(FaultVfs::unique("same").name(), FaultVfs::unique("same").name());
}
