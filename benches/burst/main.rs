//! The write path under burst, beside the limit and the baseline.
//!
//! ```text
//! cargo bench --bench burst                   # about ten minutes
//! cargo bench --bench burst -- --quick        # under a minute, rough
//! cargo bench --bench burst -- --save         # also into RESULTS.md and plots/
//! ```
//!
//! # Who is measured
//!
//! - *walwright*: a store with its defaults, written by row commands.
//! - *limit*: one thread that writes the same rows by hand, in transactions of the size that Walwright's groups
//!   had under the same load, with statements prepared once. It has no clients, no queue and nobody to answer.
//! - *baseline*: one mutexed connection, each statement its own commit, as such stores are first written; with a
//!   rollback journal, and in WAL mode.
//!
//! All are durable (`synchronous=FULL`), go through the same VFS, which adds the same delay to every sync, and get
//! a fresh file for every run. They run in turn, several times: figures are medians with the least and the greatest.
//!
//! # What is measured
//!
//! *Closed loop.* Each client is a task that sends its next operation when the last one was answered. An operation is
//! a durable insert; or a pair, an insert and an update of the same row, waiting in between; or a pair that is sent
//! at once. What is on its way when the time is over does not count, which flatters who is slow: its longest
//! waits are not among the latencies.
//!
//! *Open loop.* Inserts arrive at a steady rate, and in a second run with bursts of thousands on top, whether or not
//! the store keeps up. Latency counts from the moment for which an insert was meant, so that waiting is not hidden.
//! The baselines are not measured here: they would not keep up with the steady rate.
//!
//! *Connections at once*, each an insert and an update, and *a full queue*, whose memory is held against
//! what the store says it holds.

mod bars;
mod closed;
mod connections;
mod contender;
mod full_queue;
mod log_watch;
mod open;
mod plots;

use std::process::ExitCode;
use std::time::Duration;
use walwright_bench_workload::Pattern;
use walwright_benches::Result;
use walwright_benches::options::{self, Options};
use walwright_benches::place::Place;
use walwright_benches::report::Report;
use walwright_test_support::FaultVfs;

const HELP: &str = "\
Measures the write path under burst, beside the same rows written by hand and beside a mutexed connection.

Usage: cargo bench --bench burst -- [OPTIONS]

  --clients LIST         clients of the closed loop (default: 1,8,64,256,1024)
  --sync-delay-ms LIST   milliseconds added to every sync (default: 0,5,25)
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("burst: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What all measurements here need.
struct Scene<'a> {
    place: &'a Place,
    vfs: &'static FaultVfs,
    plan: &'a Plan,
}

/// How much is measured.
struct Plan {
    clients: Vec<usize>,
    delays: Vec<Duration>,
    rounds: usize,
    /// Of one run of one contender.
    time: Duration,
    /// Of one open loop.
    open_time: Duration,
    queued_commands: usize,
}

impl Plan {
    fn new(options: &Options) -> Result<Self> {
        let (clients, delays): (&[usize], &[u64]) =
            if options.quick { (&[1, 64], &[0, 5]) } else { (&[1, 8, 64, 256, 1024], &[0, 5, 25]) };
        let delays = options.list("sync-delay-ms", delays)?;
        Ok(Self {
            clients: options.list("clients", clients)?,
            delays: delays.into_iter().map(Duration::from_millis).collect(),
            rounds: if options.quick { 1 } else { 3 },
            time: Duration::from_millis(if options.quick { 250 } else { 700 }),
            open_time: Duration::from_secs(if options.quick { 1 } else { 10 }),
            queued_commands: if options.quick { 50_000 } else { 1_000_000 },
        })
    }
}

fn run() -> Result<()> {
    let options = Options::from_command_line(&["clients", "sync-delay-ms"], &[])?;
    if options.help {
        print!("{HELP}{}", options::HELP);
        return Ok(());
    }
    let plan = Plan::new(&options)?;
    let place = Place::create(options.dir.as_deref())?;
    let vfs = FaultVfs::register("burst");
    let mut report = Report::new("burst", &options);
    report.measured_on(&place);
    let scene = Scene { place: &place, vfs, plan: &plan };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&scene, &mut report))?;
    report.finish()
}

async fn measure(scene: &Scene<'_>, report: &mut Report) -> Result<()> {
    let full_queue = full_queue::measure(scene).await?;
    report.row(&full_queue)?;
    let (mut closed, mut open, mut connections) = (Vec::new(), Vec::new(), Vec::new());
    for &delay in &scene.plan.delays {
        for pattern in Pattern::ALL {
            for &clients in &scene.plan.clients {
                closed.extend(closed::measure(scene, closed::Cell { delay, pattern, clients }).await?);
            }
        }
        open.extend(open::measure(scene, delay).await?);
        connections.extend(connections::measure(scene, delay).await?);
    }
    closed.iter().try_for_each(|row| report.row(row))?;
    open.iter().try_for_each(|row| report.row(row))?;
    connections.iter().try_for_each(|row| report.row(row))?;
    closed::print(report, &closed);
    open::print(report, &open);
    connections::print(report, &connections);
    full_queue::print(report, &full_queue);
    let bars = [
        bars::of_closed_loop(&closed),
        open::bars(&open),
        connections::bars(&connections),
        vec![full_queue::bar(&full_queue)],
    ];
    report.bars(&bars.concat())?;
    if let Some(folder) = report.plots() {
        plots::draw(&folder, &closed, &open, &connections)?;
    }
    Ok(())
}
