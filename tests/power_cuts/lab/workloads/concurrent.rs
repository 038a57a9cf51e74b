//! Several clients at once. Their receipts say in which order they were served.

use super::super::rig::Rig;
use super::super::schema::BASE;
use super::super::script::Script;
use std::thread;
use walwright_test_support::Rng;

pub fn run(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder.wal_limits(80 << 10, 1 << 30));
    let seeds: Vec<u64> = (0..4).map(|_| rng.next()).collect();
    let rig = &*rig;
    thread::scope(|scope| {
        for (client, seed) in seeds.into_iter().enumerate() {
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                let mut script = Script::from(&mut rng, client as i64 * 1_000_000);
                for _ in 0..20 {
                    let command = script.any();
                    rig.send_among_others(command);
                }
            });
        }
    });
}
