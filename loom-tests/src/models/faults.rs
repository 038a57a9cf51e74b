//! One answer each, whatever the storage does: every step refused, failed, or ended by a panic.

use crate::bench::{Bench, groups_of, hurried_groups_of, join};
use crate::command::{Deed, Write};
use crate::explore::Exploration;
use crate::judge::Outcome;
use crate::model_storage::{Fault, Line, Step, assert_struck};
use crate::protocol::level::AckLevel::{Committed, Durable};
use crate::protocol::limits::GroupLimits;
use crate::protocol::work::Refusal;

/// Faults after which the writer ends. Each strikes the first or the second call of its step.
const FATAL: [(Step, Fault); 15] = [
    (Step::Upkeep, Fault::Fatal),
    (Step::Upkeep, Fault::Panic),
    (Step::Reserve, Fault::Fatal),
    (Step::Reserve, Fault::Panic),
    (Step::Begin, Fault::Fatal),
    (Step::Begin, Fault::Panic),
    (Step::Apply, Fault::Panic),
    (Step::Commit, Fault::Fatal),
    (Step::Commit, Fault::FatalButDone),
    (Step::Commit, Fault::Panic),
    (Step::Commit, Fault::PanicAfter),
    (Step::Sync, Fault::Fatal),
    (Step::Sync, Fault::Panic),
    (Step::Sync, Fault::PanicAfter),
    (Step::Report, Fault::Panic),
];

/// Faults that the writer survives.
const PASSING: [(Step, Fault); 4] = [
    (Step::Reserve, Fault::Refused),
    (Step::Begin, Fault::Refused),
    (Step::Commit, Fault::NotApplied),
    (Step::Begin, Fault::ForeignWrite),
];

fn writes() -> [Write; 3] {
    [Write::committed(1), Write::new(2, Deed::DeleteNothing, Committed), Write::durable(3)]
}

