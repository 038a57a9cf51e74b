//! A program grows: its next version brings migrations, one of which rebuilds a table.

use super::super::rig::Rig;
use super::super::schema::{BASE, GROWN};
use super::super::script::Script;
use walwright_test_support::Rng;

pub fn run(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for folder in 0..3 {
        let commands = vec![script.fill_folder(folder), script.insert(), script.insert().committed()];
        rig.group(commands);
    }
    rig.close();
    rig.open(GROWN, |builder| builder);
    for _ in 0..4 {
        let commands = script.some(3);
        rig.group(commands);
    }
    rig.send(Script::delete_folder(1));
    rig.close();
}
