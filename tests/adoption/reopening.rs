//! A file that has been adopted is opened again as it is.

use std::fs;

use walwright_test_support::Scratch;
use walwright_test_support::vfs::{FaultVfs, FileKind};

use crate::bed::{content, old_file, open, recognising, run};

/// What an opening of a file in WAL mode does beside reading: SQLite makes an empty WAL and its index, and removes
/// both at the close.
#[test]
fn the_second_opening_writes_nothing() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        open(recognising(&path)).close().wait().unwrap();
        let before = (content(&path), fs::metadata(&path).unwrap().modified().unwrap());

        let vfs = FaultVfs::unique("reopening");
        let store = open(recognising(&path).vfs(vfs.name()));
        assert!(!store.settings().converted && !store.settings().recovered);
        assert_eq!(store.settings().user_version, 3);
        let rows = store.query("SELECT count(*) FROM message", ()).wait().unwrap();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), crate::bed::MESSAGES);
        for kind in [FileKind::Database, FileKind::Wal] {
            let counts = vfs.counts(kind);
            assert_eq!((counts.writes, counts.syncs), (0, 0), "{kind:?}");
        }
        store.close().wait().unwrap();
        for kind in [FileKind::Database, FileKind::Wal] {
            assert_eq!(vfs.counts(kind).writes, 0, "{kind:?}");
        }
        assert_eq!((content(&path), fs::metadata(&path).unwrap().modified().unwrap()), before);
    });
}

/// The first write reserves the sequences that the opening did not: they grow over all openings.
#[test]
fn sequences_grow_over_openings_that_wrote_nothing() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        let mut last = 0;
        for round in 0..6 {
            let store = open(recognising(&path));
            if round % 2 == 1 {
                let insert = "INSERT INTO marker VALUES (?1, 1)";
                let receipt = store.execute(insert, (round,)).wait().unwrap();
                assert!(receipt.sequence > last, "{} after {last}", receipt.sequence);
                last = receipt.sequence;
            }
            store.close().wait().unwrap();
        }
    });
}
