//! The whole engine in random programs: several clients that send all kinds of commands in all manners,
//! while the disk fails, fills up or loses power, and the store is closed and opened again, held against a
//! simple model in memory.
//!
//! Threads interleave as they like; the model does not depend on it. Each row belongs to one client, whose
//! commands are applied in its order ([`model`]), and the sequences of the receipts give the order between
//! clients ([`judge`]).
//!
//! The program comes from one seed: when one fails, its seed is printed, and
//! `WALWRIGHT_SEED=… WALWRIGHT_PROGRAMS=1 cargo test --test simulation` runs it again. More of them:
//! `WALWRIGHT_PROGRAMS=20000 cargo test --release --test simulation`.

mod client;
mod crowd;
mod item;
mod judge;
mod model;
mod program;
mod world;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use program::Program;
use walwright_test_support::{FaultVfs, watchdog};

/// Programs of a plain `cargo test`.
const PROGRAMS: u64 = 300;
/// A program that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn random_programs_agree_with_the_model() {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().expect("a number"));
    let first = number("WALWRIGHT_SEED").unwrap_or(1);
    let programs = number("WALWRIGHT_PROGRAMS").unwrap_or(PROGRAMS);
    let began = Instant::now();
    let vfs = FaultVfs::unique("simulation");
    vfs.skip_real_syncs(true);
    let mut seen = BTreeMap::<String, u64>::new();
    for seed in first..first + programs {
        let told = Told(seed);
        let tally = watchdog(LIMIT, move || {
            let program = Program::random(seed);
            world::run(vfs, &program)
        });
        drop(told);
        for what in tally {
            *seen.entry(what).or_default() += 1;
        }
    }
    for (what, times) in &seen {
        println!("{times:>7} × {what}");
    }
    println!("{programs} programs, {:.1?}", began.elapsed());
    if programs >= PROGRAMS {
        for what in ["done", "unknown", "not started", "not applied", "Power cut", "Fault", "read"] {
            let times: u64 =
                seen.iter().filter(|(name, _)| name.starts_with(what)).map(|(_, times)| times).sum();
            assert!(times >= 20, "only {times} × {what}");
        }
    }
}

/// Says how to run the program again, if it panics.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("again: WALWRIGHT_SEED={} WALWRIGHT_PROGRAMS=1", self.0);
            eprintln!("{:#?}", Program::random(self.0));
        }
    }
}
