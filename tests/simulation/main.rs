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
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use program::Program;
use walwright_test_support::{FaultVfs, watchdog};

/// Programs of a plain `cargo test`.
const PROGRAMS: u64 = 300;
/// What must come up often enough in that many, or they show little.
const SEEN: [&str; 11] = [
    "done",
    "conflict",
    "coalesced",
    "unknown",
    "not started",
    "not applied",
    "in pieces: done",
    "in pieces: failed",
    "Power cut",
    "Fault",
    "read",
];
/// A program that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// So many programs run beside each other; they sleep more than they work.
const THREADS: usize = 3;

#[test]
fn random_programs_agree_with_the_model() {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().expect("a number"));
    let first = number("WALWRIGHT_SEED").unwrap_or(1);
    let programs = number("WALWRIGHT_PROGRAMS").unwrap_or(PROGRAMS);
    let began = Instant::now();
    let next = AtomicU64::new(first);
    let seen = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| run_programs(&next, first + programs))).collect();
        let mut seen = BTreeMap::<String, u64>::new();
        for thread in threads {
            let tally = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            tally.into_iter().for_each(|what| *seen.entry(what).or_default() += 1);
        }
        seen
    });
    for (what, times) in &seen {
        println!("{times:>7} × {what}");
    }
    println!("{programs} programs, {:.1?}", began.elapsed());
    if programs >= PROGRAMS {
        for what in SEEN {
            let times: u64 =
                seen.iter().filter(|(name, _)| name.starts_with(what)).map(|(_, times)| times).sum();
            assert!(times >= 20, "only {times} × {what}");
        }
    }
}

/// Runs one program after the other until one of them is `end`, and gives what they have seen.
fn run_programs(next: &AtomicU64, end: u64) -> Vec<String> {
    let vfs = FaultVfs::unique("simulation");
    vfs.skip_real_syncs(true);
    let mut seen = Vec::new();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return seen;
        }
        let told = Told(seed);
        seen.extend(watchdog(LIMIT, move || world::run(vfs, &Program::random(seed))));
        drop(told);
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
