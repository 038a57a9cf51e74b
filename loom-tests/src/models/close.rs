//! Close: everything admitted is answered, the writer's loop returns, and nothing runs any more.

use crate::bench::{Bench, groups_of, hurried_groups_of, join, over};
use crate::command::Write;
use crate::explore::{Exploration, explore};
use crate::judge::Outcome;
use crate::model_storage::{Fault, Line, Step, assert_struck};
use crate::protocol::work::Refusal;

/// Two senders race with the close. What was accepted and admitted is carried out; who still waited for room
/// is told that the store is closed; the door stays shut.
#[test]
fn close_carries_out_what_was_admitted_and_refuses_the_rest() {
    let mut exploration = Exploration::new("close_carries_out_what_was_admitted_and_refuses_the_rest");
    for room in [1, 2] {
        exploration.case(&format!("room for {room}"), move || {
            let bench = Bench::new(room);
            let writer = bench.spawn_writer(groups_of(2), &[]);
            let send = |bench: &Bench, id| match bench.enter(Write::committed(id), None) {
                Ok(sent) => {
                    let admitted = sent.is_admitted();
                    let outcome = sent.wait();
                    let fine = outcome.is_done() || (!admitted && outcome == Outcome::Closed);
                    // It may have been refused in the line, which counts as an answer, before the look.
                    assert!(fine || outcome == Outcome::Closed, "{outcome:?}");
                }
                Err(refusal) => assert!(matches!(refusal, Refusal::Closed), "{refusal:?}"),
            };
            let other = bench.spawn(move |bench| {
                send(&bench, 2);
            });
            let first = bench.send(Write::durable(1));
            bench.queue.close();
            assert!(matches!(bench.enter(Write::durable(9), None), Err(Refusal::Closed)));
            let outcome = first.wait();
            assert!(outcome.is_done() || (room == 1 && outcome == Outcome::Closed), "{outcome:?}");
            join(other);
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// With room for all, a command that was accepted before the close is carried out, also when the group's time
/// is up and it stays in the hand, or the writer is stalled.
#[test]
fn close_leaves_nothing_admitted_behind() {
    let mut exploration = Exploration::new("close_leaves_nothing_admitted_behind");
    let stalled: [Line; 2] = [(Step::Upkeep, 1, Fault::Stalled), (Step::Upkeep, 2, Fault::Stalled)];
    let impatient: [Line; 2] = [(Step::Upkeep, 0, Fault::Impatient), (Step::Upkeep, 1, Fault::Impatient)];
    for (case, limits, script) in [
        ("one group", groups_of(3), &[][..]),
        ("groups of one", groups_of(1), &[]),
        ("no time", hurried_groups_of(3), &[]),
        ("stalled", groups_of(1), &stalled),
        ("stalled without time", hurried_groups_of(3), &stalled),
        ("impatient", groups_of(1), &impatient),
    ] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let writer = bench.spawn_writer(limits, &script);
            let sent =
                [Write::committed(1), Write::durable(2), Write::committed(3)].map(|write| bench.send(write));
            bench.queue.close();
            for sent in sent {
                assert!(sent.wait().is_done());
            }
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    assert_struck(&[(Step::Upkeep, Fault::Stalled), (Step::Upkeep, Fault::Impatient)]);
    exploration.finish();
}

/// The loop returns only when nothing is left to answer: afterwards every ticket has its answer.
#[test]
fn the_loop_returns_after_the_last_answer() {
    let mut exploration = Exploration::new("the_loop_returns_after_the_last_answer");
    let stalled: [Line; 1] = [(Step::Upkeep, 1, Fault::Stalled)];
    let failing: [Line; 1] = [(Step::Sync, 0, Fault::Fatal)];
    for (case, limits, script, abandon) in [
        ("close", groups_of(1), &[][..], false),
        ("close, no time", hurried_groups_of(2), &[], false),
        ("close, stalled", hurried_groups_of(2), &stalled, false),
        ("abandon", groups_of(2), &[], true),
        ("abandon, no time", hurried_groups_of(2), &stalled, true),
        ("failure", groups_of(1), &failing, false),
    ] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(limits, &script);
            let first = bench.enter(Write::committed(1), None).ok();
            let second = bench.enter(Write::durable(2), None).ok();
            if abandon {
                bench.queue.abandon()
            } else {
                bench.queue.close()
            }
            let _ = join(writer);
            let committed = bench.disk.marks().committed;
            for sent in [first, second].into_iter().flatten() {
                sent.expect_answered("the writer has ended");
            }
            assert_eq!(bench.disk.marks().committed, committed);
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// The last deadline and the close meet while the writer may not write.
#[test]
fn a_deadline_that_empties_a_closing_queue_lets_the_writer_end() {
    let mut exploration = Exploration::new("a_deadline_that_empties_a_closing_queue_lets_the_writer_end");
    let stalled: [Line; 1] = [(Step::Upkeep, 0, Fault::Stalled)];
    for (case, script) in [("ready", &[][..]), ("stalled", &stalled)] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let sent = bench.send_overdue(Write::committed(1));
            let writer = bench.spawn_writer(groups_of(1), &script);
            let clock = bench.spawn(|bench| {
                bench.queue.expire(over());
            });
            bench.queue.close();
            sent.wait();
            join(clock);
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// A writer that has failed waits for the close before it lets go of its files.
#[test]
fn close_is_heard_by_a_writer_that_has_failed() {
    let mut exploration = Exploration::new("close_is_heard_by_a_writer_that_has_failed");
    for abandon in [false, true] {
        exploration.case(if abandon { "abandon" } else { "close" }, move || {
            let bench = Bench::new(1);
            let writer = bench.spawn(|bench| {
                assert!(bench.write(groups_of(1), &[(Step::Begin, 0, Fault::Fatal)]).is_err());
                bench.queue.wait_until_closing();
            });
            if let Ok(sent) = bench.enter(Write::durable(1), None) {
                assert!(matches!(sent.wait(), Outcome::Stopped));
            }
            assert!(matches!(bench.enter(Write::durable(2), None), Err(Refusal::Stopped(_))));
            if abandon {
                bench.queue.abandon()
            } else {
                bench.queue.close()
            }
            join(writer);
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// Two threads close at once, one of them by force.
#[test]
fn closing_twice_is_closing() {
    explore("closing_twice_is_closing", || {
        let bench = Bench::new(1);
        let writer = bench.spawn_writer(groups_of(1), &[]);
        let sent = bench.send(Write::committed(1));
        let other = bench.spawn(|bench| bench.queue.abandon());
        bench.queue.close();
        let outcome = sent.wait();
        assert!(outcome.is_done() || outcome == Outcome::Closed);
        join(other);
        assert_eq!(join(writer), Ok(()));
        bench.judge.adjourn();
    });
}

/// A writer that may not write was asked to close while commands that had run out of their group's time lay in
/// its hand. It did not sleep then, but asked again and again whether it may write, with all the processor's time.
#[test]
fn a_stalled_writer_sleeps_while_it_closes() {
    let mut exploration = Exploration::new("a_stalled_writer_sleeps_while_it_closes");
    // It wakes for the close and for the abandonment, and asks once more each time.
    let stalled: Vec<Line> = (1..10).map(|nth| (Step::Upkeep, nth, Fault::StalledForLong)).collect();
    for (case, limits) in [("in the hand", hurried_groups_of(2)), ("in the line", groups_of(1))] {
        let stalled = stalled.clone();
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let first = bench.send(Write::committed(1));
            let second = bench.send(Write::committed(2));
            let writer = bench.spawn_writer(limits, &stalled);
            assert!(first.wait().is_done());
            bench.queue.close();
            bench.queue.abandon();
            assert_eq!(second.wait(), Outcome::Closed, "nobody allowed the writer to write");
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    assert_struck(&[(Step::Upkeep, Fault::StalledForLong)]);
    exploration.finish();
}

/// The deadline of the last command passed while the writer might not write and the store was closing.
/// Nothing was left to do, but the writer took an empty place in its hand for a command, or slept on until it
/// might write again, and the close waited with it.
#[test]
fn the_last_deadline_ends_a_stalled_writer_that_closes() {
    let mut exploration = Exploration::new("the_last_deadline_ends_a_stalled_writer_that_closes");
    let stalled: Vec<Line> = (1..10).map(|nth| (Step::Upkeep, nth, Fault::StalledForLong)).collect();
    for (case, limits) in [("in the hand", hurried_groups_of(2)), ("in the line", groups_of(1))] {
        let stalled = stalled.clone();
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let first = bench.send(Write::committed(1));
            let second = bench.send_overdue(Write::committed(2));
            let writer = bench.spawn_writer(limits, &stalled);
            let clock = {
                let first = first;
                bench.spawn(move |bench| {
                    assert!(first.wait().is_done());
                    bench.queue.expire(over());
                })
            };
            bench.queue.close();
            let outcome = second.wait();
            assert_eq!(outcome, Outcome::Expired, "nobody allowed the writer to write");
            join(clock);
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    assert_struck(&[(Step::Upkeep, Fault::StalledForLong)]);
    exploration.finish();
}
