//! Logs that are copied into the file and start over, all the time.

use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use walwright_test_support::Rng;

/// A log of a few pages.
const SOFT: u64 = 40 << 10;

/// Nobody is in the way: the log starts over again and again.
pub fn small_logs(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder.wal_limits(SOFT, 16 * SOFT));
    let mut script = Script::new(rng);
    for _ in 0..60 {
        let commands = script.some(3);
        rig.group(commands);
    }
}

/// Readers hold their snapshots: the log is copied in part, cannot start over, and starts over late.
pub fn pinned(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder.wal_limits(SOFT, 1 << 30));
    let mut script = Script::new(rng);
    let mut pin = None;
    for _ in 0..60 {
        if script.rng.once_in(5) {
            drop(pin.take());
        }
        if script.rng.once_in(4) {
            pin.get_or_insert_with(|| rig.pin());
        }
        let commands = script.some(3);
        rig.group(commands);
    }
    drop(pin);
    let last = script.insert();
    rig.send(last);
}
