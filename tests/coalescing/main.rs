//! Coalescing is invisible: random programs are carried out by a store that coalesces and by one that does not, and
//! every answer and everything that is left in the database is compared.
//!
//! A program ([`program`], [`command`]) is a schema with a few hazards, rows, and some commands, most of them on the
//! same few keys. The writer is held while they are sent, so that they come into one group ([`bench`]). A
//! share of the programs is carried out one command after the other as well, with the same answers. Commit
//! sequences compare as the names of the commands that they were given to ([`answer`]). Half of the programs are
//! watched, and what is told of what they committed is compared, too.
//!
//! Beside the random ones there are programs made by hand ([`cases`]), each for one way in which coalescing could
//! show; `WALWRIGHT_CASE="its name"` runs one alone.
//!
//! A program comes from its seed. When one differs it is made as small as it gets and printed with both answers;
//! `WALWRIGHT_SEED=… WALWRIGHT_PROGRAMS=1 cargo test --test coalescing` runs it again. More of them:
//! `WALWRIGHT_PROGRAMS=1000000 cargo test --release --test coalescing`.

mod answer;
mod bench;
mod cases;
mod command;
mod comparison;
mod draw;
mod literal;
mod program;
mod sending;
mod shrinking;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use comparison::{Comparison, Verdict};
use draw::PROGRAMS_OF_SCHEMA;
use program::Program;
use walwright_test_support::{FaultVfs, watchdog};

/// Programs of a plain `cargo test`.
const PROGRAMS: u64 = 20_000;
/// Threads that carry them out.
const THREADS: usize = 2;
/// A program that takes longer than this hangs, with the shrinking of one that differs.
const LIMIT: Duration = Duration::from_secs(120);

/// What was seen of programs with one hazard.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    programs: u64,
    unfit: u64,
    commands: u64,
    coalesced: u64,
}

#[test]
fn random_programs_cannot_tell() {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().expect("a number"));
    let first = number("WALWRIGHT_SEED").unwrap_or(0);
    let programs = number("WALWRIGHT_PROGRAMS").unwrap_or(PROGRAMS);
    let began = Instant::now();
    let next = Arc::new(AtomicU64::new(first));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let next = Arc::clone(&next);
            thread::spawn(move || work(&next, first + programs))
        })
        .collect();
    let mut all = BTreeMap::<&str, Tally>::new();
    for thread in threads {
        let seen = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        for (hazard, tally) in seen {
            all.entry(hazard).or_default().add(tally);
        }
    }
    for (hazard, tally) in &all {
        println!(
            "{hazard:20} {:>7} programs, {:>6} unfit, {:>7} commands, {:>6} coalesced",
            tally.programs, tally.unfit, tally.commands, tally.coalesced
        );
    }
    let all = all["all"];
    println!("{programs} programs, {:.1?}", began.elapsed());
    if programs >= 1000 {
        assert!(all.coalesced * 20 > all.commands, "hardly anything was coalesced: {all:?}");
        assert!(all.unfit * 10 < all.programs, "too many schemas cannot be made: {all:?}");
    }
}

/// Leaves no programs to the other threads when one has differed.
struct Last<'a> {
    next: &'a AtomicU64,
    end: u64,
}

impl Drop for Last<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.next.store(self.end, Ordering::SeqCst);
        }
    }
}

/// Carries out programs until there are no more, or one differs.
fn work(next: &AtomicU64, end: u64) -> BTreeMap<&'static str, Tally> {
    let vfs = FaultVfs::unique("coalescing");
    vfs.skip_real_syncs(true);
    let mut seen = BTreeMap::<&'static str, Tally>::new();
    let mut comparison = Comparison::new(vfs);
    let _last = Last { next, end };
    loop {
        // Those that share a schema go to the same thread.
        let block = next.fetch_add(PROGRAMS_OF_SCHEMA, Ordering::SeqCst);
        if block >= end {
            return seen;
        }
        for seed in block..end.min(block + PROGRAMS_OF_SCHEMA) {
            let program = Program::random(seed);
            let hazards = program.hazards.clone();
            let commands = program.commands.len() as u64;
            // Half of all programs are watched; those that share a schema alike.
            comparison.watch((seed / PROGRAMS_OF_SCHEMA).is_multiple_of(2));
            let (back, verdict) = watchdog(LIMIT, move || {
                let verdict = comparison.judge(&program);
                if let Verdict::Different(difference) = verdict {
                    let (_, difference) = shrinking::shrunk(&comparison, program, difference);
                    panic!("again: WALWRIGHT_SEED={seed} WALWRIGHT_PROGRAMS=1\n{difference}");
                }
                (comparison, verdict)
            });
            comparison = back;
            let tally = match verdict {
                Verdict::Same { coalesced } => Tally { programs: 1, unfit: 0, commands, coalesced },
                Verdict::Unfit(_) => Tally { programs: 1, unfit: 1, ..Tally::default() },
                Verdict::Different(_) => unreachable!("that has panicked"),
            };
            for hazard in hazards.into_iter().chain(["all"]) {
                seen.entry(hazard).or_default().add(tally);
            }
        }
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.unfit += other.unfit;
        self.commands += other.commands;
        self.coalesced += other.coalesced;
    }
}
