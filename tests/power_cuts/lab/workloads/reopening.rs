//! A store that is closed and opened again and again.

use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use walwright_test_support::Rng;

pub fn run(rig: &mut Rig, rng: &mut Rng) {
    let mut script = Script::new(rng);
    for round in 0..6 {
        rig.open(BASE, |builder| builder);
        // Answered and never synced: only their sequences must not come again.
        for _ in 0..=round % 3 {
            let insert = script.insert().committed();
            rig.send(insert);
        }
        for _ in 0..round {
            let commands = script.some(3);
            rig.group(commands);
        }
        rig.close();
    }
}
