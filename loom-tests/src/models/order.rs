//! Order: what one sender sends is applied in its order, and answered in the order of the commits.

use crate::bench::{Bench, groups_of, hurried_groups_of, join};
use crate::command::{Deed, Write};
use crate::explore::{Exploration, explore};
use crate::judge::Outcome;
use crate::model_storage::{Fault, Line, Step};
use crate::protocol::level::AckLevel::{Committed, Durable};

/// Once the last command of one sender is done, all before it have their answers; the log and the
/// sequences have the order of the line. In one group, in two, and in groups that ran out of time.
#[test]
fn one_senders_commands_are_applied_and_answered_in_its_order() {
    let mut exploration = Exploration::new("one_senders_commands_are_applied_and_answered_in_its_order");
    for (case, limits) in [
        ("groups of three", groups_of(3)),
        ("groups of one", groups_of(1)),
        ("groups without time", hurried_groups_of(3)),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(limits, &[]);
            let sent =
                [Write::durable(1), Write::committed(2), Write::durable(3)].map(|write| bench.send(write));
            let [first, second, third] = sent;
            assert!(third.wait().is_done());
            assert!(second.expect_answered("a later one of the same sender has").is_done());
            assert!(first.expect_answered("a later one of the same sender has").is_done());
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// Nobody is woken before all answers of a group are there, but who looks by itself may find the later one: then
/// the earlier one is there as well.
#[test]
fn the_answers_of_a_group_come_in_its_order() {
    explore("the_answers_of_a_group_come_in_its_order", || {
        let bench = Bench::new(2);
        let writer = bench.spawn_writer(groups_of(2), &[]);
        let (first, second) = (bench.send(Write::durable(1)), bench.send(Write::durable(2)));
        assert!(second.wait().is_done());
        assert!(first.expect_answered("a later one of the same group has").is_done());
        bench.close(writer);
    });
}

/// Two senders share a queue with room for one: each still finds its own commands in its order, and the
/// log has the order in which they entered, whoever had to wait.
#[test]
fn two_senders_keep_their_order_in_a_full_queue() {
    explore("two_senders_keep_their_order_in_a_full_queue", || {
        let bench = Bench::new(1);
        let writer = bench.spawn_writer(groups_of(2), &[]);
        let other = bench.spawn(|bench| {
            assert!(bench.send(Write::committed(3)).wait().is_done());
        });
        let first = bench.send(Write::committed(1));
        let second = bench.send(Write::committed(2));
        assert!(second.wait().is_done());
        assert!(first.expect_answered("a later one of the same sender has").is_done());
        join(other);
        bench.close(writer);
    });
}

/// A command that takes the transaction with it makes the others run again; the order stays, and so
/// do their answers.
#[test]
fn order_survives_a_transaction_that_is_lost() {
    let mut exploration = Exploration::new("order_survives_a_transaction_that_is_lost");
    let culprit = |id| Write::new(id, Deed::Lose, Committed);
    let fine = |id| Write::new(id, Deed::Insert, if id == 2 { Durable } else { Committed });
    for (case, deeds, script) in [
        ("the first", [culprit(1), fine(2), fine(3)], &[][..]),
        ("the second", [fine(1), culprit(2), fine(3)], &[]),
        ("the last", [fine(1), fine(2), culprit(3)], &[]),
        ("two", [fine(1), culprit(2), culprit(3)], &[]),
        ("two of the survivors' run", [culprit(1), culprit(2), fine(3)], &[]),
        ("COMMIT", [fine(1), fine(2), fine(3)], &[(Step::Commit, 0, Fault::NotApplied)]),
        (
            "COMMIT of the survivors",
            [fine(1), culprit(2), fine(3)],
            &[(Step::Commit, 0, Fault::NotApplied), (Step::Commit, 1, Fault::NotApplied)],
        ),
        ("BEGIN of the survivors", [fine(1), fine(2), culprit(3)], &[(Step::Begin, 1, Fault::Refused)]),
    ] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let writer = bench.spawn_writer(groups_of(3), &script);
            let [first, second, third] = deeds.map(|write| bench.send(write));
            let outcomes = [
                third.wait(),
                second.expect_answered("a later one has"),
                first.expect_answered("a later one has"),
            ];
            for (outcome, write) in outcomes.into_iter().rev().zip(deeds) {
                match outcome {
                    Outcome::Done(_) => assert_eq!(write.deed, Deed::Insert),
                    Outcome::Failed => assert!(write.deed == Deed::Lose || has(&script, Fault::NotApplied)),
                    Outcome::Refused => assert!(has(&script, Fault::Refused)),
                    other => panic!("{write:?} was told {other:?}"),
                }
            }
            bench.close(writer);
        });
    }
    exploration.finish();
}

fn has(script: &[Line], fault: Fault) -> bool {
    script.iter().any(|line| line.2 == fault)
}
