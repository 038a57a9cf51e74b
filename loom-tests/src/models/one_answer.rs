//! One answer each, whatever the callers do: deadlines, dropped futures, `Try`, stop, close in a full queue.

use crate::bench::{Bench, groups_of, hurried_groups_of, join, over};
use crate::command::{Deed, Write};
use crate::explore::{Exploration, explore};
use crate::judge::Outcome;
use crate::model_storage::{Fault, Step};
use crate::protocol::level::AckLevel::Committed;
use crate::protocol::work::Refusal;

/// A deadline is noticed at any moment: while the command stands in the line, is in the writer's hand, waits for
/// room, or has started. Expired means that it never ran; started means that its group answers.
#[test]
fn a_deadline_withdraws_a_command_until_it_starts_and_not_after() {
    let mut exploration = Exploration::new("a_deadline_withdraws_a_command_until_it_starts_and_not_after");
    for (case, room, limits) in [
        ("one group", 2, groups_of(2)),
        ("waiting for room", 1, groups_of(1)),
        ("left in the hand", 2, hurried_groups_of(2)),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(room);
            let writer = bench.spawn_writer(limits, &[]);
            let clock = bench.spawn(|bench| {
                bench.queue.expire(over());
            });
            let first = bench.send_overdue(Write::committed(1));
            let second = bench.send_overdue(Write::durable(2));
            for outcome in [second.wait(), first.wait()] {
                assert!(outcome.is_done() || outcome == Outcome::Expired, "{outcome:?}");
            }
            join(clock);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// One deadline among commands without: the others are carried out, and its room is given to who waits.
#[test]
fn an_expired_command_gives_its_room_to_those_who_wait() {
    let mut exploration = Exploration::new("an_expired_command_gives_its_room_to_those_who_wait");
    for (case, bytes) in [("room for one command", [1, 1, 1]), ("room in bytes", [900, 200, 200])] {
        exploration.case(case, move || {
            let bench = Bench::new(if bytes[0] == 1 { 1 } else { 3 });
            // No writer yet: only the expiry makes room.
            let first = bench.send_overdue(Write::committed(1).of_bytes(bytes[0]));
            let second = bench.send(Write::committed(2).of_bytes(bytes[1]));
            let clock = bench.spawn(|bench| {
                assert_eq!(bench.queue.expire(over()), None);
            });
            second.wait_admitted();
            assert_eq!(first.wait(), Outcome::Expired);
            join(clock);
            let writer = bench.spawn_writer(groups_of(2), &[]);
            assert!(second.wait().is_done());
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// The deadline of a command that waits for room passes: those behind it move up.
#[test]
fn an_expired_sender_lets_those_behind_it_pass() {
    explore("an_expired_sender_lets_those_behind_it_pass", || {
        let bench = Bench::with_limits(3, 10);
        let first = bench.send(Write::committed(1).of_bytes(6));
        let second = bench.send_overdue(Write::committed(2).of_bytes(6));
        let third = bench.send(Write::committed(3).of_bytes(4));
        assert!(!third.is_admitted(), "nobody is overtaken");
        let clock = bench.spawn(|bench| {
            bench.queue.expire(over());
        });
        third.wait_admitted();
        assert_eq!(second.wait(), Outcome::Expired);
        join(clock);
        let writer = bench.spawn_writer(groups_of(3), &[]);
        assert!(first.wait().is_done());
        assert!(third.wait().is_done());
        bench.close(writer);
    });
}

/// A deadline passes while a lost transaction is carried out again: nothing that started is withdrawn.
#[test]
fn a_deadline_does_not_reach_a_command_that_is_carried_out_again() {
    explore("a_deadline_does_not_reach_a_command_that_is_carried_out_again", || {
        let bench = Bench::new(3);
        let first = bench.send_overdue(Write::durable(1));
        let culprit = bench.send(Write::new(2, Deed::Lose, Committed));
        let third = bench.send_overdue(Write::durable(3));
        let writer = bench.spawn_writer(groups_of(3), &[]);
        let clock = bench.spawn(|bench| {
            bench.queue.expire(over());
        });
        assert!(matches!(culprit.wait(), Outcome::Failed));
        for outcome in [first.wait(), third.wait()] {
            assert!(outcome.is_done() || outcome == Outcome::Expired, "{outcome:?}");
        }
        join(clock);
        bench.close(writer);
    });
}

/// A deadline that is over is noticed while the writer dies or the store is abandoned.
#[test]
fn a_deadline_and_the_end_of_the_engine_give_one_answer() {
    let mut exploration = Exploration::new("a_deadline_and_the_end_of_the_engine_give_one_answer");
    for (case, script) in [
        ("the writer panics", vec![(Step::Begin, 0, Fault::Panic)]),
        ("COMMIT is unknown", vec![(Step::Commit, 0, Fault::FatalButDone)]),
        ("BEGIN is refused", vec![(Step::Begin, 0, Fault::Refused)]),
        ("COMMIT is rolled back", vec![(Step::Commit, 0, Fault::NotApplied)]),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let first = bench.send_overdue(Write::committed(1));
            let second = bench.send_overdue(Write::committed(2));
            let writer = bench.spawn_writer(groups_of(2), &script);
            let clock = bench.spawn(|bench| {
                bench.queue.expire(over());
            });
            first.wait();
            second.wait();
            join(clock);
            bench.queue.close();
            let _ = join(writer);
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// A future that is dropped after its command was admitted does not cancel it.
#[test]
fn a_dropped_answer_cancels_nothing() {
    explore("a_dropped_answer_cancels_nothing", || {
        let bench = Bench::new(2);
        let writer = bench.spawn_writer(groups_of(2), &[]);
        let first = bench.send(Write::committed(1));
        let number = first.number;
        first.wait_admitted();
        drop(first);
        bench.queue.leave(number);
        let second = bench.send(Write::durable(2));
        assert!(second.wait().is_done());
        bench.close(writer);
        assert_eq!(bench.disk.marks().committed, 2, "what was admitted was carried out");
    });
}

/// A sender that goes away while it waits for room leaves, unless it was admitted at that very moment; who
/// waits behind it moves up either way.
#[test]
fn a_sender_that_leaves_lets_those_behind_it_pass() {
    explore("a_sender_that_leaves_lets_those_behind_it_pass", || {
        let bench = Bench::with_limits(3, 10);
        let first = bench.send(Write::committed(1).of_bytes(6));
        let second = bench.send(Write::committed(2).of_bytes(6));
        let third = bench.send(Write::committed(3).of_bytes(4));
        let writer = bench.spawn_writer(groups_of(1), &[]);
        let leaver = bench.spawn(move |bench| {
            let number = second.number;
            second.poll_admitted_elsewhere();
            drop(second);
            bench.queue.leave(number);
        });
        third.wait_admitted();
        assert!(third.wait().is_done());
        assert!(first.wait().is_done());
        join(leaver);
        bench.close(writer);
        assert!((2..=3).contains(&bench.disk.marks().committed));
    });
}

/// Leaving without a writer: the one behind is admitted by the leaving alone.
#[test]
fn leaving_admits_the_next_one() {
    explore("leaving_admits_the_next_one", || {
        let bench = Bench::with_limits(3, 10);
        let first = bench.send(Write::committed(1).of_bytes(6));
        let second = bench.send(Write::committed(2).of_bytes(6));
        let third = bench.send(Write::committed(3).of_bytes(4));
        let leaver = bench.spawn(move |bench| bench.queue.leave(second.number));
        third.wait_admitted();
        join(leaver);
        let writer = bench.spawn_writer(groups_of(3), &[]);
        assert!(third.wait().is_done());
        assert!(first.wait().is_done());
        bench.close(writer);
        assert_eq!(bench.disk.marks().committed, 2, "what left was not carried out");
    });
}

/// `Try` either enters at once or says that there is no room; it never waits and never overtakes.
#[test]
fn try_enters_or_is_refused_at_once() {
    explore("try_enters_or_is_refused_at_once", || {
        let bench = Bench::new(1);
        let writer = bench.spawn_writer(groups_of(1), &[]);
        let other = bench.spawn(|bench| match bench.try_enter(Write::durable(3)) {
            Ok(sent) => {
                assert!(sent.is_admitted());
                assert!(sent.wait().is_done());
            }
            Err(refusal) => assert!(matches!(refusal, Refusal::Overloaded), "{refusal:?}"),
        });
        let first = bench.send(Write::committed(1));
        let second = bench.send(Write::committed(2));
        assert!(second.wait().is_done());
        assert!(first.wait().is_done());
        join(other);
        bench.close(writer);
    });
}

/// Larger than the whole queue: refused, because waiting would never end.
#[test]
fn what_never_fits_is_refused() {
    explore("what_never_fits_is_refused", || {
        let bench = Bench::with_limits(1, 10);
        let writer = bench.spawn_writer(groups_of(1), &[]);
        let too_large = bench.enter(Write::committed(1).of_bytes(11), None).err();
        assert!(matches!(too_large, Some(Refusal::TooLarge { bytes: 11, limit: 10 })));
        assert!(bench.send(Write::committed(2).of_bytes(10)).wait().is_done());
        bench.close(writer);
    });
}

/// Close, abandon or stop comes while one sender is served and another waits for room.
#[test]
fn the_end_in_a_full_queue_answers_everyone_once() {
    let mut exploration = Exploration::new("the_end_in_a_full_queue_answers_everyone_once");
    for end in ["close", "abandon", "stop", "close, then abandon"] {
        exploration.case(end, move || {
            let bench = Bench::new(1);
            let writer = bench.spawn_writer(groups_of(1), &[]);
            let ender = bench.spawn(move |bench| match end {
                "close" => bench.queue.close(),
                "abandon" => bench.queue.abandon(),
                "stop" => bench.queue.stop("stopped from outside"),
                _ => {
                    bench.queue.close();
                    bench.queue.abandon();
                }
            });
            let allowed = if end == "stop" { Outcome::Stopped } else { Outcome::Closed };
            let first = bench.enter(Write::committed(1), None).ok();
            let second = bench.enter(Write::durable(2), None).ok();
            for sent in [second, first].into_iter().flatten() {
                let outcome = sent.wait();
                assert!(outcome.is_done() || outcome == allowed, "{outcome:?}");
            }
            join(ender);
            assert_eq!(join(writer), Ok(()));
            match bench.enter(Write::committed(3), None).err() {
                Some(Refusal::Closed) => assert_ne!(end, "stop"),
                Some(Refusal::Stopped(reason)) => assert_eq!((end, reason), ("stop", "stopped from outside")),
                other => panic!("entered after the end, or {other:?}"),
            }
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}
