//! C36. Writes come faster than the disk takes them, the queue between the handlers and the writer has no
//! bound, and the process grows until it is killed (agentgateway/agentgateway#2463; also dotnet/roslyn#22650).
//!
//! What must hold: the queue is bounded by count and by bytes, and the memory that the process takes follows
//! that bound. A caller chooses whether to wait or to be refused; what was accepted is never dropped; the
//! queue's depth can be seen; and who waits is served first come, first served.

use walwright::{AckLevel, Outcome, StoreState, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::{
    ByHand, INSERT, LIMIT, builder, hold, ids, in_its_own_process, not_started, peak_memory, present_memory,
    probe, send,
};

const MIB: usize = 1 << 20;
/// Beside the queue: page caches of the connections, the pages of a group, the allocator's own ways.
const SLACK: u64 = 32 << 20;

/// Runs `body` and asserts that meanwhile the process never took more than `bound` bytes more than before.
fn within_memory(bound: u64, body: impl FnOnce()) {
    let before = present_memory();
    body();
    let grown = peak_memory().saturating_sub(before);
    println!("grew by {} KiB, may grow by {} KiB", grown >> 10, bound >> 10);
    assert!(grown <= bound, "{grown} bytes");
}

/// The writer stands still, and a million inserts of 200 bytes are pressed in: 200 MB of values alone.
#[test]
fn c36_a_million_refusable_writes_stay_within_the_bound() {
    in_its_own_process("c36_bounded_queue::c36_press_a_million");
}

#[test]
#[ignore = "run by c36_a_million_refusable_writes_stay_within_the_bound, which gives it a process"]
fn c36_press_a_million() {
    press(1_000_000, 200, 16 * MIB);
}

/// The same with values of 10 kB: 500 MB of them. Scaled down from a million, which only takes longer: what is
/// refused leaves nothing behind.
#[test]
fn c36_large_refusable_writes_stay_within_the_bound() {
    in_its_own_process("c36_bounded_queue::c36_press_large_ones");
}

#[test]
#[ignore = "run by c36_large_refusable_writes_stay_within_the_bound, which gives it a process"]
fn c36_press_large_ones() {
    press(50_000, 10_000, 16 * MIB);
}

fn press(count: i64, size: usize, queue_bytes: usize) {
    watchdog(LIMIT, move || {
        let scratch = Scratch::new();
        let store = builder(&scratch)
            .write_queue(usize::MAX, queue_bytes)
            .ack(AckLevel::Committed)
            .open()
            .wait()
            .unwrap();
        within_memory(queue_bytes as u64 + SLACK, || {
            let held = hold(&store);
            let (mut accepted, mut refused) = (Vec::new(), 0);
            for id in 0..count {
                match store.execute(INSERT, (id, vec![7_u8; size])).try_submit() {
                    Ok(_) => accepted.push(id),
                    result => {
                        let error = not_started(result);
                        assert!(matches!(error, WriteError::Overloaded), "{error}");
                        assert!(error.is_retryable());
                        refused += 1;
                    }
                }
            }
            assert_eq!(accepted.len() + refused, usize::try_from(count).unwrap());
            let stats = store.stats();
            assert_eq!(stats.queued_commands, accepted.len());
            assert!(stats.queued_bytes <= queue_bytes);
            assert!(stats.queued_bytes + size + 2_000 > queue_bytes, "it was filled: {stats:?}");
            assert_eq!(accepted, Vec::from_iter(0..accepted.len() as i64), "full means full");
            held.open();
            store.flush().wait().unwrap();
            assert_eq!(ids(&probe(&scratch)), accepted, "what was accepted is there");
            assert_eq!(store.stats().queued_bytes, 0);
        });
    });
}

/// Callers that wait press 100 MB through a queue of 4 MiB, with the writer running.
#[test]
fn c36_waiting_writes_stay_within_the_bound() {
    in_its_own_process("c36_bounded_queue::c36_press_waiting_ones");
}

#[test]
#[ignore = "run by c36_waiting_writes_stay_within_the_bound, which gives it a process"]
fn c36_press_waiting_ones() {
    const TASKS: i64 = 50;
    const EACH: i64 = 1_000;
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store =
            builder(&scratch).write_queue(1_000, 4 * MIB).ack(AckLevel::Committed).open().wait().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        within_memory(4 * MIB as u64 + SLACK, || {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..TASKS)
                    .map(|task| {
                        let store = store.clone();
                        tokio::spawn(async move {
                            for id in task * EACH..(task + 1) * EACH {
                                // The answer is not waited for: only the queue's room slows this down.
                                let write = store.execute(INSERT, (id, vec![7_u8; 2_000]));
                                drop(write.submit().await.unwrap());
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                    let stats = store.stats();
                    assert!(stats.queued_commands <= 1_000 && stats.queued_bytes <= 4 * MIB, "{stats:?}");
                }
                store.flush().await.unwrap();
            });
        });
        assert_eq!(probe(&scratch).count("SELECT count(*) FROM item").unwrap(), TASKS * EACH);
        assert_eq!(store.stats().failed_commands, 0);
    });
}