fn group_shapes() -> [(&'static str, GroupLimits); 3] {
    [("one group", groups_of(3)), ("groups of one", groups_of(1)), ("no time", hurried_groups_of(3))]
}

/// Three commands in a queue with room for two meet each fault. Whatever comes of it, every one has
/// one true answer, and a queue whose writer has failed refuses with its reason.
#[test]
fn a_writer_that_dies_at_any_step_leaves_no_caller_without_an_answer() {
    let mut exploration =
        Exploration::new("a_writer_that_dies_at_any_step_leaves_no_caller_without_an_answer");
    for (step, fault) in FATAL {
        for nth in [0, 1] {
            for (shape, limits) in group_shapes() {
                exploration.case(&format!("{fault:?} at {step:?} {nth}, {shape}"), move || {
                    let bench = Bench::new(2);
                    let writer = bench.spawn_writer(limits, &[(step, nth, fault)]);
                    for sent in writes().map(|write| bench.enter(write, None)).into_iter().rev() {
                        match sent {
                            Ok(sent) => drop(sent.wait()),
                            Err(refusal) => assert!(matches!(refusal, Refusal::Stopped(_)), "{refusal:?}"),
                        }
                    }
                    bench.queue.close();
                    if join(writer).is_err() {
                        assert!(matches!(bench.enter(Write::durable(9), None), Err(Refusal::Stopped(_))));
                    } else {
                        assert!(matches!(bench.enter(Write::durable(9), None), Err(Refusal::Closed)));
                    }
                    bench.judge.adjourn();
                });
            }
        }
    }
    assert_struck(&FATAL);
    exploration.finish();
}

/// What the writer survives is told to those concerned, and the others are carried out.
#[test]
fn a_fault_that_passes_is_told_to_those_it_hits_and_to_no_others() {
    let mut exploration = Exploration::new("a_fault_that_passes_is_told_to_those_it_hits_and_to_no_others");
    for (step, fault) in PASSING {
        for nth in [0, 1] {
            for (shape, limits) in group_shapes() {
                exploration.case(&format!("{fault:?} at {step:?} {nth}, {shape}"), move || {
                    let bench = Bench::new(2);
                    let writer = bench.spawn_writer(limits, &[(step, nth, fault)]);
                    for sent in writes().map(|write| bench.send(write)).into_iter().rev() {
                        let outcome = sent.wait();
                        let expected = match fault {
                            Fault::Refused => outcome == Outcome::Refused,
                            Fault::NotApplied => outcome == Outcome::Failed,
                            _ => false,
                        };
                        assert!(outcome.is_done() || expected, "{outcome:?}");
                    }
                    bench.close(writer);
                });
            }
        }
    }
    assert_struck(&PASSING);
    exploration.finish();
}

/// A group in which one fails, one takes the transaction with it and one panics, beside a fault.
#[test]
fn a_culprit_in_the_group_changes_nobody_elses_answer() {
    let mut exploration = Exploration::new("a_culprit_in_the_group_changes_nobody_elses_answer");
    for culprit in [Deed::Fail, Deed::Lose] {
        for place in 0..3u8 {
            for (shape, limits) in group_shapes() {
                exploration.case(&format!("{culprit:?} at {place}, {shape}"), move || {
                    let bench = Bench::new(3);
                    let writer = bench.spawn_writer(limits, &[]);
                    let sent: Vec<_> = (0..3u8)
                        .map(|id| Write::new(id, if id == place { culprit } else { Deed::Insert }, Durable))
                        .map(|write| bench.send(write))
                        .collect();
                    for sent in sent {
                        let deed = sent.write.deed;
                        let outcome = sent.wait();
                        assert_eq!(outcome == Outcome::Failed, deed == culprit, "{deed:?}: {outcome:?}");
                        assert_eq!(outcome.is_done(), deed != culprit, "{deed:?}: {outcome:?}");
                    }
                    bench.close(writer);
                });
            }
        }
    }
    exploration.finish();
}

/// The survivors of a lost transaction meet a second, fatal fault.
#[test]
fn survivors_of_a_lost_transaction_are_answered_when_their_second_run_fails() {
    let mut exploration =
        Exploration::new("survivors_of_a_lost_transaction_are_answered_when_their_second_run_fails");
    let faults = [
        (Step::Begin, 1, Fault::Fatal),
        (Step::Apply, 2, Fault::Panic),
        (Step::Apply, 3, Fault::Panic),
        (Step::Commit, 0, Fault::Fatal),
        (Step::Commit, 0, Fault::FatalButDone),
        (Step::Commit, 0, Fault::PanicAfter),
        (Step::Sync, 0, Fault::Fatal),
        (Step::Begin, 2, Fault::Fatal),
        (Step::Commit, 1, Fault::Fatal),
        (Step::Sync, 1, Fault::Fatal),
    ];
    for (step, nth, fault) in faults {
        exploration.case(&format!("{fault:?} at {step:?} {nth}"), move || {
            let bench = Bench::new(3);
            let script: [Line; 1] = [(step, nth, fault)];
            let writer = bench.spawn_writer(groups_of(3), &script);
            let deeds = [Deed::Insert, Deed::Lose, Deed::DeleteNothing];
            let sent: Vec<_> = deeds
                .into_iter()
                .zip(1u8..)
                .filter_map(|(deed, id)| bench.enter(Write::new(id, deed, Committed), None).ok())
                .collect();
            for sent in sent {
                sent.wait();
            }
            bench.queue.close();
            let _ = join(writer);
            bench.judge.adjourn();
        });
    }
    assert_struck(&faults.map(|(step, _, fault)| (step, fault)));
    exploration.finish();
}

/// The writer dies while a second sender waits for room in a full queue, or arrives just then.
#[test]
fn a_dying_writer_leaves_no_door_open() {
    let mut exploration = Exploration::new("a_dying_writer_leaves_no_door_open");
    for (step, fault) in [
        (Step::Upkeep, Fault::Panic),
        (Step::Begin, Fault::Fatal),
        (Step::Commit, Fault::PanicAfter),
        (Step::Commit, Fault::FatalButDone),
        (Step::Sync, Fault::Fatal),
    ] {
        exploration.case(&format!("{fault:?} at {step:?}"), move || {
            let bench = Bench::new(1);
            let writer = bench.spawn_writer(groups_of(1), &[(step, 0, fault)]);
            let deed = if step == Step::Sync { Deed::DeleteNothing } else { Deed::Insert };
            let send = move |bench: &Bench, id| match bench.enter(Write::new(id, deed, Durable), None) {
                Ok(sent) => {
                    let outcome = sent.wait();
                    assert!(matches!(outcome, Outcome::Stopped | Outcome::Unknown), "{outcome:?}");
                }
                Err(refusal) => assert!(matches!(refusal, Refusal::Stopped(_)), "{refusal:?}"),
            };
            let other = bench.spawn(move |bench| send(&bench, 2));
            send(&bench, 1);
            join(other);
            assert!(join(writer).is_err());
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}

/// Who hears of the failure and sends again at once is refused: the engine acknowledges nothing more.
#[test]
fn nobody_who_heard_of_the_failure_is_admitted_again() {
    let mut exploration = Exploration::new("nobody_who_heard_of_the_failure_is_admitted_again");
    for fault in [Fault::Fatal, Fault::FatalButDone, Fault::PanicAfter] {
        exploration.case(&format!("{fault:?}"), move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(groups_of(1), &[(Step::Commit, 0, fault)]);
            assert_eq!(bench.send(Write::durable(1)).wait(), Outcome::Unknown);
            assert!(matches!(bench.enter(Write::durable(2), None), Err(Refusal::Stopped(_))));
            assert!(join(writer).is_err());
            bench.judge.adjourn();
        });
    }
    exploration.finish();
}
