//! C20. A caller flushes, looks from elsewhere, and the data is not there yet: the worker had answered the
//! flush, and the close, inside its loop, and the COMMIT came after that (ActivityWatch/aw-server-rust#616).
//!
//! What must hold: when `flush()` resolves, everything that was sent before it is committed, visible to other
//! connections, and synced, also what asked for less. When `close()` resolves, the files are released.

use walwright::{AckLevel, Store};
use walwright_test_support::vfs::{DatabaseCreation, FileKind};
use walwright_test_support::{FaultVfs, Scratch, watchdog};

use crate::support_write::{
    ByHand, INSERT, ITEMS, LIMIT, builder, has_open_files_in, hold, ids, probe, read_ids,
};

#[test]
fn c20_a_thousand_flushes_show_what_was_sent_before() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let outside = probe(&scratch);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for round in 0..1_000 {
            let level = if round % 2 == 0 { AckLevel::Committed } else { AckLevel::Durable };
            runtime.block_on(async {
                drop(store.execute(INSERT, (2 * round, "forgotten")).ack(level).submit().await.unwrap());
                let sent = store.write(move |tx| tx.execute(INSERT, (2 * round + 1, "kept"))).ack(level);
                let sent = sent.submit().await.unwrap();
                store.flush().await.unwrap();
                // Its answer was there before the flush's.
                assert!(ByHand::new(sent).poll().is_ready());
            });
            assert_eq!(outside.count("SELECT count(*) FROM item").unwrap(), 2 * round + 2);
        }
    });
}

/// The flush is not answered while the sync that it needs is held, and not before the COMMIT.
#[test]
fn c20_a_flush_waits_for_the_sync() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c20");
        vfs.start_recording(DatabaseCreation::WithDirectory);
        let store = builder(&scratch).ack(AckLevel::Committed).vfs(vfs.name()).open().wait().unwrap();
        // Committed before the flush comes, in a group of its own: nothing is left to write, but to sync.
        store.execute(INSERT, (1, "committed")).wait().unwrap();
        let syncs = vfs.hold_syncs(FileKind::Wal);
        let mut flush = ByHand::new(store.flush().into_future());
        assert!(flush.poll().is_pending());
        syncs.wait_until_blocked(1);
        assert!(flush.poll().is_pending(), "not synced yet");
        syncs.release();
        flush.finish().unwrap();
        assert_eq!(after_power_cut(&scratch, vfs, "first"), [1]);

        // In the flush's own group.
        let held = hold(&store);
        let sent = store.execute(INSERT, (2, "in its group")).try_submit().unwrap();
        let mut flush = ByHand::new(store.flush().into_future());
        assert!(flush.poll().is_pending());
        let syncs = vfs.hold_syncs(FileKind::Wal);
        let opener = std::thread::spawn(move || held.open());
        syncs.wait_until_blocked(1);
        assert!(flush.poll().is_pending());
        assert_eq!(ids(&probe(&scratch)), [1], "not visible before it is durable");
        syncs.release();
        flush.finish().unwrap();
        opener.join().unwrap();
        sent.wait().unwrap();
        assert_eq!(after_power_cut(&scratch, vfs, "second"), [1, 2]);

        // With nothing written since, a flush costs no sync.
        let before = vfs.counts(FileKind::Wal).syncs;
        store.flush().wait().unwrap();
        assert_eq!(vfs.counts(FileKind::Wal).syncs, before);
    });
}

/// What a store finds if the power fails now.
fn after_power_cut(scratch: &Scratch, vfs: &FaultVfs, name: &str) -> Vec<i64> {
    let directory = scratch.subdirectory(name);
    vfs.write_image(&directory).unwrap();
    let store = Store::builder(directory.join("store.db")).open().wait().unwrap();
    read_ids(&store)
}

/// After close nothing of the process points at the files: they can be renamed, deleted, made anew.
#[test]
fn c20_close_releases_the_files() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let directory = scratch.subdirectory("data");
        let open = || Store::builder(directory.join("store.db")).migrations(ITEMS).open().wait().unwrap();
        for round in 0..30 {
            let store = open();
            let sent: Vec<_> = (1..=5)
                .map(|id| store.execute(INSERT, (id, "body")).ack(AckLevel::Committed).try_submit().unwrap())
                .collect();
            store.close().wait().unwrap();
            assert!(!has_open_files_in(&directory), "round {round}");
            for pending in sent {
                pending.wait().unwrap();
            }
            if round % 2 == 0 {
                // The one file holds everything, and a new store in the old place knows nothing of it.
                let moved = scratch.join("moved.db");
                std::fs::rename(directory.join("store.db"), &moved).unwrap();
                let probe = walwright_test_support::Probe::open(&moved).unwrap();
                assert_eq!(ids(&probe), [1, 2, 3, 4, 5]);
                drop(probe);
                std::fs::remove_file(&moved).unwrap();
            } else {
                std::fs::remove_file(directory.join("store.db")).unwrap();
            }
            let fresh = open();
            assert!(read_ids(&fresh).is_empty());
            fresh.close().wait().unwrap();
            std::fs::remove_file(directory.join("store.db")).unwrap();
        }
    });
}

/// The same, counted by the VFS at the very moment when the close resolves.
#[test]
fn c20_no_file_is_open_when_close_resolves() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c20-close");
        let store = builder(&scratch).vfs(vfs.name()).open().wait().unwrap();
        store.execute(INSERT, (1, "body")).wait().unwrap();
        store.query("SELECT * FROM item", ()).wait().unwrap();
        assert!(vfs.open_files() > 0);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            store.close().await.unwrap();
            assert_eq!(vfs.open_files(), 0);
        });
    });
}
