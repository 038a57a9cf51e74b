//! Deletes, also those that find nothing and those that do not look like one.

use super::super::command::Command;
use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use walwright_test_support::Rng;

/// A row goes away by a write that only asked to be committed; then it is deleted, which finds nothing and
/// writes nothing, and is answered. A power cut must not bring the row back.
pub fn empty(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for _ in 0..20 {
        let insert = script.insert();
        rig.send(insert);
        let id = script.last() - 1;
        let gone = if script.rng.once_in(3) { Script::delete_at(id) } else { Script::move_away_from(id) };
        rig.send(gone.committed());
        let after = match script.rng.below(4) {
            0 => script.nothing(),
            1 => Command::flush(),
            _ => Script::delete_at(id).committed(),
        };
        rig.send(after);
        // Not every round, or there would be nothing unsynced to be lost.
        if script.rng.once_in(3) {
            let insert = script.insert().committed();
            rig.group(vec![insert, Script::delete_at(id).committed()]);
        }
    }
}

/// Deletes by foreign keys and triggers, none of which asked to be durable.
pub fn cascades(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for round in 0..24 {
        let folder = script.rng.below(4) as i64;
        let command = match script.rng.below(5) {
            0 | 1 => script.fill_folder(folder),
            2 => Script::delete_folder(folder),
            _ => script.remember(),
        };
        let other = if round % 2 == 0 { script.remember() } else { script.insert() };
        rig.group(vec![command.committed(), other.committed()]);
    }
}
