//! C37. Dropping a pooled connection in async code ran the last checkpoint right there and stalled the runtime;
//! elsewhere close returned while a thread still had the file open (deadpool-rs/deadpool#114).
//!
//! Must hold: dropping the last handle never blocks, and loses nothing; `close().await` returns only when
//! every file is released; no call blocks a thread of the runtime.

use std::fs;
use std::future::IntoFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use walwright::{OpenError, Store, WriteError};
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

use crate::support_read::{LIMIT, beside, length};

/// One thread for everything: whatever blocks it stops the ticks.
fn on_one_thread<F: Future<Output = ()>>(body: impl FnOnce() -> F + Send + 'static) {
    watchdog(LIMIT, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(body());
    });
}

/// A task that counts as long as the runtime's thread is free.
fn ticker() -> Arc<AtomicU64> {
    let ticks = Arc::new(AtomicU64::new(0));
    let count = ticks.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    ticks
}

/// Returns once the ticker has ticked so often more: other tasks run meanwhile.
async fn let_tick(ticks: &AtomicU64, more: u64) {
    let until = ticks.load(Ordering::SeqCst) + more;
    while ticks.load(Ordering::SeqCst) < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The descriptors of this process that lead to a file whose path begins like this, also a deleted one.
fn descriptors(path: &Path) -> Vec<PathBuf> {
    let open =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let begin = path.to_str().unwrap();
    open.filter(|target| target.to_str().is_some_and(|target| target.starts_with(begin))).collect()
}

async fn filled(path: &Path, vfs: &FaultVfs) -> Store {
    let store = Store::builder(path).vfs(vfs.name()).open().await.unwrap();
    store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).await.unwrap();
    for _ in 0..20 {
        store.execute("INSERT INTO t (data) VALUES (?1)", (vec![0_u8; 10_000],)).await.unwrap();
    }
    store
}

