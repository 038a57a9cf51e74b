//! The file is deleted or replaced under the running store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use walwright::rusqlite::Connection;
use walwright::{CloseError, OpenError, Outcome, Store, StoreFailure, StoreState, WriteError};
use walwright_test_support::Scratch;

use crate::run::{builder, rows_of};
use crate::template::Template;

/// Writes go on for a second at most until the store has looked.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

fn sidecars(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

fn is_moved(failure: &StoreFailure) -> bool {
    matches!(failure, StoreFailure::FileMoved { .. })
}

/// Sends writes until one is refused, and holds the rest of the store's life against the promise.
fn notices(store: &Store) {
    let began = Instant::now();
    let error = loop {
        let result = store.execute("INSERT INTO item (text) VALUES ('to nowhere')", ()).wait();
        match result {
            Ok(_) => assert!(began.elapsed() < NOTICED_WITHIN, "still acknowledged after {NOTICED_WITHIN:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.outcome(), Outcome::NotStarted, "{error}");
    assert!(matches!(&error, WriteError::Stopped(failure) if is_moved(failure)), "{error}");
    assert!(matches!(store.stats().state, StoreState::Failed(failure) if is_moved(&failure)));
    let again = store.execute("INSERT INTO item (text) VALUES ('again')", ()).wait().unwrap_err();
    assert!(matches!(again, WriteError::Stopped(_)), "{again}");
    assert!(!store.query("SELECT id FROM item", ()).wait().unwrap().is_empty(), "reads go on");
    let closed = store.close().wait().unwrap_err();
    assert!(matches!(&closed, CloseError::Stopped(failure) if is_moved(failure)), "{closed}");
}

#[test]
fn a_deleted_file_ends_the_acknowledgements() {
    let (folder, template) = (Scratch::new(), Template::closed());
    let path = template.copy_to(folder.path());
    let store = builder(&path).open().wait().unwrap();
    store.execute("INSERT INTO item VALUES (101, 'a')", ()).wait().unwrap();
    fs::remove_file(&path).unwrap();
    notices(&store);
    // The WAL may hold the only copy of something: a new file in its place would delete it.
    let refused = builder(&path).open().wait().unwrap_err();
    assert!(matches!(refused, OpenError::OrphanedWal { .. }), "{refused}");
}

#[test]
fn a_deleted_log_ends_the_acknowledgements() {
    let (folder, template) = (Scratch::new(), Template::closed());
    let path = template.copy_to(folder.path());
    let store = builder(&path).open().wait().unwrap();
    store.execute("INSERT INTO item VALUES (101, 'a')", ()).wait().unwrap();
    fs::remove_file(&sidecars(&path)[0]).unwrap();
    notices(&store);
    let store = builder(&path).open().wait().unwrap();
    // And what was copied into the file before the store had looked.
    assert!(store.query("SELECT id FROM item", ()).wait().unwrap().len() >= 40);
}

/// A backup is put in the place of the running store's file, as a restore does.
fn replace(path: &Path, by: &Template) {
    let folder = Scratch::new();
    fs::rename(by.copy_to(folder.path()), path).unwrap();
    for sidecar in sidecars(path) {
        fs::remove_file(sidecar).unwrap();
    }
}

#[test]
fn a_replaced_file_is_left_alone() {
    let (folder, template) = (Scratch::new(), Template::closed());
    let path = template.copy_to(folder.path());
    let store = builder(&path).open().wait().unwrap();
    store.execute("UPDATE item SET text = 'of the old file'", ()).wait().unwrap();
    replace(&path, &template);
    let restored = fs::read(&path).unwrap();
    notices(&store);
    assert_eq!(fs::read(&path).unwrap(), restored, "the old store has written to the new file");
    assert_eq!(rows_of(&Connection::open(&path).unwrap()), template.rows());
    builder(&path).open().wait().unwrap().close().wait().unwrap();
}

/// The look at the file is taken once a second. A close in that second used to say Ok over a file that
/// nobody will ever find again.
#[test]
fn a_close_says_that_the_file_is_not_the_one_that_was_opened() {
    for gone in [true, false] {
        let (folder, template) = (Scratch::new(), Template::closed());
        let path = template.copy_to(folder.path());
        let store = builder(&path).open().wait().unwrap();
        store.execute("INSERT INTO item VALUES (101, 'a')", ()).wait().unwrap();
        if gone {
            fs::remove_file(&path).unwrap();
        } else {
            replace(&path, &template);
        }
        let closed = store.close().wait().unwrap_err();
        assert!(matches!(&closed, CloseError::Stopped(failure) if is_moved(failure)), "{closed}");
        if !gone {
            assert_eq!(rows_of(&Connection::open(&path).unwrap()), template.rows());
        }
    }
}
