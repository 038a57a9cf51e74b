//! C54. A value of many megabytes comes in: "string or blob too big" from deep inside, memory jumps, and all
//! other callers become slow (getsentry/taskbroker#443; also WiseLibs/better-sqlite3#1430,
//! ncruces/go-sqlite3#148).
//!
//! What must hold: the largest value is a setting, checked before anything is queued, and the error names
//! both sizes. Within it a value goes through. The queue counts it, so memory stays bounded; and a large
//! command is a group of its own, so that small ones wait for one of them, not for a group full of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use walwright::{Store, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::{
    INSERT, LIMIT, builder, hold, ids, in_its_own_process, not_applied, not_started, peak_memory,
    present_memory, probe, send, until,
};

const MIB: usize = 1 << 20;

fn length(store: &Store, id: i64) -> u32 {
    let sql = "SELECT length(body) FROM item WHERE id = ?1";
    store.read(move |db| db.query_row(sql, (id,), |row| row.get(0))).wait().unwrap()
}

/// 16 MiB are fine, one byte more is refused, in every kind of call that sends a value along.
#[test]
fn c54_the_limit_is_exact_and_checked_before_the_queue() {
    watchdog(LIMIT, || {
        const MOST: usize = 16 * MIB;
        let scratch = Scratch::new();
        let store = builder(&scratch).largest_value(MOST).open().wait().unwrap();
        store.execute(INSERT, (1, vec![7_u8; MOST])).wait().unwrap();
        store.execute(INSERT, (2, "x".repeat(MOST))).wait().unwrap();
        assert_eq!((length(&store, 1), length(&store, 2)), (MOST as u32, MOST as u32));

        let held = hold(&store);
        let too_large = |result: Result<(), WriteError>| {
            let error = not_started(result);
            assert!(
                matches!(error, WriteError::TooLarge { size, limit } if size == MOST + 1 && limit == MOST),
                "{error}"
            );
            assert!(!error.is_retryable());
            let text = error.to_string();
            assert!(text.contains(&MOST.to_string()) && text.contains(&(MOST + 1).to_string()), "{text}");
        };
        let blob = || vec![7_u8; MOST + 1];
        too_large(store.execute(INSERT, (3, blob())).wait().map(drop));
        too_large(store.execute(INSERT, (3, "x".repeat(MOST + 1))).try_submit().map(drop));
        too_large(store.execute_returning("SELECT ?1", (blob(),)).wait().map(drop));
        too_large(
            store.batch().execute(INSERT, (3, "small")).execute(INSERT, (4, blob())).send().wait().map(drop),
        );
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        too_large(runtime.block_on(store.execute(INSERT, (3, blob())).submit()).map(drop));
        too_large(runtime.block_on(async { store.execute(INSERT, (3, blob())).await.map(drop) }));
        let stats = store.stats();
        assert_eq!((stats.queued_commands, stats.queued_bytes, stats.waiting_writers), (0, 0, 0));
        held.open();
        assert_eq!(ids(&probe(&scratch)), [1, 2]);
    });
}

/// A value that fits its own limit but never the queue, and an SQL text that does not: refused at once.
#[test]
fn c54_what_can_never_fit_is_not_waited_for() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(100, MIB).open().wait().unwrap();
        let values = store.execute(INSERT, (1, vec![7_u8; MIB])).wait();
        let text =
            store.execute(format!("INSERT INTO item (id) VALUES (1) -- {}", "x".repeat(MIB)), ()).wait();
        let many = (0..20).fold(store.batch(), |batch, id| batch.execute(INSERT, (id, vec![7_u8; 100_000])));
        for result in [values, text, many.send().wait()] {
            let error = not_started(result);
            assert!(
                matches!(error, WriteError::TooLarge { size, limit } if size > MIB && limit == MIB),
                "{error}"
            );
        }
        assert!(ids(&probe(&scratch)).is_empty());
    });
}