/// Opens a store that was dropped a moment ago: its threads may still have it.
async fn reopen(path: &Path) -> Store {
    loop {
        match Store::builder(path).open().await {
            Ok(store) => return store,
            Err(OpenError::AlreadyOpen { this_process: true, .. }) => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn rows(store: &Store) -> i64 {
    store.read(|db| db.query_row("SELECT count(*) FROM t", (), |row| row.get(0))).await.unwrap()
}

#[test]
fn c37_the_last_handle_is_dropped_while_the_disk_stands_still() {
    on_one_thread(|| async {
        let scratch = Scratch::new();
        let (path, vfs) = (scratch.join("a.db"), FaultVfs::unique("c37"));
        let store = filled(&path, vfs).await;
        let ticks = ticker();
        // The last checkpoint cannot end, and neither can the writes that are admitted.
        let hold = vfs.hold_syncs(None);
        let mut writes = Vec::new();
        for _ in 0..50 {
            writes.push(store.execute("INSERT INTO t (data) VALUES (x'00')", ()).submit().await.unwrap());
        }
        drop(store);
        // Here already, although nothing of it can have been done.
        hold.wait_until_blocked(1);
        let_tick(&ticks, 20).await;
        assert!(!descriptors(&path).is_empty(), "the engine is at work");
        hold.release();
        for write in writes {
            write.await.unwrap();
        }
        let store = reopen(&path).await;
        assert_eq!(rows(&store).await, 70);
        assert!(!store.settings().recovered, "the log had been copied and cut");
    });
}

#[test]
fn c37_close_lets_other_tasks_run_and_returns_when_all_is_released() {
    on_one_thread(|| async {
        let scratch = Scratch::new();
        let (path, vfs) = (scratch.join("a.db"), FaultVfs::unique("c37"));
        let store = filled(&path, vfs).await;
        assert!(descriptors(&path).len() >= 5, "{:?}", descriptors(&path));
        let ticks = ticker();
        let hold = vfs.hold_syncs(None);
        let closing = tokio::spawn(store.close().into_future());
        hold.wait_until_blocked(1);
        let_tick(&ticks, 20).await;
        assert!(!closing.is_finished(), "it says so only when it is true");
        hold.release();
        closing.await.unwrap().unwrap();
        assert_eq!(descriptors(&path), [] as [PathBuf; 0]);
        assert_eq!(vfs.open_files(), 0);
        assert!(!beside(&path, "-wal").exists() && !beside(&path, "-shm").exists());
        // A handle is still there, and knows.
        assert!(matches!(store.execute("SELECT 1", ()).await, Err(WriteError::Closed)));
        store.close().await.unwrap();
        fs::rename(&path, scratch.join("b.db")).unwrap();
        let store = Store::builder(&path).open().await.unwrap();
        assert!(store.settings().created);
    });
}

#[test]
fn c37_opening_lets_other_tasks_run() {
    on_one_thread(|| async {
        let scratch = Scratch::new();
        let (path, vfs) = (scratch.join("a.db"), FaultVfs::unique("c37"));
        let ticks = ticker();
        let hold = vfs.hold_syncs(None);
        let opening = tokio::spawn(Store::builder(&path).vfs(vfs.name()).open().into_future());
        let_tick(&ticks, 5).await;
        hold.wait_until_blocked(1);
        let_tick(&ticks, 20).await;
        assert!(!opening.is_finished());
        hold.release();
        opening.await.unwrap().unwrap().close().await.unwrap();
        // An opening that is given up closes again by itself. (That of the file above would write nothing.)
        let path = scratch.join("b.db");
        let hold = vfs.hold_syncs(None);
        let opening = tokio::spawn(Store::builder(&path).vfs(vfs.name()).open().into_future());
        let_tick(&ticks, 5).await;
        hold.wait_until_blocked(1);
        opening.abort();
        assert!(opening.await.is_err_and(|error| error.is_cancelled()));
        hold.release();
        reopen(&path).await.close().await.unwrap();
        assert_eq!(descriptors(&path), [] as [PathBuf; 0]);
    });
}

#[test]
fn c37_waiting_for_room_or_for_an_answer_blocks_no_thread() {
    on_one_thread(|| async {
        let scratch = Scratch::new();
        let builder = Store::builder(scratch.join("a.db")).write_queue(2, 1 << 20).readers(1);
        let store = builder.open().await.unwrap();
        store.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)", ()).await.unwrap();
        let (ticks, gate) = (ticker(), Gate::new());
        let held = store.write({
            let gate = gate.clone();
            move |_| {
                gate.wait();
                Ok(())
            }
        });
        let held = held.submit().await.unwrap();
        gate.wait_until_entered();
        let writes: Vec<_> = (0..6)
            .map(|_| tokio::spawn(store.execute("INSERT INTO t DEFAULT VALUES", ()).into_future()))
            .collect();
        let_tick(&ticks, 20).await;
        let stats = store.stats();
        assert_eq!((stats.queued_commands, stats.waiting_writers), (2, 4));
        // wait() would block this very thread: it says so, and sends nothing.
        let refused = store.execute("INSERT INTO t DEFAULT VALUES", ()).wait();
        assert!(matches!(refused, Err(WriteError::WouldBlockRuntime { admitted: false })), "{refused:?}");
        gate.open();
        held.await.unwrap();
        for write in writes {
            write.await.unwrap().unwrap();
        }
        assert_eq!(rows(&store).await, 6);
    });
}

#[test]
fn c37_the_last_handle_may_go_on_one_of_the_engine_s_own_threads() {
    on_one_thread(|| async {
        for on_reader in [false, true] {
            let scratch = Scratch::new();
            let (path, vfs) = (scratch.join("a.db"), FaultVfs::unique("c37"));
            let store = filled(&path, vfs).await;
            let (gate, mut last) = (Gate::new(), Some(store.clone()));
            if on_reader {
                let at_gate = gate.clone();
                let read = store.read(move |_| {
                    at_gate.wait();
                    drop(last.take());
                    Ok(())
                });
                let mut read = std::pin::pin!(read.into_future());
                // Sent by its first poll; then it is the read alone that keeps the store.
                assert!(futures_poll(read.as_mut()).is_pending());
                gate.wait_until_entered();
                drop(store);
                gate.open();
                read.await.unwrap();
            } else {
                let at_gate = gate.clone();
                let write = store.write(move |tx| {
                    at_gate.wait();
                    drop(last.take());
                    tx.execute("INSERT INTO t (data) VALUES (x'00')", ())
                });
                let write = write.submit().await.unwrap();
                gate.wait_until_entered();
                drop(store);
                gate.open();
                write.await.unwrap();
            }
            let store = reopen(&path).await;
            assert_eq!(rows(&store).await, if on_reader { 20 } else { 21 });
            store.close().await.unwrap();
            assert_eq!(length(&beside(&path, "-wal")), 0);
        }
    });
}

fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
