//! C14. The disk fills up in the middle of a batch: the worker dies of the failed commit, errors never end,
//! or writes stay refused although there is room again (ActivityWatch/aw-server-rust#552; also
//! screenpipe/screenpipe#6790, canonical/lxd#6226).
//!
//! What must hold, whether a statement, the COMMIT or a checkpoint finds the disk full: no command gets Ok
//! unless it is on disk, one that does not fit gets the typed error, reads go on, and once there is room the
//! next write works without reopening.

use std::time::Duration;

use walwright::{AckLevel, Migration, Receipt, Store, StoreState, WriteError};
use walwright_test_support::vfs::DatabaseCreation;
use walwright_test_support::{FaultVfs, Probe, Scratch, watchdog};

use crate::support_write::{INSERT, LIMIT, builder, hold, ids, not_applied, probe, read_ids, send};

/// What callers were told.
#[derive(Default)]
struct Told {
    ok: Vec<i64>,
    full: Vec<i64>,
}

impl Told {
    #[track_caller]
    fn hear(&mut self, id: i64, result: Result<Receipt, WriteError>) {
        match result {
            Ok(_) => self.ok.push(id),
            result => {
                let error = not_applied(result);
                assert!(matches!(error, WriteError::DiskFull(_)), "{error}");
                assert!(error.is_retryable());
                self.full.push(id);
            }
        }
    }
}

/// Ten small commands, one of 5 MB, ten small ones, all in one group.
fn send_around_a_large_one(store: &Store) -> Vec<(i64, walwright::Pending<Receipt>)> {
    let held = hold(store);
    let sent = (1..=21)
        .map(|id| {
            let body = vec![7_u8; if id == 11 { 5_000_000 } else { 10 }];
            (id, store.execute(INSERT, (id, body)).try_submit().unwrap())
        })
        .collect();
    held.open();
    sent
}

/// The database may have only so many pages: the statement itself is told so.
#[test]
fn c14_a_statement_finds_the_disk_full() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch)
            .group(256, 64 << 20, LIMIT)
            .on_connection(|connection| connection.query_row("PRAGMA max_page_count=400", [], |_| Ok(())))
            .open()
            .wait()
            .unwrap();
        let mut told = Told::default();
        for (id, pending) in send_around_a_large_one(&store) {
            told.hear(id, pending.wait());
        }
        assert_eq!(told.full, [11], "only the large one does not fit");
        assert_eq!(read_ids(&store), told.ok);
        assert_eq!(ids(&probe(&scratch)), told.ok);

        // Fill it to the brim with small ones.
        let mut told = Told::default();
        for id in 100.. {
            told.hear(id, store.execute(INSERT, (id, vec![7_u8; 100_000])).wait());
            if !told.full.is_empty() {
                break;
            }
        }
        assert!(told.ok.len() > 5);
        // A delete makes room, and the store goes on as if nothing had been.
        store.execute("DELETE FROM item WHERE id = 100", ()).wait().unwrap();
        told.hear(200, store.execute(INSERT, (200, vec![7_u8; 50_000])).wait());
        assert_eq!(told.ok.last(), Some(&200));
        assert!(matches!(store.stats().state, StoreState::Running));
        store.close().wait().unwrap();
    });
}

/// A closure that hides the error from its caller is told all the same, and its group is whole.
#[test]
fn c14_a_closure_cannot_hide_that_the_disk_is_full() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch)
            .on_connection(|connection| connection.query_row("PRAGMA max_page_count=100", [], |_| Ok(())))
            .open()
            .wait()
            .unwrap();
        let held = hold(&store);
        let before = send(&store, 1);
        let hiding = store
            .write(|tx| {
                tx.execute(INSERT, (2, "small"))?;
                let _ = tx.execute(INSERT, (3, vec![7_u8; 1_000_000]));
                let _ = tx.execute(INSERT, (4, "would be committed by itself"));
                Ok(())
            })
            .try_submit()
            .unwrap();
        let after = send(&store, 5);
        held.open();
        not_applied(hiding.wait());
        before.wait().unwrap();
        after.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 5]);
    });
}