/// A closure and an SQL function can make values of any size: SQLite's own limit is an error of that command
/// alone, and what a RETURNING gives back is bounded too.
#[test]
fn c54_a_value_made_inside_is_an_error_of_its_command() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).largest_result(MIB).open().wait().unwrap();
        let held = hold(&store);
        let before = send(&store, 1);
        let statement = store.execute("INSERT INTO item (id, body) VALUES (2, zeroblob(2000000000))", ());
        let statement = statement.try_submit().unwrap();
        let closure = store.write(|tx| {
            tx.execute(INSERT, (3, "before"))?;
            tx.execute("INSERT INTO item (id, body) VALUES (4, zeroblob(2000000000))", ())
        });
        let closure = closure.try_submit().unwrap();
        let sql = "INSERT INTO item (id, body) VALUES (5, zeroblob(2000000)) RETURNING body";
        let returning = store.execute_returning(sql, ()).try_submit().unwrap();
        let after = send(&store, 6);
        held.open();
        for error in [not_applied(statement.wait()), not_applied(closure.wait())] {
            let WriteError::Sql(error) = &error else { panic!("{error}") };
            assert_eq!(error.code(), walwright::rusqlite::ffi::SQLITE_TOOBIG);
        }
        let error = not_applied(returning.wait());
        assert!(matches!(error, WriteError::ResultTooLarge { limit: MIB }), "{error}");
        before.wait().unwrap();
        after.wait().unwrap();
        assert_eq!(ids(&probe(&scratch)), [1, 6]);
    });
}

/// Small, large, small, large, small: each large one has a transaction to itself, so that a small one waits
/// for one of them at most, and is answered before the next one begins.
#[test]
fn c54_a_large_command_is_a_group_of_its_own() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).open().wait().unwrap();
        let held = hold(&store);
        let small = send(&store, 1);
        let large = store.execute(INSERT, (2, vec![7_u8; 2 * MIB])).try_submit().unwrap();
        let smalls = [send(&store, 3), send(&store, 4)];
        // When this one begins, everything before it must have been answered: it is not in their group.
        let mut before = Some((small, large, smalls));
        let waiting = std::sync::Arc::new(AtomicUsize::new(0));
        let seen = waiting.clone();
        let next = store
            .write(move |_| {
                if let Some((small, large, smalls)) = before.take() {
                    let mut ready = 0;
                    for pending in [small, large].into_iter().chain(smalls) {
                        // A store's thread cannot wait: what is not there yet would be an error.
                        ready += usize::from(pending.wait().is_ok());
                    }
                    seen.store(ready, Ordering::SeqCst);
                }
                Ok(())
            })
            .bytes(2 * MIB)
            .try_submit()
            .unwrap();
        let last = send(&store, 5);
        held.open();
        next.wait().unwrap();
        last.wait().unwrap();
        assert_eq!(waiting.load(Ordering::SeqCst), 4);
        store.close().wait().unwrap();
        // The gate's; [1]; [2]; [3, 4]; the second large one; [5].
        assert_eq!(store.stats().groups, 6);
    });
}

/// 64 callers insert 16 MB each at the same time; scaled down to 1 MiB each. A caller that waits holds its
/// value; the engine holds no second one.
#[test]
fn c54_many_large_values_at_once_stay_within_the_bound() {
    in_its_own_process("c54_huge_values::c54_many_large_values");
}

#[test]
#[ignore = "run by c54_many_large_values_at_once_stay_within_the_bound, which gives it a process"]
fn c54_many_large_values() {
    const CALLERS: i64 = 64;
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(1_000, 8 * MIB).open().wait().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let before = present_memory();
        let held = hold(&store);
        runtime.block_on(async {
            let tasks: Vec<_> = (0..CALLERS)
                .map(|task| {
                    let store = store.clone();
                    tokio::spawn(async move {
                        store.execute(INSERT, (task, vec![7_u8; MIB])).await.unwrap();
                        store.execute(INSERT, (CALLERS + task, "small")).await.unwrap();
                    })
                })
                .collect();
            until("all to stand in the line", || {
                let stats = store.stats();
                assert!(stats.queued_bytes <= 8 * MIB);
                stats.queued_commands + stats.waiting_writers == CALLERS as usize
            });
            tokio::task::spawn_blocking(move || held.open()).await.unwrap();
            for task in tasks {
                task.await.unwrap();
            }
        });
        let grown = peak_memory().saturating_sub(before);
        println!("grew by {} KiB", grown >> 10);
        // The 64 MiB of the callers, the page caches, the pages of a commit.
        assert!(grown < 104 << 20, "{grown} bytes");
        assert_eq!(ids(&probe(&scratch)), Vec::from_iter(0..2 * CALLERS));
    });
}