/// By count, by bytes, and by what a closure declares. A command that could never fit is refused at once.
#[test]
fn c36_the_bounds_are_exact() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(10, 100_000).open().wait().unwrap();
        let held = hold(&store);
        let sent: Vec<_> = (1..=10).map(|id| send(&store, id)).collect();
        let refused = store.execute(INSERT, (99, "one too many")).try_submit();
        assert!(matches!(not_started(refused), WriteError::Overloaded));
        held.open();
        for pending in sent {
            pending.wait().unwrap();
        }

        let held = hold(&store);
        let closure = || store.write(|_| Ok(())).bytes(60_000);
        let first = closure().try_submit().unwrap();
        assert!(store.stats().queued_bytes >= 60_000);
        assert!(matches!(not_started(closure().try_submit()), WriteError::Overloaded));
        let never = store.write(|_| Ok(())).bytes(200_000);
        let WriteError::TooLarge { size, limit } = not_started(never.wait()) else { panic!() };
        assert!(size >= 200_000 && limit == 100_000);
        let small = send(&store, 11);
        held.open();
        first.wait().unwrap();
        small.wait().unwrap();
        let stats = store.stats();
        assert_eq!((stats.queued_commands, stats.queued_bytes), (0, 0));
        assert_eq!(ids(&probe(&scratch)), Vec::from_iter(1..=11));
    });
}

/// Who waits is admitted in the order of arrival; nobody overtakes, also not a smaller one that would fit,
/// nor one that does not want to wait.
#[test]
fn c36_waiting_is_fair() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = builder(&scratch).write_queue(3, 60_000).open().wait().unwrap();
        let held = hold(&store);
        let fills = store.execute(INSERT, (0, vec![7_u8; 50_000])).try_submit().unwrap();
        let sizes = [40_000, 10, 50_000, 10, 10, 10, 30_000, 10, 10, 10, 10, 10];
        let mut waiting: Vec<_> = (1..)
            .zip(sizes)
            .map(|(id, size)| {
                let mut one = ByHand::new(store.execute(INSERT, (id, vec![7_u8; size])).into_future());
                assert!(one.poll().is_pending());
                one
            })
            .collect();
        assert_eq!(store.stats().waiting_writers, sizes.len(), "the small ones do not overtake");
        let refused = store.execute(INSERT, (99, "small")).try_submit();
        assert_eq!(refused.err().unwrap().outcome(), Outcome::NotStarted);
        // One in the middle changes its mind.
        drop(waiting.remove(4));
        assert_eq!(store.stats().waiting_writers, sizes.len() - 1);
        held.open();
        let mut last = fills.wait().unwrap().sequence;
        for one in waiting {
            let sequence = one.finish().unwrap().sequence;
            assert!(sequence > last, "in the order of arrival");
            last = sequence;
        }
        assert_eq!(ids(&probe(&scratch)), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]);
        assert!(matches!(store.stats().state, StoreState::Running));
    });
}
