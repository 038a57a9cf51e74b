//! The names of a new database and of the folders made for it are durable when the store is open: C18.
//!
//! The recording VFS of the other tests sees what SQLite does, and not what the engine does to folders. So
//! this program has an `fsync` of its own, which the standard library calls in place of libc's, and which takes
//! down the folders that it is called for.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use walwright::Store;
use walwright_test_support::Scratch;

static SYNCED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

// SAFETY: the name and the signature are those of POSIX, and it does what is asked of it there.
#[unsafe(no_mangle)]
extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: the call takes any number for a descriptor, and refuses those that are none.
    let result = unsafe { libc::syscall(libc::SYS_fsync, file) };
    if result == 0
        && let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{file}"))
        && path.is_dir()
    {
        SYNCED.lock().unwrap().insert(path);
    }
    if result == 0 { 0 } else { -1 }
}

#[test]
fn c18_the_folders_of_a_new_database_are_synced_before_it_is_open() {
    let scratch = Scratch::new();
    let root = std::fs::canonicalize(scratch.path()).unwrap();
    let is_synced = |folder: &Path| SYNCED.lock().unwrap().contains(folder);
    let (outer, inner) = (root.join("outer"), root.join("outer/inner"));
    let store = Store::builder(inner.join("store.db")).create_parents(true).open().wait().unwrap();
    assert!(is_synced(&inner), "the database's name could be lost");
    assert!(is_synced(&outer), "the folder of the database could be lost");
    assert!(is_synced(&root), "the folder above it could be lost");
    store.close().wait().unwrap();
}
