//! What a power cut leaves of a store.
//!
//! ```text
//! cargo run --release --example power_loss -- --seconds 60
//! cargo run --release --example power_loss -- --images 200000 --seed 2 --json
//! cargo run --release --example power_loss -- --seconds 5 --lie
//! ```
//!
//! The second line is the nightly dose. The database that is recorded lies on a real disk, if there is a place for it
//! (the system's temporary folder, else `target/`); the disks that are rebuilt lie in memory, if there is some.
//!
//! Fifteen workloads drive a store whose files are recorded: mixed acknowledgement levels, deletes that find
//! nothing, cascades and triggers, closures and batches, row commands for one row in one group, work on many rows in
//! pieces, checkpoints with and without readers in the way, conversion from rollback-journal mode, a hot journal,
//! migrations, reopening, failed syncs, and concurrent clients. For every moment at which something became durable the
//! disks that a power cut may leave there are rebuilt: what was synced is there, what was not may be, in part or torn
//! between two sectors of 512 bytes. Each is opened with Walwright and held against what had been promised by then:
//!
//! - it opens, `integrity_check` finds nothing, it takes a write and closes;
//! - it holds the outcome of the first so many commands, never half of a command or of a group;
//! - every write that was answered `Durable` is there, and no answered delete is undone;
//! - it hands out no commit sequence a second time.
//!
//! On some of them the power goes once more during the recovery. Disks with the same content count once.
//!
//! *Lost acks* counts disks on which an answered write, or what a reader saw right after opening, is gone;
//! *integrity failures* those that break any other of these rules.

#[path = "../../tests/power_cuts/lab/mod.rs"]
mod lab;
mod options;
mod report;

use lab::{Device, Dose, Findings, all, try_out};
use options::{Bound, Command, HELP, Options};
use report::Summary;
use std::error::Error;
use std::io::{Write, stdout};
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So many disks are tried of one recording at most; then another seed makes another one.
const MOST_IMAGES: u64 = 800;

/// After one disk in so many the power goes a second time.
const SECOND_CUT_EVERY: usize = 80;

/// The customary answer to a command line that makes no sense.
const BAD_OPTIONS: u8 = 2;

fn main() -> ExitCode {
    let options = match options::from_command_line() {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("power_loss: {problem}\nTry 'power_loss --help'.");
            return ExitCode::from(BAD_OPTIONS);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("power_loss: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Explores and reports. Gives whether everything was as it should be.
fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let begun = Instant::now();
    let rows = explore(options, begun);
    let mut total = Findings::default();
    rows.iter().for_each(|(_, findings)| total += findings);
    for detail in &total.details {
        eprintln!("{detail}");
    }
    let mut out = stdout().lock();
    if !options.json {
        writeln!(out, "{}", report::table(&rows))?;
    }
    let summary = Summary::new(options.seed, &total, begun.elapsed());
    writeln!(out, "{}", serde_json::to_string(&summary)?)?;
    Ok(total.are_none())
}

/// Goes through all workloads, with one seed after the other, until the bound is reached.
fn explore(options: &Options, begun: Instant) -> Vec<(&'static str, Findings)> {
    let device = if options.lie { Device::Lying } else { Device::Honest };
    let plan = Plan::new(options.bound);
    let dose = Dose { images: plan.images, second_cut_every: SECOND_CUT_EVERY };
    let next = AtomicU64::new(0);
    let rows: Vec<_> = all().iter().map(|workload| (workload.name, Mutex::default())).collect();
    let work = || {
        loop {
            let trial = next.fetch_add(1, Ordering::Relaxed);
            if plan.is_over(trial, begun) {
                break;
            }
            let number = (trial % all().len() as u64) as usize;
            let seed = options.seed.wrapping_add(trial / all().len() as u64);
            let findings = try_out(&all()[number], device, seed, dose);
            let mut row: MutexGuard<'_, Findings> =
                rows[number].1.lock().unwrap_or_else(PoisonError::into_inner);
            *row += &findings;
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let taken = |row: Mutex<Findings>| row.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.into_iter().map(|(name, row)| (name, taken(row))).collect()
}

/// How much is tried of each recording, and when it is enough.
struct Plan {
    images: usize,
    /// So many trials, or as many as the time allows.
    trials: Option<u64>,
    time: Duration,
}

impl Plan {
    fn new(bound: Bound) -> Self {
        let workloads = all().len() as u64;
        match bound {
            Bound::Time(time) => Self { images: MOST_IMAGES as usize, trials: None, time },
            Bound::Images(images) => {
                let trials = images.div_ceil(workloads * MOST_IMAGES) * workloads;
                let images = images.div_ceil(trials) as usize;
                Self { images, trials: Some(trials), time: Duration::MAX }
            }
        }
    }

    /// Whether the trial of this number is one too many.
    fn is_over(&self, trial: u64, begun: Instant) -> bool {
        self.trials.is_some_and(|trials| trial >= trials) || begun.elapsed() >= self.time
    }
}
