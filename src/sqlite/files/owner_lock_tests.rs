//! The owner lock, within the process and between processes.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;

use super::*;

const PATH: &str = "WALWRIGHT_TEST_OWNER_LOCK";

/// Not a test by itself: the program that `hold_elsewhere` starts.
#[test]
fn child_that_holds_the_lock() {
    let Some(path) = env::var_os(PATH) else { return };
    let lock = OwnerLock::acquire(Path::new(&path)).unwrap();
    println!("\nheld");
    let _ = io::stdin().read(&mut [0]);
    drop(lock);
}

/// Another process that holds the lock of `path`.
fn hold_elsewhere(path: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "sqlite::files::owner_lock::tests::child_that_holds_the_lock", "--nocapture"])
        .env(PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "held"));
    child
}

fn database() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(dir.path()).unwrap().join("a.db");
    fs::write(&path, "").unwrap();
    (dir, path)
}

#[track_caller]
fn assert_taken(path: &Path, by: u32, in_this_process: bool) {
    match OwnerLock::acquire(path) {
        Err(OpenError::AlreadyOpen { holder, this_process, .. }) => {
            assert_eq!((holder, this_process), (Some(by), in_this_process));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_store_of_the_process_is_refused_and_the_lock_survives_it() {
    let (_dir, path) = database();
    let lock = OwnerLock::acquire(&path).unwrap();
    assert_taken(&path, process::id(), true);
    let link = path.with_file_name("b.db");
    fs::hard_link(&path, &link).unwrap();
    assert_taken(&link, process::id(), true);

    // Had the refused attempts closed a descriptor of the lock file, another process would get in now.
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "sqlite::files::owner_lock::tests::child_that_holds_the_lock", "--nocapture"])
        .env(PATH, &path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let lock_path = sidecar(&path, "-owner");
    assert_eq!(fs::metadata(&lock_path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(lock);
    assert!(lock_path.exists(), "the lock file stays");
    OwnerLock::acquire(&path).unwrap();
}

#[test]
fn another_process_is_named_and_its_death_frees_the_lock() {
    let (_dir, path) = database();
    let mut child = hold_elsewhere(&path);
    assert_taken(&path, child.id(), false);
    child.kill().unwrap();
    child.wait().unwrap();
    OwnerLock::acquire(&path).unwrap();
}

#[test]
fn of_racing_threads_exactly_one_wins() {
    let (_dir, path) = database();
    for _ in 0..50 {
        let barrier = Barrier::new(8);
        let locks: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        OwnerLock::acquire(&path)
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(locks.iter().filter(|l| l.is_ok()).count(), 1);
    }
}

#[test]
fn a_forked_child_gives_nothing_up_and_is_not_refused_by_inherited_entries() {
    let (_dir, path) = database();
    let mut lock = OwnerLock::acquire(&path).unwrap();
    // What a forked child sees: another process number than the one that took the lock.
    let id = lock.id;
    lock.process += 1;
    drop(lock);
    assert_taken(&path, process::id(), true);

    let registry: Vec<Entry> = REGISTRY
        .lock()
        .iter()
        .filter(|e| e.database == Inode::at(&path).unwrap())
        .map(|e| Entry { id: e.id, process: e.process + 1, lock_file: e.lock_file, database: e.database })
        .collect();
    assert_eq!(registry.len(), 1);
    let lock_file = Some(registry[0].lock_file);
    refuse_registered(&registry, &path, registry[0].database, lock_file).unwrap();
    // The entry must not outlive the file: another test may get its inode.
    REGISTRY.lock().retain(|entry| entry.id != id);
}

#[test]
fn a_discarded_lock_leaves_no_new_file_but_keeps_an_old_one() {
    let (_dir, path) = database();
    let lock_path = sidecar(&path, "-owner");
    OwnerLock::acquire(&path).unwrap().discard();
    assert!(!lock_path.exists());
    drop(OwnerLock::acquire(&path).unwrap());
    OwnerLock::acquire(&path).unwrap().discard();
    assert!(lock_path.exists());
}

#[test]
fn a_missing_folder_is_named() {
    let (dir, _path) = database();
    let path = dir.path().join("no/a.db");
    assert!(matches!(OwnerLock::acquire(&path), Err(OpenError::ParentMissing { .. })));
}
