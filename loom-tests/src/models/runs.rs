//! Runs: neighbours that are carried out together are answered as if each had been carried out by itself.

use crate::bench::{Bench, groups_of, hurried_groups_of, join, over};
use crate::command::{Deed, Write};
use crate::explore::{Exploration, explore};
use crate::judge::Outcome;
use crate::model_storage::{Fault, Line, Step, assert_struck};
use crate::protocol::level::AckLevel::{self, Committed, Durable};

fn joining(id: u8, deed: Deed, level: AckLevel) -> Write {
    Write::new(id, deed, level).joining()
}

fn insert(id: u8) -> Write {
    joining(id, Deed::Insert, Committed)
}

/// One sender's commands race with the writer, so that a run has one, two or three of them, and ends at one that
/// stands for itself. The judge compares each receipt with the record in the log.
#[test]
fn a_run_is_answered_in_order_and_its_sequences_grow() {
    let mut exploration = Exploration::new("a_run_is_answered_in_order_and_its_sequences_grow");
    let lone = |id| Write::new(id, Deed::Insert, Committed);
    for (case, writes, limits) in [
        ("all join", [insert(1), insert(2), insert(3)], groups_of(3)),
        ("groups of two", [insert(1), insert(2), insert(3)], groups_of(2)),
        ("no time", [insert(1), insert(2), insert(3)], hurried_groups_of(3)),
        ("one fails", [insert(1), joining(2, Deed::Fail, Committed), insert(3)], groups_of(3)),
        ("the first stands for itself", [lone(1), insert(2), insert(3)], groups_of(3)),
        ("the second stands for itself", [insert(1), lone(2), insert(3)], groups_of(3)),
        ("the last stands for itself, no time", [insert(1), insert(2), lone(3)], hurried_groups_of(3)),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let writer = bench.spawn_writer(limits, &[]);
            let [first, second, third] = writes.map(|write| bench.send(write));
            assert!(third.wait().is_done());
            let outcome = second.expect_answered("a later one has");
            assert_eq!(outcome.is_done(), writes[1].deed == Deed::Insert, "{outcome:?}");
            assert!(first.expect_answered("a later one has").is_done());
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// A run is durable as a whole before one of it is answered that has to be, wherever it stands.
#[test]
fn a_durable_command_of_a_run_waits_for_its_sync() {
    let mut exploration = Exploration::new("a_durable_command_of_a_run_waits_for_its_sync");
    for (deed, level) in
        [(Deed::Insert, Durable), (Deed::Delete, Committed), (Deed::DeleteNothing, Committed)]
    {
        for place in 0..3u8 {
            exploration.case(&format!("{deed:?} at {place}"), move || {
                let bench = Bench::new(3);
                let sent = [0u8, 1, 2]
                    .map(|id| bench.send(if id == place { joining(id, deed, level) } else { insert(id) }));
                let writer = bench.spawn_writer(groups_of(3), &[]);
                for sent in sent {
                    assert!(sent.wait().is_done());
                }
                bench.close(writer);
            });
        }
    }
    exploration.finish();
}

/// A run loses the transaction, by a command of it or by nobody's fault: all of the group are carried out one
/// by one, whatever strikes then, and each is answered as if it had stood for itself from the start. The
/// storage objects to a command that comes in a run again.
#[test]
fn a_lost_run_is_carried_out_command_by_command() {
    let mut exploration = Exploration::new("a_lost_run_is_carried_out_command_by_command");
    let lost = (Step::ApplyTogether, 0, Fault::Lost);
    let culprit = |id| joining(id, Deed::Lose, Committed);
    let fails = |id| joining(id, Deed::Fail, Committed);
    let lone = |id, deed| Write::new(id, deed, Durable);
    for (case, writes, script) in [
        ("nobody's fault", [insert(1), insert(2), insert(3)], &[lost][..]),
        ("the first", [culprit(1), insert(2), insert(3)], &[]),
        ("the last", [insert(1), insert(2), culprit(3)], &[]),
        ("two", [culprit(1), insert(2), culprit(3)], &[]),
        ("one that failed", [fails(1), insert(2), culprit(3)], &[]),
        ("behind one that is done", [lone(1, Deed::Insert), insert(2), insert(3)], &[lost]),
        ("behind one that failed", [lone(1, Deed::Fail), insert(2), culprit(3)], &[]),
        ("before one in the hand", [insert(1), insert(2), lone(3, Deed::Insert)], &[lost]),
        ("before a culprit in the hand", [insert(1), insert(2), lone(3, Deed::Lose)], &[lost]),
        ("one before a culprit", [insert(1), insert(2), lone(3, Deed::Lose)], &[]),
        ("COMMIT", [insert(1), insert(2), insert(3)], &[(Step::Commit, 0, Fault::NotApplied)]),
        ("then COMMIT", [insert(1), insert(2), insert(3)], &[lost, (Step::Commit, 0, Fault::NotApplied)]),
        ("then BEGIN", [insert(1), insert(2), insert(3)], &[lost, (Step::Begin, 1, Fault::Refused)]),
    ] {
        let script: Vec<Line> = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let [first, second, third] = writes.map(|write| bench.send(write));
            let writer = bench.spawn_writer(groups_of(3), &script);
            let outcomes = [
                third.wait(),
                second.expect_answered("a later one has"),
                first.expect_answered("a later one has"),
            ];
            for (outcome, write) in outcomes.into_iter().rev().zip(writes) {
                let expected = match write.deed {
                    Deed::Insert if script.iter().any(|line| line.2 == Fault::Refused) => Outcome::Refused,
                    Deed::Insert => {
                        assert!(outcome.is_done(), "{write:?} was told {outcome:?}");
                        continue;
                    }
                    _ => Outcome::Failed,
                };
                assert_eq!(outcome, expected, "{write:?}");
            }
            bench.close(writer);
        });
    }
    assert_struck(&[(Step::ApplyTogether, Fault::Lost), (Step::Commit, Fault::NotApplied)]);
    exploration.finish();
}

