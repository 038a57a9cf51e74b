//! What is not opened, and that it stays as it was.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{env, io};

use super::*;

#[test]
fn what_names_no_file_is_refused() {
    for path in [":memory:", "", "file:a.db", "FILE:a.db?mode=memory"] {
        assert!(matches!(refused(&plan(Path::new(path))), OpenError::InvalidPath { .. }), "{path:?}");
    }
    let nul = Path::new(OsStr::from_bytes(b"/tmp/a\0b.db"));
    assert!(matches!(open(&plan(nul)), Err(OpenError::InvalidPath { .. })));
    let (dir, path) = folder();
    assert!(matches!(refused(&plan(dir.path())), OpenError::NotAFile { .. }));
    assert!(matches!(refused(&OpenPlan { create: false, ..plan(&path) }), OpenError::NotFound { .. }));
    fs::write(&path, "x").unwrap();
    let below = path.join("b.db");
    for create_parents in [false, true] {
        let error = refused(&OpenPlan { create_parents, ..plan(&below) });
        assert!(matches!(error, OpenError::ParentNotADirectory { parent, .. } if parent == path));
    }
    assert_eq!(names(&path), ["a.db"]);
}

#[test]
fn the_system_s_refusals_have_variants_of_their_own() {
    let sorted = |kind| OpenError::from_io(Path::new("p"), "testing", io::Error::from(kind));
    let read_only = sorted(io::ErrorKind::ReadOnlyFilesystem);
    assert!(matches!(read_only, OpenError::ReadOnlyFilesystem { .. }));
    assert!(matches!(sorted(io::ErrorKind::PermissionDenied), OpenError::PermissionDenied { .. }));
    assert!(matches!(sorted(io::ErrorKind::StorageFull), OpenError::Io { .. }));
}

const FOLDER: &str = "WALWRIGHT_TEST_OPEN_FOLDER";

/// Not a test by itself: what `another_user_is_refused` starts as a user without rights.
#[test]
fn child_without_rights() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    // Nothing may be made in the folder; then the folder is open but the database is not.
    let error = refused(&plan(&folder.join("closed/new.db")));
    assert!(matches!(error, OpenError::PermissionDenied { .. }), "{error}");
    let error = refused(&plan(&folder.join("open/theirs.db")));
    assert!(matches!(&error, OpenError::PermissionDenied { path, .. } if path.ends_with("theirs.db")));
    println!("\nrefused as it should be");
}

#[test]
fn another_user_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (closed, opened) = (dir.path().join("closed"), dir.path().join("open"));
    fs::create_dir(&closed).unwrap();
    fs::create_dir(&opened).unwrap();
    let theirs = opened.join("theirs.db");
    drop(open(&plan(&theirs)).unwrap());
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(dir.path(), 0o755);
    mode(&closed, 0o555);
    mode(&opened, 0o777);
    mode(&theirs, 0o444);
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "sqlite::writer::opening::tests::refusals::child_without_rights", "--nocapture"]);
    child.env(FOLDER, dir.path());
    if fs::metadata(dir.path()).unwrap().uid() == 0 {
        // Permissions do not bind the superuser.
        child.uid(65534).gid(65534);
    }
    let output = child.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("refused as it should be"), "{output:?}");
    assert_eq!(names(&closed.join("x")).len(), 0);
    mode(&closed, 0o755);
}

const MOUNT: &str = "WALWRIGHT_TEST_OPEN_READ_ONLY";

/// Not a test by itself: what `a_read_only_filesystem_is_told_apart` starts behind a read-only mount.
#[test]
fn child_on_a_read_only_filesystem() {
    let Some(folder) = env::var_os(MOUNT) else { return };
    let folder = Path::new(&folder);
    for name in ["new.db", "sub/new.db", "old.db"] {
        let error = refused(&OpenPlan { create_parents: true, ..plan(&folder.join(name)) });
        assert!(matches!(error, OpenError::ReadOnlyFilesystem { .. }), "{name}: {error}");
    }
    println!("\nrefused as it should be");
}

#[test]
fn a_read_only_filesystem_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&plan(&dir.path().join("old.db"))).unwrap());
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" || exit 77
                  exec \"$2\" --exact sqlite::writer::opening::tests::refusals::child_on_a_read_only_filesystem \
                       --nocapture";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .args([dir.path(), &env::current_exe().unwrap()])
        .env(MOUNT, dir.path())
        .output();
    match output {
        // 77: this user may not mount; 1: not even unshare.
        Ok(output) if output.status.success() => {
            assert!(
                String::from_utf8_lossy(&output.stdout).contains("refused as it should be"),
                "{output:?}"
            );
        }
        Ok(output) if output.status.code() == Some(101) => panic!("{output:?}"),
        other => eprintln!("not tested, mounting is not allowed here: {other:?}"),
    }
}

/// A database with some rows in WAL mode, closed, with a WAL that is not empty.
fn sample(path: &Path) {
    let victim = path.with_file_name("victim.db");
    let connection = probe(&victim);
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE a (v); PRAGMA user_version = 5; PRAGMA application_id = 9;
             INSERT INTO a VALUES (hex(zeroblob(5000)));
             PRAGMA wal_checkpoint(FULL); INSERT INTO a VALUES (7);",
        )
        .unwrap();
    crash_copy(&victim, path);
}