/// The file system has no room for the log: with a small page cache the large statement is told so, and the
/// COMMIT of what did fit.
#[test]
fn c14_a_statement_spills_into_a_full_disk() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c14-spill");
        let store = builder(&scratch)
            .vfs(vfs.name())
            .page_cache(256 << 10)
            .group(256, 64 << 20, LIMIT)
            .open()
            .wait()
            .unwrap();
        vfs.set_free_bytes(Some(1 << 20));
        let mut told = Told::default();
        for (id, pending) in send_around_a_large_one(&store) {
            told.hear(id, pending.wait());
        }
        assert_eq!(told.full, [11], "only the large one does not fit");
        assert_eq!(ids(&probe(&scratch)), told.ok);
        vfs.set_free_bytes(None);
        store.execute(INSERT, (11, vec![7_u8; 5_000_000])).wait().unwrap();
        assert_eq!(read_ids(&store), Vec::from_iter(1..=21));
    });
}

/// The COMMIT of a group finds the disk full. Whoever was told Ok is there also after a power cut, whoever
/// was told "full" is not.
#[test]
fn c14_a_commit_finds_the_disk_full() {
    watchdog(LIMIT, || {
        for level in [AckLevel::Durable, AckLevel::Committed] {
            // From nothing at all to enough for some.
            for free in [0, 5_000, 40_000, 200_000] {
                commit_on_a_full_disk(level, free);
            }
        }
    });
}

fn commit_on_a_full_disk(level: AckLevel, free: u64) {
    let scratch = Scratch::new();
    let vfs = FaultVfs::unique("c14-commit");
    vfs.start_recording(DatabaseCreation::WithDirectory);
    let store = builder(&scratch).ack(level).vfs(vfs.name()).open().wait().unwrap();
    store.execute(INSERT, (0, vec![7_u8; 3_000])).ack(AckLevel::Durable).wait().unwrap();
    let held = hold(&store);
    let sent: Vec<_> = (1..=20)
        .map(|id| (id, store.execute(INSERT, (id, vec![7_u8; 20_000])).try_submit().unwrap()))
        .collect();
    vfs.set_free_bytes(Some(free));
    held.open();
    let mut told = Told { ok: vec![0], full: Vec::new() };
    for (id, pending) in sent {
        told.hear(id, pending.wait());
    }
    assert!(!told.full.is_empty(), "{free} bytes are not enough for all");
    let outside = probe(&scratch);
    assert_eq!(ids(&outside), told.ok);
    assert_eq!(read_ids(&store), told.ok, "reads go on");
    outside.integrity_check().unwrap();

    vfs.set_free_bytes(None);
    store.execute(INSERT, (100, "there is room")).ack(AckLevel::Durable).wait().unwrap();
    told.ok.push(100);
    let after = scratch.subdirectory("after");
    vfs.write_image(&after).unwrap();
    let after = Store::builder(after.join("store.db")).open().wait().unwrap();
    assert_eq!(read_ids(&after), told.ok, "after a power cut");
    assert!(matches!(store.stats().state, StoreState::Running));
}

/// The log has room, the database file has not: the checkpoint is told so. Writes go on while the log takes
/// them, then they are refused, one by one and typed; with room all is well again.
#[test]
fn c14_a_checkpoint_finds_the_disk_full() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c14-checkpoint");
        let store = builder(&scratch)
            .vfs(vfs.name())
            .ack(AckLevel::Committed)
            .wal_limits(100_000, 16 << 20)
            .open()
            .wait()
            .unwrap();
        // The log may grow a little further, nothing else may.
        vfs.set_free_bytes(Some(500_000));
        let mut told = Told::default();
        for id in 1..=200 {
            told.hear(id, store.execute(INSERT, (id, vec![7_u8; 8_000])).wait());
        }
        assert!(told.ok.len() > 10 && told.full.len() > 10);
        assert_eq!(ids(&probe(&scratch)), told.ok);
        assert_eq!(read_ids(&store), told.ok);
        assert!(matches!(store.stats().state, StoreState::Running));
        let before = store.stats();
        vfs.set_free_bytes(None);
        for id in 201..=300 {
            told.hear(id, store.execute(INSERT, (id, vec![7_u8; 8_000])).wait());
        }
        assert_eq!(told.ok.len(), 300 - told.full.len());

        let after = store.stats();
        assert!(after.checkpoints > before.checkpoints, "checkpoints work again");
        assert!(after.wal_bytes < 300_000, "{} bytes", after.wal_bytes);
        assert_eq!(ids(&probe(&scratch)), told.ok);
        store.close().wait().unwrap();
    });
}

