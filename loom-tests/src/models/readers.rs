//! A reader of the published state sees whole groups only, never goes back, and sees every answered write.

use crate::bench::{Bench, groups_of, join};
use crate::command::{Deed, Write};
use crate::explore::Exploration;
use crate::model_storage::{Fault, Line, Step};
use crate::protocol::level::AckLevel::{Committed, Durable};

/// A reader looks twice at any moment. The writer goes through plain groups, a lost transaction and a COMMIT
/// that is rolled back.
#[test]
fn a_reader_sees_whole_groups_and_never_goes_back() {
    let mut exploration = Exploration::new("a_reader_sees_whole_groups_and_never_goes_back");
    let not_applied: [Line; 1] = [(Step::Commit, 0, Fault::NotApplied)];
    for (case, group, second, script) in [
        ("one group", 3, Deed::Insert, &[][..]),
        ("two groups", 2, Deed::Insert, &[]),
        ("a lost transaction", 3, Deed::Lose, &[]),
        ("a COMMIT rolled back", 3, Deed::Insert, &not_applied),
    ] {
        let script = script.to_vec();
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let sent = [Write::committed(1), Write::new(2, second, Committed), Write::committed(3)]
                .map(|write| bench.send(write));
            let reader = bench.spawn(|bench| {
                let first = bench.disk.marks().committed;
                let later = bench.disk.marks().committed;
                assert!(first <= later, "went back from {first} to {later}");
                for count in [first, later] {
                    assert!(bench.disk.is_group_end(count), "{count} records end inside a group");
                }
            });
            let writer = bench.spawn_writer(groups_of(group), &script);
            for sent in sent {
                sent.wait();
            }
            join(reader);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// While every write is `Durable`, no reader sees what a power cut could take back: a durable
/// group has to begin as one, a sync after it would come too late.
#[test]
fn no_reader_sees_an_unsynced_commit_while_all_writes_are_durable() {
    let mut exploration = Exploration::new("no_reader_sees_an_unsynced_commit_while_all_writes_are_durable");
    for (case, deed) in [("inserts", Deed::Insert), ("a lost transaction", Deed::Lose)] {
        exploration.case(case, move || {
            let bench = Bench::new(3);
            let first = bench.send(Write::durable(1));
            let second = bench.send(Write::new(2, deed, Durable));
            let third = bench.send(Write::durable(3));
            let reader = bench.spawn(|bench| {
                for _ in 0..2 {
                    let marks = bench.disk.marks();
                    assert!(marks.committed <= marks.synced, "{marks:?}");
                }
            });
            let writer = bench.spawn_writer(groups_of(3), &[]);
            for sent in [first, second, third] {
                sent.wait();
            }
            join(reader);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// One command of a group is to be durable, so the whole group begins as one.
#[test]
fn no_reader_sees_a_group_with_a_durable_member_before_its_sync() {
    let mut exploration = Exploration::new("no_reader_sees_a_group_with_a_durable_member_before_its_sync");
    for place in 0..3u8 {
        exploration.case(&format!("place {place}"), move || {
            let bench = Bench::new(3);
            let sent = [0u8, 1, 2]
                .map(|id| bench.send(if id == place { Write::durable(id) } else { Write::committed(id) }));
            let writer = bench.spawn_writer(groups_of(3), &[]);
            let reader = bench.spawn(|bench| {
                let marks = bench.disk.marks();
                assert!(marks.committed <= marks.synced, "{marks:?}");
            });
            for sent in sent {
                assert!(sent.wait().is_done());
            }
            join(reader);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// Who hears an answer and then reads, in whichever thread, sees the write.
#[test]
fn a_read_after_an_answer_sees_the_write() {
    let mut exploration = Exploration::new("a_read_after_an_answer_sees_the_write");
    for level in [Committed, Durable] {
        exploration.case(&format!("{level:?}"), move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(groups_of(2), &[]);
            let (tell, told) = loom::sync::mpsc::channel();
            let reader = bench.spawn(move |bench| {
                if let Ok(seen) = told.recv() {
                    let committed = bench.disk.marks().committed;
                    assert!(committed >= seen, "sees {committed} of {seen} answered records");
                }
            });
            let first = bench.send(Write::new(1, Deed::Insert, level));
            let second = bench.send(Write::committed(2));
            if let crate::judge::Outcome::Done(receipt) = first.wait() {
                assert!(tell.send(receipt.seen).is_ok());
            }
            assert!(second.wait().is_done());
            join(reader);
            bench.close(writer);
        });
    }
    exploration.finish();
}