#[track_caller]
fn refused_and_unchanged(plan: &OpenPlan) -> OpenError {
    let before = content(&plan.path);
    let error = refused(plan);
    assert!(content(&plan.path) == before, "{error}: the file or its WAL has changed");
    assert!(!plan.path.with_file_name("a.db-owner").exists());
    error
}

#[test]
fn a_newer_schema_and_another_application_are_refused_and_unchanged() {
    let (_dir, path) = folder();
    sample(&path);
    let newer = refused_and_unchanged(&with(&path, &[FIRST]));
    assert!(matches!(newer, OpenError::SchemaTooNew { found: 5, known: 1, .. }));
    let foreign = refused_and_unchanged(&OpenPlan { application_id: Some(8), ..plan(&path) });
    assert!(matches!(foreign, OpenError::ForeignApplication { found: 9, expected: 8, .. }));
    assert!(!foreign.is_retryable());
    // Without migrations of its own the program does not know better.
    let opened = open(&OpenPlan { application_id: Some(9), ..plan(&path) }).unwrap();
    assert_eq!((opened.settings.user_version, opened.settings.application_id), (5, 9));
}

#[test]
fn a_refused_rollback_journal_database_is_not_converted() {
    let (_dir, path) = folder();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE a (v); PRAGMA user_version = 5").unwrap();
    let before = names(&path);
    refused_and_unchanged(&with(&path, &[FIRST]));
    assert_eq!(names(&path), before);
}

#[test]
fn a_refused_wal_database_gets_no_sidecars_and_keeps_those_of_others() {
    let (_dir, path) = folder();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (v); PRAGMA user_version = 5")
        .unwrap();
    drop(connection);
    assert_eq!(names(&path), ["a.db"]);
    refused_and_unchanged(&with(&path, &[FIRST]));
    assert_eq!(names(&path), ["a.db"]);

    let other = Connection::open(&path).unwrap();
    let _: i64 = one(&other, "SELECT count(*) FROM a");
    assert_eq!(names(&path), ["a.db", "a.db-shm", "a.db-wal"]);
    refused(&with(&path, &[FIRST]));
    assert_eq!(names(&path), ["a.db", "a.db-shm", "a.db-wal"]);
    other.execute_batch("INSERT INTO a VALUES (1)").unwrap();
}

#[test]
fn no_database_is_refused_and_unchanged() {
    let (_dir, path) = folder();
    for garbage in [&b"hello"[..], &[b'x'; 10_000], &[0; 4096]] {
        fs::write(&path, garbage).unwrap();
        let error = refused_and_unchanged(&plan(&path));
        assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    }
}

#[test]
fn a_damaged_database_is_refused_and_unchanged() {
    let (_dir, path) = folder();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE a (v); INSERT INTO a VALUES (hex(zeroblob(50000)))").unwrap();
    drop(connection);
    let sound = fs::read(&path).unwrap();
    fs::write(&path, &sound[..sound.len() / 2]).unwrap();
    let truncated = refused_and_unchanged(&plan(&path));
    assert!(matches!(truncated, OpenError::Corrupt { .. }), "{truncated:?}");

    let mut damaged = sound.clone();
    damaged[100..4096].fill(0x5a);
    fs::write(&path, &damaged).unwrap();
    let damaged = refused_and_unchanged(&plan(&path));
    assert!(matches!(damaged, OpenError::Corrupt { .. }), "{damaged:?}");
}

#[test]
fn an_empty_or_missing_main_file_beside_a_wal_is_refused() {
    let (_dir, path) = folder();
    sample(&path);
    fs::write(&path, "").unwrap();
    assert!(matches!(refused_and_unchanged(&plan(&path)), OpenError::OrphanedWal { .. }));
    fs::remove_file(&path).unwrap();
    let before = names(&path);
    assert!(matches!(refused(&plan(&path)), OpenError::OrphanedWal { .. }));
    assert_eq!(names(&path), before);
    fs::remove_file(path.with_file_name("a.db-wal")).unwrap();
    fs::write(&path, "").unwrap();
    assert!(!open(&plan(&path)).unwrap().settings.created, "an empty file alone is a new database");
}

#[test]
fn older_sqlite_is_refused() {
    assert!(!connect::is_safe(3_051_002) && connect::is_safe(3_051_003) && connect::is_safe(3_054_001));
    match connect::check_version(Path::new("p"), 3_050_004) {
        Err(OpenError::UnsafeSqlite { found, .. }) => assert_eq!(found, "3.50.4"),
        other => panic!("{other:?}"),
    }
    assert!(connect::is_safe(rusqlite::version_number()), "the linked SQLite");
}

#[test]
fn the_look_leaves_the_locks_of_other_connections_alone() {
    let (_dir, path) = folder();
    let ours = Connection::open(&path).unwrap();
    ours.execute_batch("CREATE TABLE a (v); PRAGMA user_version = 5; BEGIN IMMEDIATE").unwrap();
    refused(&with(&path, &[FIRST]));
    // If the look had dropped this process's locks, another process could write now.
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "sqlite::writer::opening::tests::refusals::child_that_writes", "--nocapture"])
        .env("WALWRIGHT_TEST_OPEN_WRITE", &path)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("locked out"), "{output:?}");
}

/// Not a test by itself.
#[test]
fn child_that_writes() {
    let Some(path) = env::var_os("WALWRIGHT_TEST_OPEN_WRITE") else { return };
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    let error = connection.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
    println!("\nlocked out");
}
