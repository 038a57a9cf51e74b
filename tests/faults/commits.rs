//! A COMMIT that fails, and what the members of its group hear.

use std::time::Duration;

use walwright::rusqlite::ffi;
use walwright::{Outcome, Store, StoreState, WriteError};
use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

use crate::run::builder;
use crate::template::Template;

/// A store whose writer is held until the gate opens, on a template's copy.
fn held(vfs: &FaultVfs, folder: &Scratch) -> (Store, Gate) {
    let path = Template::closed().copy_to(folder.path());
    let store = builder(&path).vfs(vfs.name()).open().wait().unwrap();
    let gate = Gate::new();
    let wait = gate.clone();
    let hold = store.write(move |_| {
        wait.wait();
        Ok(())
    });
    drop(hold.try_submit().unwrap());
    gate.wait_until_entered();
    (store, gate)
}

/// Two clients insert the same row in one group, and its COMMIT fails. The second one used to hear that the
/// row is there, by a constraint, while the first heard that nobody knows. After reopening it was not there:
/// a program that takes the constraint for "I have it already" would have lost it.
#[test]
fn nobody_fails_by_what_was_not_committed() {
    let (vfs, folder) = (FaultVfs::unique("commits"), Scratch::new());
    let (store, gate) = held(vfs, &folder);
    let insert = || store.execute("INSERT INTO item VALUES (101, 'a')", ()).try_submit().unwrap();
    let (first, second) = (insert(), insert());
    vfs.arm(FaultPlan::fail(Operation::Write).on(FileKind::Wal));
    gate.open();
    assert_eq!(first.wait().unwrap_err().outcome(), Outcome::Unknown);
    let error = second.wait().unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    assert!(store.close().wait().is_err());
    let store = builder(&folder.join("db")).open().wait().unwrap();
    assert!(store.query("SELECT 1 FROM item WHERE id = 101", ()).wait().unwrap().is_empty());
}

/// A value whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // Without the panic hook, which would print.
        std::panic::resume_unwind(Box::new("from a destructor"));
    }
}

/// What a closure returns is the caller's, and so is its destructor. When the COMMIT of its group failed, the
/// engine dropped the value in the middle of answering: a panic there ended the writer's thread, and the
/// close that followed waited for ever.
#[test]
fn a_destructor_that_panics_brings_nothing_down_when_a_commit_fails() {
    for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_FULL] {
        watchdog(Duration::from_secs(30), move || {
            let (vfs, folder) = (FaultVfs::unique("commits"), Scratch::new());
            let (store, gate) = held(vfs, &folder);
            let write = store.write(|tx| {
                tx.execute("INSERT INTO item VALUES (101, 'a')", ())?;
                Ok(Bomb)
            });
            let write = write.try_submit().unwrap();
            let next = store.execute("INSERT INTO item VALUES (102, 'b')", ()).try_submit().unwrap();
            // Twice as a group and alone, if it is tried again at all.
            vfs.arm(FaultPlan::fail(Operation::Write).on(FileKind::Wal).from_then_on().with_code(code));
            gate.open();
            let (error, next) = (write.wait().err().unwrap(), next.wait().unwrap_err());
            vfs.disarm();
            if code == ffi::SQLITE_FULL {
                assert!(
                    matches!((&error, &next), (WriteError::DiskFull(_), WriteError::DiskFull(_))),
                    "{error}, {next}"
                );
                store.execute("INSERT INTO item VALUES (103, 'c')", ()).wait().unwrap();
                store.close().wait().unwrap();
            } else {
                assert_eq!((error.outcome(), next.outcome()), (Outcome::Unknown, Outcome::Unknown));
                assert!(matches!(store.stats().state, StoreState::Failed(_)));
                assert!(store.close().wait().is_err());
            }
        });
    }
}
