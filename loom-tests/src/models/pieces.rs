//! Bulk work in pieces: one answer when all of it is done, and others are served in between.
//!
//! The judge knows which pieces are in the log. It fails where one is missing, or there twice, or where an answer
//! speaks of more of them or of fewer.

use crate::bench::{Bench, groups_of, hurried_groups_of, join, over};
use crate::command::{Deed, Write};
use crate::explore::{Exploration, explore};
use crate::judge::{Outcome, assert_heard};
use crate::model_storage::{Fault, Line, Step, assert_struck};
use crate::protocol::level::AckLevel::{Committed, Durable};
use crate::protocol::queue::Depth;
use crate::protocol::work::Refusal;

/// A bulk command and small ones before and behind it, in groups of every shape: each has one answer when all of
/// it is on the disk as far as it was promised.
#[test]
fn bulk_work_is_answered_once_when_all_its_pieces_are_safe() {
    let mut exploration = Exploration::new("bulk_work_is_answered_once_when_all_its_pieces_are_safe");
    for (deed, level) in [
        (Deed::Insert, Committed),
        (Deed::Insert, Durable),
        (Deed::Delete, Committed),
        (Deed::DeleteNothing, Committed),
    ] {
        for (shape, limits) in [("groups of two", groups_of(2)), ("no time", hurried_groups_of(3))] {
            exploration.case(&format!("{level:?} {deed:?}, {shape}"), move || {
                let bench = Bench::new(3);
                let writer = bench.spawn_writer(limits, &[]);
                let before = bench.send(Write::committed(1));
                let bulk = bench.send(Write::new(2, deed, level).in_pieces(3));
                let behind = bench.send(Write::committed(3));
                assert!(behind.wait().is_done());
                assert!(bulk.wait().is_done());
                assert!(before.expect_answered("it came before the bulk work").is_done());
                assert_empty(&bench);
                bench.close(writer);
            });
        }
    }
    exploration.finish();
}

