//! A sync fails and takes its pages with it; the store stops, is closed, and goes on when it is reopened.

use super::super::command::Command;
use super::super::recording::Answer;
use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use walwright_test_support::Rng;
use walwright_test_support::vfs::{FaultPlan, FileKind};

/// The sync of a COMMIT, or the one before an answer.
///
/// The log on the disk ends in the middle then, while reads still see all of it. What comes after the middle
/// touches many pages that stand before it in no frame: copied into the database, they must not meet the
/// older half of the log.
pub fn of_the_wal(rig: &mut Rig, rng: &mut Rng) {
    let mut script = Script::new(rng);
    rig.open(BASE, |builder| builder);
    rig.send(script.fill());
    rig.close();
    for round in 0..4 {
        rig.open(BASE, |builder| builder);
        let commands = script.some(4);
        rig.group(commands);
        rig.send(Command::flush());
        let unsynced = vec![script.sweep().committed(), script.insert().committed()];
        rig.group(unsynced);
        rig.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Wal));
        if round % 2 == 0 {
            let commands = vec![script.insert(), script.insert().committed()];
            rig.group(commands);
        } else {
            rig.send(Command::flush());
        }
        assert!(rig.has_failed());
        // Nothing is acknowledged any more, and nothing is done.
        assert_eq!(rig.send(script.insert().committed()), Answer::Nothing);
        rig.close();
    }
    rig.open(BASE, |builder| builder);
    for _ in 0..3 {
        let commands = script.some(4);
        rig.group(commands);
    }
    rig.close();
}

/// The sync of a checkpoint.
pub fn of_the_database(rig: &mut Rig, rng: &mut Rng) {
    let mut script = Script::new(rng);
    for _ in 0..3 {
        rig.open(BASE, |builder| builder.wal_limits(40 << 10, 1 << 30));
        rig.arm(FaultPlan::fail_sync_dropping_pages().on(FileKind::Database));
        // Until the log is long enough to be copied.
        for _ in 0..40 {
            let insert = script.insert();
            let level = script.level();
            if rig.send(insert.at(level)) == Answer::Nothing {
                break;
            }
        }
        assert!(rig.has_failed());
        rig.close();
    }
    rig.open(BASE, |builder| builder);
    for _ in 0..3 {
        let commands = script.some(4);
        rig.group(commands);
    }
    rig.close();
}
