//! Commands of all kinds and levels, alone and in groups.

use super::super::command::Command;
use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use walwright_test_support::Rng;

/// Everything, at both levels.
pub fn mixed_levels(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for round in 0..30 {
        let commands = script.some(6);
        rig.group(commands);
        if round % 7 == 3 {
            rig.send(Command::flush());
        }
    }
}

/// Commands of several statements, of which many fail in the middle.
pub fn closures_and_batches(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for _ in 0..30 {
        let commands = (0..=script.rng.below(4)).map(|_| {
            let command = match script.rng.below(4) {
                0 => script.overdraw(),
                1 => script.change_mind(),
                _ => script.transfer(),
            };
            let level = script.level();
            command.at(level)
        });
        let commands = commands.collect();
        rig.group(commands);
    }
}
