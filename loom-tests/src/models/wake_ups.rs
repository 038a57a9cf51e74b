//! No wake-up is lost: in the queue, in admission by count and by bytes, and in the answer slot. loom reports
//! a caller that nobody wakes as a deadlock.

use std::sync::Arc;

use crate::bench::{Bench, groups_of, join, over};
use crate::command::{Failure, Receipt, Write};
use crate::explore::{Exploration, explore};
use crate::model_storage::{Fault, Step, assert_struck};
use crate::parker::{block_on, poll_elsewhere};
use crate::protocol::answer::Slots;
use crate::protocol::limits::QueueLimits;
use crate::protocol::queue::{CommandQueue, Entrance};
use crate::protocol::work::Answer;
use crate::sync::{Condvar, Mutex};

/// The future of an answer is polled by one task, then by another: the answer wakes the later one.
#[test]
fn an_answer_wakes_the_waker_of_the_last_poll() {
    explore("an_answer_wakes_the_waker_of_the_last_poll", || {
        let (responder, mut ticket) = Slots::<Write>::new().next();
        let engine = loom::thread::spawn(move || {
            responder.answer(Answer::Done(Receipt { sequence: 1, seen: 0 }));
        });
        if poll_elsewhere(|context| ticket.poll_answer(context)).is_pending() {
            assert!(matches!(block_on(|context| ticket.poll_answer(context)), Answer::Done(_)));
        }
        assert!(ticket.try_answer().is_none());
        join(engine);
    });
}

/// The same for the admission, and then for the answer with the waker left from before.
#[test]
fn an_admission_wakes_the_waker_of_the_last_poll() {
    explore("an_admission_wakes_the_waker_of_the_last_poll", || {
        let (responder, mut ticket) = Slots::<Write>::new().next();
        responder.keep_waiting();
        let engine = loom::thread::spawn(move || {
            if let Some(waker) = responder.admit() {
                waker.wake();
            }
            responder.answer(Answer::Failed(Failure::Undone));
        });
        if poll_elsewhere(|context| ticket.poll_admitted(context)).is_pending() {
            block_on(|context| ticket.poll_admitted(context));
        }
        assert!(matches!(block_on(|context| ticket.poll_answer(context)), Answer::Failed(_)));
        join(engine);
    });
}

/// An answer without an admission (a refusal) ends the wait for the admission, too.
#[test]
fn a_refusal_wakes_who_waits_for_admission() {
    explore("a_refusal_wakes_who_waits_for_admission", || {
        let (responder, ticket) = Slots::<Write>::new().next();
        responder.keep_waiting();
        let engine = loom::thread::spawn(move || drop(responder));
        block_on(|context| ticket.poll_admitted(context));
        assert!(matches!(ticket.try_answer(), Some(Answer::Unknown(_))), "a lost responder answers unknown");
        join(engine);
    });
}

/// The writer sleeps, falls asleep or is at work when the command comes, once and once again.
#[test]
fn a_command_wakes_the_writer() {
    explore("a_command_wakes_the_writer", || {
        let bench = Bench::new(2);
        let writer = bench.spawn_writer(groups_of(2), &[]);
        let other = bench.spawn(|bench| {
            assert!(bench.send(Write::committed(3)).wait_after_a_move().is_done());
        });
        for id in [1, 2] {
            assert!(bench.send(Write::committed(id)).wait_after_a_move().is_done());
        }
        join(other);
        bench.close(writer);
    });
}

