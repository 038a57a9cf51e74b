//! 4. Order.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;

use walwright::{AckLevel, Store};

use crate::bed::{Bed, column, hold_writer, insert, run};

/// Remembers in which order its rows came.
const DIARY: &str =
    "CREATE TABLE diary (place INTEGER PRIMARY KEY AUTOINCREMENT, task, number, UNIQUE (task, number))";

#[test]
fn what_one_task_sends_is_applied_in_its_order_and_sequences_say_so() {
    run(|| {
        let bed = Bed::with(DIARY);
        // Small groups, so that the order has to hold across many.
        let store = bed.builder().group(7, 1 << 20, std::time::Duration::from_secs(60));
        let store = store.open().wait().unwrap();
        let tasks: Vec<_> = (0..4_i64)
            .map(|task| {
                let store = store.clone();
                thread::spawn(move || {
                    let sql = "INSERT INTO diary (task, number) VALUES (?1, ?2)";
                    let pending: Vec<_> = (0..100_i64)
                        .map(|number| {
                            let level = if number % 3 == 0 { AckLevel::Durable } else { AckLevel::Committed };
                            if number % 5 == 0 {
                                // A command that takes the whole transaction of its group with it.
                                let sql = "INSERT OR ROLLBACK INTO diary VALUES (1, 0, 0), (1, 0, 0)";
                                drop(store.execute(sql, ()).try_submit().unwrap());
                            }
                            store.execute(sql, (task, number)).ack(level).try_submit().unwrap()
                        })
                        .collect();
                    pending.into_iter().map(|one| one.wait().unwrap().sequence).collect::<Vec<_>>()
                })
            })
            .collect();
        let sequences: Vec<Vec<u64>> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        let all: BTreeSet<u64> = sequences.iter().flatten().copied().collect();
        assert_eq!(all.len(), 400, "no sequence is used twice");
        for task in &sequences {
            assert!(task.is_sorted(), "a task's sequences grow");
        }
        // The order of the rows is the order of the sequences.
        let rows = store.query("SELECT task, number FROM diary ORDER BY place", ()).wait().unwrap();
        let in_order: Vec<u64> = rows
            .iter()
            .map(|row| {
                sequences[usize::from(row.get::<u16>(0).unwrap())][usize::from(row.get::<u16>(1).unwrap())]
            })
            .collect();
        assert_eq!(in_order.len(), 400);
        assert!(in_order.is_sorted(), "rows were written in the order of their sequences");
    });
}

#[test]
fn answers_come_in_the_order_of_admission() {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Wake, Waker};

    struct Note(usize, Arc<Mutex<Vec<usize>>>);
    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    run(|| {
        let bed = Bed::new();
        let store =
            bed.builder().group(5, 1 << 20, std::time::Duration::from_secs(60)).open().wait().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let gate = hold_writer(&store);
        let mut pending: Vec<_> = (0..20)
            .map(|number| {
                // Every fourth fails, every sixth is only committed: neither overtakes.
                let id = if number % 4 == 3 { 0 } else { number };
                let level = if number % 6 == 0 { AckLevel::Committed } else { AckLevel::Durable };
                insert(&store, id).ack(level).try_submit().unwrap()
            })
            .collect();
        for (number, one) in pending.iter_mut().enumerate() {
            let waker = Waker::from(Arc::new(Note(number, order.clone())));
            assert!(Pin::new(one).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        gate.open();
        store.flush().wait().unwrap();
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    });
}

#[test]
fn survivors_of_a_group_that_was_rolled_back_keep_their_order() {
    run(|| {
        let bed = Bed::with(DIARY);
        let store = bed.open();
        let writes = (0..12_i64).map(|number| {
            let sql = if number % 4 == 2 {
                "INSERT OR ROLLBACK INTO diary VALUES (1, ?1, ?2), (1, ?1, ?2)"
            } else {
                "INSERT INTO diary (task, number) VALUES (?1, ?2)"
            };
            store.execute(sql, (0, number))
        });
        let answers = bed.answers(&store, writes);
        let sequences: Vec<u64> =
            answers.iter().filter_map(|(answer, _)| Some(answer.as_ref().ok()?.sequence)).collect();
        assert_eq!(sequences.len(), 9);
        assert!(sequences.is_sorted_by(|a, b| a < b), "{sequences:?}");
        let numbers: Vec<i64> = column(&store, "SELECT number FROM diary ORDER BY place");
        assert_eq!(numbers, [0, 1, 3, 4, 5, 7, 8, 9, 11]);
    });
}

#[test]
fn sequences_grow_over_restarts() {
    run(|| {
        let bed = Bed::new();
        let mut last = 0;
        for id in 0..4 {
            let store = bed.open();
            let sequence = insert(&store, id).wait().unwrap().sequence;
            assert!(sequence > last);
            last = store.flush().wait().unwrap().sequence;
            assert!(last > sequence);
            store.close().wait().unwrap();
        }
    });
}

fn next_sequence(store: &Store) -> u64 {
    store.execute("UPDATE t SET v = 1 WHERE id = -1", ()).ack(AckLevel::Committed).wait().unwrap().sequence
}

#[test]
fn no_sequence_comes_again_after_a_power_cut() {
    run(|| {
        let bed = Bed::new();
        let store = bed.builder().open().wait().unwrap();
        // Right after opening, before anything was written, and with answers that nothing has synced.
        let early = bed.vfs.image_at_power_cut();
        let mut given: Vec<u64> = (0..50).map(|_| next_sequence(&store)).collect();
        for id in 0..3 {
            given.push(insert(&store, id).ack(AckLevel::Committed).wait().unwrap().sequence);
        }
        let late = bed.vfs.image_at_power_cut();
        given.push(insert(&store, 10).wait().unwrap().sequence);
        let last = given[given.len() - 1];
        assert!(given.is_sorted_by(|a, b| a < b));
        for image in [early, late, bed.vfs.image_at_power_cut()] {
            let again = bed.reopen(&image);
            assert!(next_sequence(&again) > last, "a sequence is given out twice");
        }
    });
}

#[test]
fn no_sequence_comes_again_beyond_the_range_that_was_reserved() {
    run(|| {
        let bed = Bed::new();
        // With groups this large, a range is used up after a few of them.
        let store = bed.builder().group(usize::MAX, usize::MAX, std::time::Duration::from_secs(60));
        let store = store.open().wait().unwrap();
        let first = next_sequence(&store);
        let range: i64 = crate::bed::one(&store, "SELECT next FROM walwright_sequence");
        let range = range.unsigned_abs();
        assert!(first < range, "what is reserved lies ahead");
        // Commands that are as cheap as can be, until the edge is passed.
        let mut last = first;
        let mut pending = Vec::new();
        while last <= range {
            for _ in 0..4_000 {
                match store.flush().try_submit() {
                    Ok(one) => pending.push(one),
                    Err(_) => break,
                }
            }
            let mut newest = last;
            for one in pending.drain(..) {
                let sequence = one.wait().unwrap().sequence;
                assert!(sequence > newest);
                newest = sequence;
            }
            last = newest;
        }
        let reserved: i64 = crate::bed::one(&store, "SELECT next FROM walwright_sequence");
        assert!(reserved.unsigned_abs() > last, "given out without having been reserved");
        let again = bed.reopen(&bed.vfs.image_at_power_cut());
        assert!(next_sequence(&again) > last, "a sequence is given out twice");
    });
}
