//! C01. Servers read a row and write it back in one transaction, and with two writers some of these calls
//! fail within milliseconds with "database is locked", whatever the timeout (ovumcy/ovumcy-web#155; also
//! transact-rs/sqlx#451): the transaction began as a reader, somebody committed meanwhile, and SQLite does
//! not wait in that situation.
//!
//! What must hold: no read-modify-write of this process ever sees Busy, every increment counts, and the
//! write lock is taken when the transaction begins, so that nobody can come between reading and writing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use walwright::{ClosureError, Migration, Store, Tx};
use walwright_test_support::{Gate, Probe, Scratch, watchdog};

use crate::support_write::LIMIT;

const TASKS: usize = 64;
const INCREMENTS: usize = 200;

const COUNTER: &[Migration] = &[Migration::sql(
    "CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
     INSERT INTO counter VALUES (1, 0);
     CREATE TABLE other (n INTEGER)",
)];

fn open(scratch: &Scratch) -> Store {
    Store::builder(scratch.join("store.db")).migrations(COUNTER).open().wait().unwrap()
}

fn increment(tx: &Tx<'_>) -> Result<i64, ClosureError> {
    let n: i64 = tx.query_row("SELECT n FROM counter WHERE id = 1", (), |row| row.get(0))?;
    tx.execute("UPDATE counter SET n = ?1 WHERE id = 1", (n + 1,))?;
    Ok(n + 1)
}

/// 64 tasks with 200 increments each, beside readers that scan and another connection that commits.
#[test]
fn c01_every_increment_counts_beside_readers_and_foreign_commits() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let done = Arc::new(AtomicBool::new(false));
        let foreign_commits = Arc::new(AtomicUsize::new(0));
        let increments = Arc::new(AtomicUsize::new(0));
        let foreign = thread::spawn({
            let (done, commits, increments) = (done.clone(), foreign_commits.clone(), increments.clone());
            let path = scratch.join("store.db");
            move || {
                let probe = Probe::open(path).unwrap();
                let mut next = 0;
                while !done.load(Ordering::SeqCst) {
                    // Now and then: a connection that did nothing else would hold the lock all the time.
                    if increments.load(Ordering::SeqCst) >= next
                        // It does not wait for locks: most tries meet the writer and are over at once.
                        && let Ok(lock) = probe.begin_immediate()
                    {
                        probe.connection().execute("INSERT INTO other VALUES (1)", []).unwrap();
                        lock.commit().unwrap();
                        commits.fetch_add(1, Ordering::SeqCst);
                        next = increments.load(Ordering::SeqCst) + 100;
                    }
                    thread::yield_now();
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let reading = tokio::spawn({
                let (store, done) = (store.clone(), done.clone());
                async move {
                    let mut last = 0;
                    while !done.load(Ordering::SeqCst) {
                        let n: i64 = store
                            .read(|db| {
                                db.query_row("SELECT count(*) FROM other", (), |row| row.get::<_, i64>(0))?;
                                db.query_row("SELECT n FROM counter", (), |row| row.get(0))
                            })
                            .await
                            .unwrap();
                        assert!(n >= last, "a reader went back from {last} to {n}");
                        last = n;
                    }
                }
            });
            let mut tasks = Vec::new();
            for _ in 0..TASKS {
                let (store, increments) = (store.clone(), increments.clone());
                tasks.push(tokio::spawn(async move {
                    let mut last = 0;
                    for _ in 0..INCREMENTS {
                        let n = store.write(increment).await.unwrap().value;
                        assert!(n > last);
                        last = n;
                        increments.fetch_add(1, Ordering::SeqCst);
                    }
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
            done.store(true, Ordering::SeqCst);
            reading.await.unwrap();
        });
        foreign.join().unwrap();
        assert!(foreign_commits.load(Ordering::SeqCst) > 0, "nobody else ever committed");
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        assert_eq!(probe.count("SELECT n FROM counter").unwrap(), (TASKS * INCREMENTS) as i64);
        assert_eq!(store.stats().failed_commands, 0);
    });
}

/// Between the read and the write of a closure another connection tries to commit: it must be refused.
#[test]
fn c01_the_write_lock_is_held_from_the_begin() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let gate = Gate::new();
        let inside = gate.clone();
        let pending = store
            .write(move |tx| {
                let n: i64 = tx.query_row("SELECT n FROM counter", (), |row| row.get(0))?;
                inside.wait();
                tx.execute("UPDATE counter SET n = ?1", (n + 1,))
            })
            .try_submit()
            .unwrap();
        gate.wait_until_entered();
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        let refused = probe.begin_immediate().map(drop).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(walwright::rusqlite::ErrorCode::DatabaseBusy));
        gate.open();
        assert_eq!(pending.wait().unwrap().value, 1);
        assert_eq!(probe.count("SELECT n FROM counter").unwrap(), 1);
        // Now that nobody holds it, the other connection gets it.
        drop(probe.begin_immediate().unwrap());
    });
}