/// Room in count or in bytes admits everyone who waits, in turn; each waits for its admission first, from
/// two tasks.
#[test]
fn room_admits_everyone_who_waits() {
    let mut exploration = Exploration::new("room_admits_everyone_who_waits");
    for (case, commands, bytes, sizes) in [
        ("one command", 1, 1_000, [1, 1, 1]),
        ("ten bytes, each six", 9, 10, [6, 6, 6]),
        ("ten bytes: one large, two small", 9, 10, [10, 5, 5]),
    ] {
        exploration.case(case, move || {
            let bench = Bench::with_limits(commands, bytes);
            let writer = bench.spawn_writer(groups_of(1), &[]);
            let other = bench.spawn(move |bench| {
                let sent = bench.send(Write::committed(3).of_bytes(sizes[2]));
                sent.wait_admitted();
                assert!(sent.wait().is_done());
            });
            let first = bench.send(Write::committed(1).of_bytes(sizes[0]));
            let second = bench.send(Write::committed(2).of_bytes(sizes[1]));
            second.poll_admitted_elsewhere();
            second.wait_admitted();
            assert!(first.is_admitted(), "the second did not overtake the first");
            assert!(second.wait().is_done());
            assert!(first.wait().is_done());
            join(other);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// Two engine threads share a queue, as readers do: each piece of work wakes one of them, room admits the next,
/// and the close wakes both.
#[test]
fn two_threads_that_share_a_queue_leave_nothing_behind() {
    let mut exploration = Exploration::new("two_threads_that_share_a_queue_leave_nothing_behind");
    for room in [1, 2] {
        exploration.case(&format!("room for {room}"), move || {
            let queue = Arc::new(CommandQueue::<Write>::new(QueueLimits { commands: room, bytes: 10 }));
            let serve = |queue: &CommandQueue<Write>| {
                while let Some(entry) = queue.take_one() {
                    entry.responder.answer(Answer::Done(Receipt { sequence: 0, seen: entry.bytes }));
                }
            };
            let engines =
                [queue.clone(), queue.clone()].map(|queue| loom::thread::spawn(move || serve(&queue)));
            let tickets = [1u8, 2].map(|id| match queue.enter(Write::committed(id), None, Entrance::Wait) {
                Ok(entered) => entered.ticket,
                Err(refusal) => panic!("refused: {refusal:?}"),
            });
            for mut ticket in tickets {
                assert!(matches!(block_on(|context| ticket.poll_answer(context)), Answer::Done(_)));
            }
            queue.close();
            engines.into_iter().for_each(join);
        });
    }
    exploration.finish();
}

/// Two engine threads sleep when the first command comes. Whatever it is that then admits more (the taking of
/// the first, its expiry, the leaving of one that waits), the second thread must hear of it: work does not wait
/// for the first one to come back. Each thread keeps what it took until the other has something, too.
#[test]
fn work_does_not_wait_while_an_engine_thread_sleeps() {
    let mut exploration = Exploration::new("work_does_not_wait_while_an_engine_thread_sleeps");
    for (case, sizes) in [("take", [10, 5, 5]), ("expire", [10, 5, 5]), ("leave", [4, 8, 6])] {
        exploration.case(case, move || {
            let bench = Bench::with_limits(3, 10);
            let busy = Arc::new((Mutex::new(0), Condvar::new()));
            let engines = [(); 2].map(|()| {
                let busy = busy.clone();
                bench.spawn(move |bench| {
                    while let Some(entry) = bench.queue.take_one() {
                        let (count, changed) = &*busy;
                        let mut count = count.lock();
                        *count += 1;
                        changed.notify_all();
                        while *count < 2 {
                            changed.wait(&mut count);
                        }
                        drop(count);
                        entry.responder.answer(Answer::Failed(Failure::Undone));
                    }
                })
            });
            let first = bench.send_overdue(Write::committed(1).of_bytes(sizes[0]));
            let second = bench.send(Write::committed(2).of_bytes(sizes[1]));
            let third = bench.send(Write::committed(3).of_bytes(sizes[2]));
            match case {
                "expire" => drop(bench.queue.expire(over())),
                "leave" => bench.queue.leave(second.number),
                _ => {}
            }
            for sent in [third, second, first] {
                sent.wait();
            }
            bench.queue.close();
            engines.into_iter().for_each(join);
        });
    }
    exploration.finish();
}

/// A writer that wants to do its upkeep again soon goes to sleep and gets up by itself; a command that comes
/// at that moment is taken.
#[test]
fn a_command_reaches_a_writer_whose_patience_ends() {
    let mut exploration = Exploration::new("a_command_reaches_a_writer_whose_patience_ends");
    for (case, script) in [
        ("once", vec![(Step::Upkeep, 0, Fault::Impatient)]),
        ("twice", vec![(Step::Upkeep, 0, Fault::Impatient), (Step::Upkeep, 1, Fault::Impatient)]),
        ("stalled", vec![(Step::Upkeep, 0, Fault::Stalled)]),
        ("stalled later", vec![(Step::Upkeep, 1, Fault::Stalled), (Step::Upkeep, 2, Fault::Stalled)]),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(1);
            let writer = bench.spawn_writer(groups_of(1), &script);
            assert!(bench.send(Write::committed(1)).wait().is_done());
            assert!(bench.send(Write::committed(2)).wait().is_done());
            bench.close(writer);
        });
    }
    assert_struck(&[(Step::Upkeep, Fault::Impatient), (Step::Upkeep, Fault::Stalled)]);
    exploration.finish();
}
