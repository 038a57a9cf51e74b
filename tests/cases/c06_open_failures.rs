//! C06. A service reported "unable to open database file (14)" and nothing else: its folder did not exist;
//! others met a read-only mount or a missing right at their first query only (vavallee/bindery#5).
//!
//! Must hold: open itself fails, at once, with a variant for each cause that names the path; parents are made
//! only if asked; nothing half-made is left, neither files nor threads.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use walwright::{Migration, OpenError, Store};
use walwright_test_support::{Scratch, watchdog};

use crate::support_read::{FOREVER, Helper, LIMIT, eventually, say};

/// The failure, which must not come from waiting: the patience of opening is longer than that of the test.
fn refused(path: &Path, create_parents: bool) -> OpenError {
    let builder = Store::builder(path).create_parents(create_parents).open_timeout(FOREVER);
    let error = builder.open().wait().map(drop).expect_err("it cannot be opened");
    assert!(!error.is_retryable(), "{error}");
    let path = path.parent().unwrap().parent().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(path), "names the path: {error}");
    error
}

fn entries(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    fs::read_dir(folder).unwrap().map(name).collect()
}

#[test]
fn c06_a_missing_folder_is_named_and_made_only_when_asked() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("not/there/a.db");
        match refused(&path, false) {
            OpenError::ParentMissing { path: named, parent } => {
                assert_eq!((named, parent), (path.clone(), scratch.join("not/there")));
            }
            other => panic!("{other}"),
        }
        assert!(entries(scratch.path()).is_empty());
        let store = Store::builder(&path).create_parents(true).open().wait().unwrap();
        store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
        store.close().wait().unwrap();
        assert!(path.exists());
    });
}

#[test]
fn c06_folders_that_were_made_go_away_again_when_opening_fails() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("not/there/a.db");
        let broken = [Migration::sql("CREATE TABLE")];
        let builder = Store::builder(&path).create_parents(true).migrations(&broken);
        assert!(matches!(builder.open().wait(), Err(OpenError::Migration { index: 0, .. })));
        assert!(entries(scratch.path()).is_empty());
    });
}

#[test]
fn c06_a_file_where_a_folder_should_be_is_named() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        fs::write(scratch.join("file"), "x").unwrap();
        for create_parents in [false, true] {
            for name in ["file/a.db", "file/below/a.db"] {
                match refused(&scratch.join(name), create_parents) {
                    OpenError::ParentNotADirectory { parent, .. } => assert_eq!(parent, scratch.join("file")),
                    other => panic!("{other}"),
                }
            }
        }
        assert_eq!(entries(scratch.path()), ["file"]);
        assert_eq!(fs::read(scratch.join("file")).unwrap(), b"x");
    });
}

#[test]
fn c06_a_missing_right_is_a_variant_of_its_own() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let (closed, opened) = (scratch.subdirectory("closed"), scratch.subdirectory("open"));
        let theirs = opened.join("theirs.db");
        Store::builder(&theirs).open().wait().unwrap().close().wait().unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(scratch.path(), 0o755);
        mode(&closed, 0o555);
        mode(&opened, 0o777);
        mode(&theirs, 0o444);
        // Rights do not bind the superuser.
        let start = match fs::metadata(scratch.path()).unwrap().uid() {
            0 => Helper::start_without_rights,
            _ => Helper::start,
        };
        let helper = start("c06 without rights", scratch.path());
        assert_eq!(helper.hear(), "refused");
        helper.finish();
        mode(&closed, 0o755);
        assert!(entries(&closed).is_empty());
    });
}

/// In a process of its own: the rights are not there.
pub fn without_rights(folder: &Path) {
    for (name, culprit) in [("closed/new.db", "closed"), ("open/theirs.db", "theirs.db")] {
        match refused(&folder.join(name), false) {
            OpenError::PermissionDenied { path, .. } => {
                assert!(path.to_str().unwrap().contains(culprit), "{}", path.display());
            }
            other => panic!("{other}"),
        }
    }
    no_thread_is_left();
    say("refused");
}

#[test]
fn c06_a_read_only_filesystem_is_a_variant_of_its_own() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        Store::builder(scratch.join("old.db")).open().wait().unwrap().close().wait().unwrap();
        let Some(helper) = Helper::start_on_read_only("c06 read-only", scratch.path()) else {
            eprintln!("not tried: this user may not mount");
            return;
        };
        assert_eq!(helper.hear(), "refused");
        helper.finish();
    });
}

/// In a process of its own: the folder is mounted read-only.
pub fn on_a_read_only_filesystem(folder: &Path) {
    for name in ["new.db", "below/new.db", "old.db"] {
        let builder = Store::builder(folder.join(name)).create_parents(true).open_timeout(FOREVER);
        let error = builder.open().wait().map(drop).unwrap_err();
        assert!(matches!(&error, OpenError::ReadOnlyFilesystem { .. }), "{name}: {error}");
        assert!(error.path().starts_with(folder));
    }
    no_thread_is_left();
    say("refused");
}

/// The thread that opened ends with the answer, or a moment later.
fn no_thread_is_left() {
    eventually("no thread of the engine is left", || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        tasks.filter_map(Result::ok).all(|task| {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            !name.starts_with("walwright")
        })
    });
}