/// Each group does one piece and whatever else has come, also when its time is up: the small ones are answered
/// long before the bulk work.
#[test]
fn small_commands_are_answered_while_bulk_work_goes_on() {
    let mut exploration = Exploration::new("small_commands_are_answered_while_bulk_work_goes_on");
    for (case, limits) in [("groups of one", groups_of(1)), ("no time", hurried_groups_of(3))] {
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let bulk = bench.send(Write::committed(1).in_pieces(4));
            let second = bench.send(Write::committed(2));
            let third = bench.send(Write::durable(3));
            let writer = bench.spawn_writer(limits, &[]);
            assert!(bulk.wait().is_done());
            assert!(third.expect_answered("three pieces came behind it").is_done());
            assert!(second.expect_answered("three pieces came behind it").is_done());
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// A second sender's command comes at any moment of the bulk work.
#[test]
fn a_small_command_comes_while_bulk_work_goes_on() {
    explore("a_small_command_comes_while_bulk_work_goes_on", || {
        let bench = Bench::new(3);
        let bulk = bench.send(Write::committed(1).in_pieces(3));
        let writer = bench.spawn_writer(groups_of(2), &[]);
        let other = bench.spawn(|bench| {
            let small = bench.send(Write::new(2, Deed::DeleteNothing, Committed));
            assert!(small.wait().is_done());
        });
        assert!(bulk.wait().is_done());
        join(other);
        bench.close(writer);
    });
}

/// A piece of a durable command shares its group with weaker commands: no reader sees that group before its sync.
#[test]
fn durable_bulk_work_is_durable_beside_weaker_commands() {
    explore("durable_bulk_work_is_durable_beside_weaker_commands", || {
        let bench = Bench::new(2);
        let bulk = bench.send(Write::durable(1).in_pieces(2));
        let small = bench.send(Write::committed(2));
        let reader = bench.spawn(|bench| {
            let marks = bench.disk.marks();
            assert!(marks.committed <= marks.synced, "{marks:?}");
        });
        let writer = bench.spawn_writer(groups_of(1), &[]);
        assert!(bulk.wait().is_done());
        assert!(small.expect_answered("the second piece came behind it").is_done());
        join(reader);
        bench.close(writer);
    });
}

/// Of two bulk commands the first is carried out to its end before the second goes on.
#[test]
fn bulk_work_goes_on_in_its_order() {
    explore("bulk_work_goes_on_in_its_order", || {
        let bench = Bench::new(2);
        let first = bench.send(Write::committed(1).in_pieces(3));
        let second = bench.send(Write::durable(2).in_pieces(2));
        let writer = bench.spawn_writer(groups_of(2), &[]);
        assert!(second.wait().is_done());
        assert!(first.expect_answered("it came first").is_done());
        bench.close(writer);
    });
}

/// Close comes at any moment: what was begun is carried out to its end, also by a writer that is stalled in
/// between.
#[test]
fn close_carries_bulk_work_out_to_its_end() {
    let mut exploration = Exploration::new("close_carries_bulk_work_out_to_its_end");
    let stalled: [Line; 2] = [(Step::Upkeep, 1, Fault::Stalled), (Step::Upkeep, 2, Fault::Stalled)];
    for (case, script) in [("ready", &[][..]), ("stalled", &stalled)] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(groups_of(2), &script);
            let bulk = bench.send(Write::durable(1).in_pieces(3));
            let second = bench.send(Write::committed(2).in_pieces(2));
            bench.queue.close();
            assert!(bulk.wait().is_done());
            assert!(second.wait().is_done());
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// The store is given up at any moment of the bulk work: it is told how much is there, if anything is, and what
/// was told stays true. That much is durable, if the command must be or deletes. No piece is begun any more.
#[test]
fn giving_the_store_up_ends_bulk_work_between_two_pieces() {
    let mut exploration = Exploration::new("giving_the_store_up_ends_bulk_work_between_two_pieces");
    for (end, refusal, id) in [("abandon", Outcome::Closed, 1), ("stop", Outcome::Stopped, 11)] {
        for (deed, level) in [(Deed::Insert, Durable), (Deed::Delete, Committed)] {
            exploration.case(&format!("{end}, {deed:?}"), move || {
                let bench = Bench::new(2);
                let bulk = bench.send(Write::new(id, deed, level).in_pieces(3));
                let second = bench.send(Write::committed(id + 1).in_pieces(2));
                let writer = bench.spawn_writer(groups_of(2), &[]);
                match end {
                    "abandon" => bench.queue.abandon(),
                    _ => bench.queue.stop("stopped from outside"),
                }
                let committed = bench.disk.marks().committed;
                for sent in [bulk, second] {
                    let outcome = sent.wait();
                    let is_partly = matches!(outcome, Outcome::Partly(_));
                    assert!(outcome.is_done() || is_partly || outcome == refusal, "{outcome:?}");
                }
                assert_eq!(join(writer), Ok(()));
                let later = bench.disk.records(bench.disk.marks().committed).split_off(committed);
                let pieces = later.iter().filter(|record| record.written.is_some_and(|one| one.id == id));
                assert!(pieces.count() <= 1, "only the group in progress is carried out: {later:?}");
                assert_empty(&bench);
                bench.judge.adjourn();
            });
        }
        for (id, outcome) in
            [(id, refusal), (id, Outcome::Partly(1)), (id, Outcome::Partly(2)), (id + 1, Outcome::Partly(1))]
        {
            assert_heard(id, outcome);
        }
    }
    exploration.finish();
}

/// The writer may not write for longer than anyone waits, and bulk work is half done: whoever gives the store
/// up then is not kept waiting.
#[test]
fn a_stalled_writer_hears_that_bulk_work_is_given_up() {
    let mut exploration = Exploration::new("a_stalled_writer_hears_that_bulk_work_is_given_up");
    // It wakes for the close and for the end, and asks once more each time.
    let stalled: Vec<Line> = (1..10).map(|nth| (Step::Upkeep, nth, Fault::StalledForLong)).collect();
    for end in ["abandon", "close, then abandon", "stop"] {
        let stalled = stalled.clone();
        exploration.case(end, move || {
            let bench = Bench::new(2);
            let bulk = bench.send(Write::committed(1).in_pieces(2));
            let small = bench.send(Write::committed(2));
            let writer = bench.spawn_writer(groups_of(2), &stalled);
            assert!(small.wait().is_done());
            match end {
                "abandon" => bench.queue.abandon(),
                "stop" => bench.queue.stop("stopped from outside"),
                _ => {
                    bench.queue.close();
                    bench.queue.abandon();
                }
            }
            assert_eq!(bulk.wait(), Outcome::Partly(1), "nobody allowed the writer to go on");
            assert_eq!(join(writer), Ok(()));
            bench.judge.adjourn();
        });
    }
    assert_struck(&[(Step::Upkeep, Fault::StalledForLong)]);
    exploration.finish();
}

/// A transaction is lost with a piece in it, by the bulk work or by another, or its COMMIT is rolled back: the
/// next try does the same piece, and a failure tells how much is there.
#[test]
fn a_lost_transaction_neither_skips_a_piece_nor_repeats_one() {
    let mut exploration = Exploration::new("a_lost_transaction_neither_skips_a_piece_nor_repeats_one");
    let fine = |id| Write::committed(id);
    let culprit = |id| Write::new(id, Deed::Lose, Committed);
    let bulk = |deed| Write::new(1, deed, Durable).in_pieces(3);
    let rolled_back = |nth| vec![(Step::Commit, nth, Fault::NotApplied)];
    let lost_run = vec![(Step::ApplyTogether, 0, Fault::Lost)];
    for (case, writes, commands, script, outcome) in [
        ("the first piece", [bulk(Deed::Insert), culprit(2), fine(3)], 3, vec![], None),
        ("the second piece", [bulk(Deed::Insert), fine(2), culprit(3)], 1, vec![], None),
        ("by the last piece", [bulk(Deed::Lose), fine(2), fine(3)], 1, vec![], Some(Outcome::Partly(2))),
        ("the last piece fails", [bulk(Deed::Fail), fine(2), fine(3)], 1, vec![], Some(Outcome::Partly(2))),
        (
            "a run's, before a piece",
            [bulk(Deed::Insert), fine(2).joining(), fine(3).joining()],
            3,
            lost_run,
            None,
        ),
        ("COMMIT of the first piece", [bulk(Deed::Insert), fine(2), fine(3)], 3, rolled_back(0), None),
        ("COMMIT of the second piece", [bulk(Deed::Insert), fine(2), fine(3)], 1, rolled_back(1), None),
        (
            "COMMIT of the last piece, alone",
            [bulk(Deed::Insert), fine(2), fine(3)],
            3,
            rolled_back(2),
            Some(Outcome::Partly(2)),
        ),
        (
            "BEGIN of the second piece",
            [bulk(Deed::Insert), fine(2), fine(3)],
            3,
            vec![(Step::Begin, 1, Fault::Refused)],
            Some(Outcome::Partly(1)),
        ),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let [bulk, second, third] = writes.map(|write| bench.send(write));
            let writer = bench.spawn_writer(groups_of(commands), &script);
            for (sent, write) in [(second, writes[1]), (third, writes[2])] {
                let told = sent.wait();
                assert_eq!(told.is_done(), write.deed == Deed::Insert, "{write:?} was told {told:?}");
            }
            let told = bulk.wait();
            match outcome {
                Some(outcome) => assert_eq!(told, outcome),
                None => assert!(told.is_done(), "{told:?}"),
            }
            bench.close(writer);
        });
    }
    assert_struck(&[(Step::Commit, Fault::NotApplied), (Step::Begin, Fault::Refused)]);
    exploration.finish();
}

/// Commands that take the transaction with them come in every group: the bulk work still gets its turn.
#[test]
fn culprits_do_not_keep_bulk_work_from_its_end() {
    explore("culprits_do_not_keep_bulk_work_from_its_end", || {
        let bench = Bench::new(3);
        let bulk = bench.send(Write::committed(1).in_pieces(2));
        let culprit = bench.send(Write::new(2, Deed::Lose, Committed));
        let behind = bench.send(Write::new(3, Deed::Lose, Durable));
        let writer = bench.spawn_writer(groups_of(1), &[]);
        assert_eq!(behind.wait(), Outcome::Failed);
        assert!(bulk.expect_answered("its second piece was due in the group before").is_done());
        assert_eq!(culprit.expect_answered("a later one has"), Outcome::Failed);
        bench.close(writer);
    });
}

/// The writer dies at any step while bulk work is in its hands or waits for its next piece.
#[test]
fn a_writer_that_dies_amid_bulk_work_leaves_no_caller_without_an_answer() {
    let mut exploration =
        Exploration::new("a_writer_that_dies_amid_bulk_work_leaves_no_caller_without_an_answer");
    let faults = [
        (Step::Upkeep, Fault::Fatal),
        (Step::Begin, Fault::Fatal),
        (Step::Apply, Fault::Panic),
        (Step::Commit, Fault::Fatal),
        (Step::Commit, Fault::FatalButDone),
        (Step::Commit, Fault::PanicAfter),
        (Step::Sync, Fault::Fatal),
        (Step::Report, Fault::Panic),
    ];
    for (step, fault) in faults {
        for nth in [0, 1, 2] {
            exploration.case(&format!("{fault:?} at {step:?} {nth}"), move || {
                let bench = Bench::new(3);
                let writer = bench.spawn_writer(groups_of(1), &[(step, nth, fault)]);
                let sent = [
                    Write::new(1, Deed::DeleteNothing, Committed).in_pieces(3),
                    Write::committed(2).in_pieces(2),
                    Write::new(3, Deed::DeleteNothing, Committed),
                ];
                for sent in sent.map(|write| bench.enter(write, None)) {
                    match sent {
                        Ok(sent) => drop(sent.wait()),
                        Err(refusal) => assert!(matches!(refusal, Refusal::Stopped(_)), "{refusal:?}"),
                    }
                }
                bench.queue.close();
                let _ = join(writer);
                assert_empty(&bench);
                bench.judge.adjourn();
            });
        }
    }
    assert_struck(&faults);
    assert_heard(1, Outcome::Unknown);
    exploration.finish();
}

/// A command whose answer tells of all before it waits for bulk work, and small ones pass both. Whatever becomes
/// of the transactions, its answer comes after that of the bulk work.
#[test]
fn a_command_that_waits_for_all_before_it_does_not_pass_bulk_work() {
    let mut exploration = Exploration::new("a_command_that_waits_for_all_before_it_does_not_pass_bulk_work");
    let bulk = |deed| Write::new(1, deed, Committed).in_pieces(3);
    let lost = vec![(Step::ApplyTogether, 0, Fault::Lost)];
    for (case, bulk, commands, script) in [
        ("one group", bulk(Deed::Insert), 3, vec![]),
        ("groups of one", bulk(Deed::Insert), 1, vec![]),
        ("the last piece loses the transaction", bulk(Deed::Lose), 2, vec![]),
        ("COMMIT of the first piece", bulk(Deed::Insert), 3, vec![(Step::Commit, 0, Fault::NotApplied)]),
        ("COMMIT of the second piece", bulk(Deed::Insert), 1, vec![(Step::Commit, 1, Fault::NotApplied)]),
        ("a lost run", bulk(Deed::Insert), 4, lost),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(5);
            let bulk = bench.send(bulk);
            let flush = bench.send(Write::new(2, Deed::DeleteNothing, Durable).waiting());
            let small = [3, 4].map(|id| bench.send(Write::committed(id).joining()));
            let writer = bench.spawn_writer(groups_of(commands), &script);
            assert!(flush.wait().is_done());
            bulk.expect_answered("it came before one that waits for all before it");
            for small in small {
                assert!(small.expect_answered("it need not wait").is_done());
            }
            assert_empty(&bench);
            bench.close(writer);
        });
    }
    assert_struck(&[(Step::ApplyTogether, Fault::Lost), (Step::Commit, Fault::NotApplied)]);
    exploration.finish();
}