/// Deadlines pass while a run gathers, is carried out, or is carried out again: who has started is answered by
/// the group, who has not never ran.
#[test]
fn a_deadline_reaches_a_command_until_its_run_has_it() {
    let mut exploration = Exploration::new("a_deadline_reaches_a_command_until_its_run_has_it");
    for (case, script) in [("one run", &[][..]), ("a lost run", &[(Step::ApplyTogether, 0, Fault::Lost)])] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let first = bench.send(insert(1));
            let second = bench.send_overdue(insert(2));
            let third = bench.send_overdue(joining(3, Deed::Insert, Durable));
            let writer = bench.spawn_writer(groups_of(3), &script);
            let clock = bench.spawn(|bench| {
                bench.queue.expire(over());
            });
            for outcome in [third.wait(), second.wait()] {
                assert!(outcome.is_done() || outcome == Outcome::Expired, "{outcome:?}");
            }
            assert!(first.wait().is_done());
            join(clock);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// The store is given up while a run gathers: who is in it is carried out, who is not is refused.
#[test]
fn the_end_of_the_store_meets_a_run_that_gathers() {
    let mut exploration = Exploration::new("the_end_of_the_store_meets_a_run_that_gathers");
    for (end, refusal) in [("abandon", Outcome::Closed), ("stop", Outcome::Stopped)] {
        exploration.case(end, move || {
            let bench = Bench::new(3);
            let sent = [1, 2, 3].map(|id| bench.send(insert(id)));
            let writer = bench.spawn_writer(groups_of(3), &[]);
            match end {
                "abandon" => bench.queue.abandon(),
                _ => bench.queue.stop("stopped from outside"),
            }
            for sent in sent {
                let outcome = sent.wait();
                assert!(outcome.is_done() || outcome == refusal, "{outcome:?}");
            }
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// The writer dies in a run, or in what follows a lost one.
#[test]
fn a_writer_that_dies_in_a_run_leaves_no_caller_without_an_answer() {
    let mut exploration = Exploration::new("a_writer_that_dies_in_a_run_leaves_no_caller_without_an_answer");
    let lost = (Step::ApplyTogether, 0, Fault::Lost);
    for (case, script) in [
        ("in the run", &[(Step::ApplyTogether, 0, Fault::Panic)][..]),
        ("in COMMIT", &[(Step::Commit, 0, Fault::FatalButDone)]),
        ("in BEGIN again", &[lost, (Step::Begin, 1, Fault::Fatal)]),
        ("in the second again", &[lost, (Step::Apply, 1, Fault::Panic)]),
        ("in COMMIT again", &[lost, (Step::Commit, 0, Fault::Fatal)]),
    ] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let sent = [1, 2, 3].map(|id| bench.send(joining(id, Deed::Insert, Durable)));
            let writer = bench.spawn_writer(groups_of(3), &script);
            for sent in sent {
                assert_eq!(sent.wait(), Outcome::Unknown);
            }
            assert!(join(writer).is_err());
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// What comes while a run is carried out is not part of it, and keeps its place behind it.
#[test]
fn two_senders_meet_in_runs() {
    explore("two_senders_meet_in_runs", || {
        let bench = Bench::new(2);
        let writer = bench.spawn_writer(groups_of(3), &[]);
        let other = bench.spawn(|bench| {
            assert!(bench.send(insert(3)).wait().is_done());
        });
        let first = bench.send(insert(1));
        let second = bench.send(joining(2, Deed::DeleteNothing, Committed));
        assert!(second.wait().is_done());
        assert!(first.expect_answered("a later one of the same sender has").is_done());
        join(other);
        bench.close(writer);
    });
}
