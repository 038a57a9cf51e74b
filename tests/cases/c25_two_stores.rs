//! C25. Two servers were started on one file; each had its own single writer, and together they fought over
//! the log until caches and order had diverged (akitaonrails/ai-memory#563).
//!
//! Must hold: the second store is refused at once with the name of the holder, from another process, from the
//! same one, and through a symbolic link; the lock dies with its process, also by SIGKILL, and outlives
//! nothing.

use std::os::unix::fs::symlink;
use std::path::Path;

use walwright::{OpenError, Store};
use walwright_test_support::{Scratch, watchdog};

use crate::support_read::{FOREVER, Helper, LIMIT, number, say, until_dismissed};

/// Tries to open: the holder and whether it is this process, if somebody holds the file.
///
/// It is not waited for: the patience of opening is longer than that of the test.
fn try_open(path: &Path) -> Result<Store, (Option<u32>, bool)> {
    match Store::builder(path).open_timeout(FOREVER).open().wait() {
        Ok(store) => Ok(store),
        Err(OpenError::AlreadyOpen { holder, this_process, path }) => {
            assert!(path.is_absolute());
            Err((holder, this_process))
        }
        Err(error) => panic!("{error}"),
    }
}

/// In a process of its own: opens the store and keeps it.
pub fn hold(path: &Path) {
    let store = Store::builder(path).open().wait().unwrap();
    store.execute("CREATE TABLE IF NOT EXISTS t (x)", ()).wait().unwrap();
    store.execute("INSERT INTO t VALUES (1)", ()).wait().unwrap();
    say("held");
    until_dismissed();
    store.close().wait().unwrap();
}

#[test]
fn c25_another_process_is_named_and_its_end_frees_the_file() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let (path, link) = (scratch.join("a.db"), scratch.join("link.db"));
        symlink(&path, &link).unwrap();
        for way in ["killed", "dismissed"] {
            let helper = Helper::start("c25 hold", &path);
            assert_eq!(helper.hear(), "held");
            let holder = (Some(helper.id()), false);
            assert_eq!(try_open(&path).map(drop), Err(holder));
            assert_eq!(try_open(&link).map(drop), Err(holder), "through a link");
            // A refused attempt does not take the lock away from its holder.
            assert_eq!(try_open(&path).map(drop), Err(holder));
            match way {
                "killed" => helper.kill(),
                _ => helper.finish(),
            }
            let store = try_open(&path).unwrap_or_else(|holder| panic!("{way}, and still held: {holder:?}"));
            assert!(number(&store, "SELECT count(*) FROM t") > 0);
            store.close().wait().unwrap();
        }
    });
}

#[test]
fn c25_the_same_process_is_refused_under_every_name() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        let store = try_open(&path).unwrap();
        let (link, hard, dots) =
            (scratch.join("link.db"), scratch.join("hard.db"), scratch.join("below/../a.db"));
        scratch.subdirectory("below");
        symlink(&path, &link).unwrap();
        std::fs::hard_link(&path, &hard).unwrap();
        let mine = (Some(std::process::id()), true);
        for name in [&path, &link, &hard, &dots] {
            assert_eq!(try_open(name).map(drop), Err(mine), "{}", name.display());
        }
        // The refusals have not given our lock away: others are still kept out.
        let helper = Helper::start("c25 race", &path);
        assert_eq!(helper.hear(), format!("{:?}", (Some(std::process::id()), false)));
        helper.finish();
        store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
        store.close().wait().unwrap();
        for name in [&path, &link, &dots] {
            try_open(name).unwrap().close().wait().unwrap();
        }
    });
}

/// In a process of its own: takes the file if it can, and keeps it until everybody has tried.
pub fn race(path: &Path) {
    match try_open(path) {
        Ok(store) => {
            say("won");
            until_dismissed();
            store.close().wait().unwrap();
        }
        Err(holder) => say(format!("{holder:?}")),
    }
}

#[test]
fn c25_of_fifty_processes_exactly_one_wins() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        let helpers: Vec<_> = (0..50).map(|_| Helper::start("c25 race", &path)).collect();
        // The winner stays until it is dismissed, so nobody can win after it.
        let told: Vec<_> = helpers.iter().map(Helper::hear).collect();
        let winners: Vec<_> = helpers.iter().zip(&told).filter(|(_, said)| *said == "won").collect();
        let [(winner, _)] = winners[..] else { panic!("{told:?}") };
        let holder = format!("{:?}", (Some(winner.id()), false));
        let losers: Vec<_> = told.iter().filter(|said| *said != "won").collect();
        assert_eq!(losers.len(), 49);
        assert!(losers.iter().all(|said| **said == holder), "the holder is named: {told:?}");
        helpers.into_iter().for_each(Helper::finish);
        try_open(&path).unwrap().close().wait().unwrap();
    });
}

/// Files are told apart by their inodes, and a filesystem uses the inode of a deleted file again at once: a store
/// that is being closed after its files were deleted must not stand in the way of a new one somewhere else.
#[test]
fn c25_a_new_file_is_not_taken_for_a_deleted_one_that_is_being_closed() {
    watchdog(LIMIT, || {
        let rounds = |_| {
            std::thread::spawn(|| {
                for _ in 0..40 {
                    let scratch = Scratch::new();
                    // The handle goes first and the folder next, while the engine's threads still close.
                    let store = try_open(&scratch.join("a.db")).expect("nobody has this file");
                    drop(store);
                }
            })
        };
        let threads: Vec<_> = (0..6).map(rounds).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
