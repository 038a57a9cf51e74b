//! Durability: a `Durable` command, and any delete, is answered only after the sync that covers it.
//!
//! The judge compares each answer with the marks of the disk; these models make the mixes.

use crate::bench::{Bench, groups_of, join};
use crate::command::{Deed, Write};
use crate::explore::Exploration;
use crate::model_storage::{Fault, Line, Step};
use crate::protocol::level::AckLevel::{Committed, Durable};

/// Every kind of command that can share a group, with what it has to wait for.
const KINDS: [(&str, Deed, crate::protocol::level::AckLevel); 6] = [
    ("committed insert", Deed::Insert, Committed),
    ("durable insert", Deed::Insert, Durable),
    ("committed delete", Deed::Delete, Committed),
    ("committed delete of nothing", Deed::DeleteNothing, Committed),
    ("durable delete of nothing", Deed::DeleteNothing, Durable),
    ("failing durable", Deed::Fail, Durable),
];

/// Sends every mix of two kinds. `prepared`: after a group of its own that leaves everything synced, so that
/// nothing but the two is to blame for what is not.
fn mixes(name: &'static str, group: usize, prepared: bool, script: &'static [Line]) {
    let mut exploration = Exploration::new(name);
    for (first_name, first_deed, first_level) in KINDS {
        for (second_name, second_deed, second_level) in KINDS {
            exploration.case(&format!("{first_name}, {second_name}"), move || {
                let bench = Bench::new(3);
                let writer = bench.spawn_writer(groups_of(group), script);
                let preparation = prepared.then(|| bench.send(Write::durable(0)));
                let first = bench.send(Write::new(1, first_deed, first_level));
                let second = bench.send(Write::new(2, second_deed, second_level));
                assert_eq!(second.wait().is_done(), second_deed != Deed::Fail);
                assert_eq!(first.wait().is_done(), first_deed != Deed::Fail);
                assert!(preparation.is_none_or(|sent| sent.wait().is_done()));
                bench.close(writer);
            });
        }
    }
    exploration.finish();
}

#[test]
fn every_mix_of_two_in_one_group_waits_for_its_sync() {
    mixes("every_mix_of_two_in_one_group_waits_for_its_sync", 2, false, &[]);
}

/// Also the dirty flag: the second group may write nothing after a `Committed` first one.
#[test]
fn every_mix_of_two_groups_waits_for_its_sync() {
    mixes("every_mix_of_two_groups_waits_for_its_sync", 1, true, &[]);
}

/// Another program commits between the two groups, and nobody has synced that.
#[test]
fn every_mix_waits_for_the_sync_of_what_another_program_wrote() {
    mixes(
        "every_mix_waits_for_the_sync_of_what_another_program_wrote",
        1,
        true,
        &[(Step::Begin, 1, Fault::ForeignWrite)],
    );
}

/// Three in groups of two: the durable one stands first, in the middle or last, so a sync for the last
/// one's sake or for the first one's does not do.
#[test]
fn a_durable_command_waits_for_its_sync_wherever_it_stands() {
    let mut exploration = Exploration::new("a_durable_command_waits_for_its_sync_wherever_it_stands");
    for place in 0..3 {
        for deed in [Deed::Insert, Deed::Delete, Deed::DeleteNothing] {
            for group in [2, 3] {
                exploration.case(&format!("{deed:?} at {place}, groups of {group}"), move || {
                    let bench = Bench::new(3);
                    let writer = bench.spawn_writer(groups_of(group), &[]);
                    let level = if deed == Deed::Insert { Durable } else { Committed };
                    let sent: Vec<_> = (0..3u8)
                        .map(
                            |id| if id == place { Write::new(id, deed, level) } else { Write::committed(id) },
                        )
                        .map(|write| bench.send(write))
                        .collect();
                    for sent in sent {
                        assert!(sent.wait().is_done());
                    }
                    bench.close(writer);
                });
            }
        }
    }
    exploration.finish();
}

/// A second sender's delete of nothing meets the first one's unsynced insert in any group.
#[test]
fn a_delete_of_nothing_waits_for_the_sync_of_what_others_wrote() {
    let mut exploration = Exploration::new("a_delete_of_nothing_waits_for_the_sync_of_what_others_wrote");
    for group in [1, 2] {
        exploration.case(&format!("groups of {group}"), move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(groups_of(group), &[]);
            let other = bench.spawn(|bench| {
                assert!(bench.send(Write::committed(2)).wait().is_done());
            });
            assert!(bench.send(Write::new(1, Deed::DeleteNothing, Committed)).wait().is_done());
            join(other);
            bench.close(writer);
        });
    }
    exploration.finish();
}

/// What an earlier run committed and never synced is nobody's promise yet: a delete that finds nothing, as the
/// writer's very first command, has seen it.
#[test]
fn what_was_there_before_the_writer_is_synced_before_it_is_promised() {
    let mut exploration =
        Exploration::new("what_was_there_before_the_writer_is_synced_before_it_is_promised");
    for level in [Committed, Durable] {
        exploration.case(&format!("{level:?}"), move || {
            let bench = Bench::new(1);
            bench.disk.leave_unsynced_record();
            let writer = bench.spawn_writer(groups_of(1), &[]);
            assert!(bench.send(Write::new(1, Deed::DeleteNothing, level)).wait().is_done());
            bench.close(writer);
        });
    }
    exploration.finish();
}
