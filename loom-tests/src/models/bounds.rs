//! The bounds of the queue hold at every step, and whoever waits for room is served in turn.

use crate::bench::{Bench, groups_of, join, over};
use crate::command::{Failure, Write};
use crate::explore::{Exploration, explore};
use crate::protocol::queue::Depth;
use crate::protocol::work::Answer;

/// An observer looks at any moment, while commands enter, wait, are taken, expire and leave.
#[test]
fn the_queue_never_holds_more_than_its_bounds() {
    let mut exploration = Exploration::new("the_queue_never_holds_more_than_its_bounds");
    for (case, commands, bytes, sizes) in
        [("commands", 1, 100, [1, 1, 1]), ("bytes", 9, 10, [6, 4, 6]), ("both", 2, 10, [1, 9, 10])]
    {
        exploration.case(case, move || {
            let bench = Bench::with_limits(commands, bytes);
            let writer = bench.spawn_writer(groups_of(1), &[]);
            let observer = bench.spawn(move |bench| {
                let depth = bench.queue.depth();
                assert!(depth.commands <= commands && depth.bytes <= bytes, "{depth:?}");
                assert!(depth.commands + depth.waiting <= 3, "{depth:?}");
            });
            let sent: Vec<_> = sizes
                .into_iter()
                .zip(1u8..)
                .map(|(size, id)| bench.send(Write::committed(id).of_bytes(size)))
                .collect();
            for sent in sent {
                assert!(sent.wait().is_done());
            }
            join(observer);
            assert_empty(&bench);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// What is given back is what was taken, whichever way a command goes out: taken, expired, left, refused.
#[test]
fn an_emptied_queue_has_all_its_room_again() {
    let mut exploration = Exploration::new("an_emptied_queue_has_all_its_room_again");
    for way in ["expire", "leave", "stop", "abandon", "take"] {
        exploration.case(way, move || {
            let bench = Bench::with_limits(2, 10);
            let other = bench.spawn(move |bench| match way {
                "expire" => drop(bench.queue.expire(over())),
                "stop" => bench.queue.stop("over"),
                "abandon" => bench.queue.abandon(),
                "take" => drop(bench.queue.take_one()),
                _ => bench.queue.leave(1),
            });
            let sent: Vec<_> = [6, 6, 3]
                .into_iter()
                .zip(1u8..)
                .map(|(size, id)| bench.enter(Write::committed(id).of_bytes(size), Some(over())).ok())
                .collect();
            join(other);
            let depth = bench.queue.depth();
            assert!(depth.commands <= 2 && depth.bytes <= 10, "{depth:?}");
            bench.queue.expire(over());
            assert_empty(&bench);
            drop(sent);
        });
    }
    exploration.finish();
}

/// The callers count by themselves: two of six bytes are never admitted at once into ten. The queue's own
/// count would agree with itself whatever it left out.
#[test]
fn what_the_callers_see_admitted_fits() {
    explore("what_the_callers_see_admitted_fits", || {
        let bench = Bench::with_limits(9, 10);
        let first = bench.send(Write::committed(1).of_bytes(6));
        let second = bench.send(Write::committed(2).of_bytes(6));
        let third = bench.send(Write::committed(3).of_bytes(6));
        let engine = bench.spawn(|bench| {
            if let Some(entry) = bench.queue.take_one() {
                entry.responder.answer(Answer::Failed(Failure::Undone));
            }
        });
        assert!(!third.is_admitted(), "only the first is taken, and the second is as large");
        first.wait();
        assert!(second.is_admitted());
        assert!(!third.is_admitted(), "only the first was taken, and the second is as large");
        join(engine);
    });
}

/// A large command waits for room; a small one that would fit comes later and waits behind it, also when
/// the writer makes room for the small one alone.
#[test]
fn a_small_command_does_not_overtake_a_large_one_that_waits() {
    let mut exploration = Exploration::new("a_small_command_does_not_overtake_a_large_one_that_waits");
    for (case, before, large, small) in
        [("one before", &[6][..], 6, 1), ("exactly the rest", &[6], 10, 4), ("two before", &[4, 4], 8, 2)]
    {
        exploration.case(case, move || {
            let bench = Bench::with_limits(4, 10);
            let mut sent: Vec<_> = before
                .iter()
                .zip(10u8..)
                .map(|(bytes, id)| bench.send(Write::committed(id).of_bytes(*bytes)))
                .collect();
            let large = bench.send(Write::committed(2).of_bytes(large));
            let writer = bench.spawn_writer(groups_of(1), &[]);
            sent.extend(bench.try_enter(Write::committed(4)));
            let small = bench.send(Write::committed(3).of_bytes(small));
            // Looked at in this order: the earlier one's state can only have gone on since.
            if small.is_admitted() {
                assert!(large.is_admitted(), "the small one has overtaken the large one");
            }
            sent.extend([small, large]);
            for sent in sent {
                assert!(sent.wait().is_done());
            }
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// Two senders wait for one place: whoever came first has it first.
#[test]
fn senders_that_wait_are_admitted_in_turn() {
    explore("senders_that_wait_are_admitted_in_turn", || {
        let bench = Bench::new(1);
        let first = bench.send(Write::committed(1));
        let second = bench.send(Write::committed(2));
        let third = bench.send(Write::committed(3));
        let observer = {
            let bench = bench.clone();
            loom::thread::spawn(move || {
                third.wait_admitted();
                assert!(second.is_admitted(), "the third has overtaken the second");
                assert!(third.wait().is_done());
                assert!(second.expect_answered("the third has one").is_done());
                drop(bench);
            })
        };
        let writer = bench.spawn_writer(groups_of(1), &[]);
        assert!(first.wait().is_done());
        join(observer);
        bench.close(writer);
    });
}

fn assert_empty(bench: &Bench) {
    let Depth { commands, bytes, waiting } = bench.queue.depth();
    assert_eq!((commands, bytes, waiting), (0, 0, 0), "everything was given back");
}