/// The log file has grown past its hard limit before, so that it takes writes without needing room, and only
/// the checkpoint that has to shorten it does. Nobody may hang, and close must end.
#[test]
fn c14_a_full_disk_at_the_hard_limit_is_an_answer_not_a_hang() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c14-hard");
        let store = builder(&scratch)
            .vfs(vfs.name())
            .ack(AckLevel::Committed)
            .wal_limits(100_000, 200_000)
            .open()
            .wait()
            .unwrap();
        // One command can make the log as long as it likes. What follows is queued already, so that the
        // writer is never idle and does not cut the file.
        let held = hold(&store);
        let large = store.execute(INSERT, (1, vec![7_u8; 2_000_000])).try_submit().unwrap();
        let second = crate::support_write::send_gate(&store);
        held.open();
        large.wait().unwrap();
        second.wait_until_entered();
        vfs.set_free_bytes(Some(0));
        let sent: Vec<_> = (2..=200)
            .map(|id| (id, store.execute(INSERT, (id, vec![7_u8; 8_000])).try_submit().unwrap()))
            .collect();
        second.open();
        let mut told = Told { ok: vec![1], full: Vec::new() };
        for (id, pending) in sent {
            told.hear(id, pending.wait());
        }
        assert!(told.ok.len() > 5 && told.full.len() > 5, "{} {}", told.ok.len(), told.full.len());
        assert_eq!(read_ids(&store), told.ok);
        assert!(matches!(store.stats().state, StoreState::Running));
        // Time for the writer to become idle, so that its last try at a checkpoint is a while ago when there is
        // room again. If it needs longer the answer is the same.
        std::thread::sleep(Duration::from_millis(30));
        vfs.set_free_bytes(None);
        told.hear(201, store.execute(INSERT, (201, "there is room")).wait());
        assert_eq!(told.ok.last(), Some(&201));
        assert_eq!(ids(&probe(&scratch)), told.ok);
        store.close().wait().unwrap();
    });
}

/// A store that is closed on a full disk answers everybody and ends; what was acknowledged is there.
#[test]
fn c14_close_on_a_full_disk() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c14-close");
        let store = builder(&scratch).vfs(vfs.name()).open().wait().unwrap();
        for id in 1..=20 {
            store.execute(INSERT, (id, vec![7_u8; 8_000])).wait().unwrap();
        }
        vfs.set_free_bytes(Some(0));
        let mut told = Told { ok: Vec::from_iter(1..=20), full: Vec::new() };
        let last = store.execute(INSERT, (21, vec![7_u8; 80_000])).try_submit().unwrap();
        let closed = store.close_within(Duration::from_secs(20)).wait();
        told.hear(21, last.wait());
        assert_eq!(told.full, [21]);
        assert!(closed.is_ok() || matches!(closed, Err(walwright::CloseError::Checkpoint(_))), "{closed:?}");
        assert_eq!(vfs.open_files(), 0);
        vfs.set_free_bytes(None);
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        assert_eq!(ids(&probe), told.ok);
    });
}

/// A store that cannot reserve more room for its own table while it opens says so and opens later.
#[test]
fn c14_open_on_a_full_disk_then_with_room() {
    watchdog(LIMIT, || {
        const SCHEMA: &[Migration] = crate::support_write::ITEMS;
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c14-open");
        let open =
            || Store::builder(scratch.join("store.db")).vfs(vfs.name()).migrations(SCHEMA).open().wait();
        vfs.set_free_bytes(Some(0));
        open().unwrap_err();
        vfs.set_free_bytes(None);
        let store = open().unwrap();
        send(&store, 1).wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1]);
    });
}