/// A deadline does not reach bulk work that has started, though it waits for its next piece.
#[test]
fn a_deadline_does_not_reach_unfinished_work() {
    explore("a_deadline_does_not_reach_unfinished_work", || {
        let bench = Bench::new(2);
        let bulk = bench.send_overdue(Write::committed(1).in_pieces(3));
        let writer = bench.spawn_writer(groups_of(1), &[]);
        let clock = bench.spawn(|bench| {
            bench.queue.expire(over());
        });
        let outcome = bulk.wait();
        assert!(outcome.is_done() || outcome == Outcome::Expired, "{outcome:?}");
        join(clock);
        assert_empty(&bench);
        bench.close(writer);
    });
}

/// Unfinished work is in the memory, so it counts against the bounds: who comes then and is too large
/// waits, and is admitted when the bulk work has ended.
#[test]
fn unfinished_work_keeps_its_room_until_it_has_ended() {
    let mut exploration = Exploration::new("unfinished_work_keeps_its_room_until_it_has_ended");
    for (case, commands, bytes, size) in [("bytes", 9, 10, 6), ("commands", 1, 100, 1)] {
        exploration.case(case, move || {
            let bench = Bench::with_limits(commands, bytes);
            let bulk = bench.send(Write::committed(1).of_bytes(size).in_pieces(3));
            let small = bench.send(Write::committed(2).of_bytes(size.min(4)));
            let writer = bench.spawn_writer(groups_of(2), &[]);
            // Its group, or the one before, kept the first piece.
            assert!(small.wait().is_done());
            let third = bench.send(Write::committed(3).of_bytes(size));
            if third.is_admitted() {
                assert_eq!(bulk.pieces_committed(), 3, "there is no room beside the bulk work");
            }
            assert!(bulk.wait().is_done());
            third.wait_admitted();
            assert!(third.wait().is_done());
            assert_empty(&bench);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// What is unfinished is seen in the queue's depth.
#[test]
fn unfinished_work_is_seen_in_the_queue() {
    let mut exploration = Exploration::new("unfinished_work_is_seen_in_the_queue");
    let stalled: Vec<Line> = (1..10).map(|nth| (Step::Upkeep, nth, Fault::StalledForLong)).collect();
    exploration.case("only", move || {
        let bench = Bench::with_limits(3, 10);
        let bulk = bench.send(Write::committed(1).of_bytes(7).in_pieces(2));
        let small = bench.send(Write::committed(2));
        let writer = bench.spawn_writer(groups_of(2), &stalled);
        assert!(small.wait().is_done());
        let Depth { commands, bytes, waiting } = bench.queue.depth();
        assert_eq!((commands, bytes, waiting), (1, 7, 0));
        bench.queue.abandon();
        assert_eq!(bulk.wait(), Outcome::Partly(1));
        assert_empty(&bench);
        assert_eq!(join(writer), Ok(()));
        bench.judge.adjourn();
    });
    exploration.finish();
}

fn assert_empty(bench: &Bench) {
    let Depth { commands, bytes, waiting } = bench.queue.depth();
    assert_eq!((commands, bytes, waiting), (0, 0, 0), "everything was given back");
}
