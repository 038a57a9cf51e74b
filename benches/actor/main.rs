//! The cost of the actor by itself: its queue, loop, answers and wake-ups, over a storage that does nothing.
//!
//! ```text
//! cargo bench --bench actor            # half a minute
//! ```
//!
//! The protocol is private to the crate, so this program compiles its source, `src/sync.rs` and `src/protocol/`, a
//! second time, as `loom-tests` does. What is measured is what ships, without SQLite behind it. A
//! command is admitted, taken with its group, begun, applied, committed, given a sequence, and answered.
//!
//! Beside it, in turn and repeated: bare crossbeam-channel with a tokio oneshot for the answer, one thread that answers
//! what it receives. Callers of both are threads that block on futures in the same way.
//!
//! *Idle.* A real store is left alone; then the CPU time of its threads and how often they woke up are read from
//! the system.

mod bare;
mod block_on;
mod callers;
mod idle;
#[allow(dead_code, unused_imports, reason = "the protocol has more than this uses")]
#[path = "../../src/protocol/mod.rs"]
mod protocol;
mod storage;
#[allow(dead_code, unused_imports, reason = "the crate has more than this uses")]
#[path = "../../src/sync.rs"]
mod sync;

use callers::{Actor, Load};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;
use walwright_bench_workload::{Bar, Spread};
use walwright_benches::Result;
use walwright_benches::options::{self, Options};
use walwright_benches::place::Place;
use walwright_benches::report::Report;

/// Two threads with 50 commands in flight each.
const BUSY: Load = Load { threads: 2, in_flight: 50 };
/// One thread that waits for each answer.
const LONE: Load = Load { threads: 1, in_flight: 1 };

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("actor: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What one load gave.
#[derive(Serialize)]
struct Row {
    actor: &'static str,
    load: &'static str,
    commands_per_second: Spread,
    /// Of a command, with this load.
    microseconds: f64,
}

fn run() -> Result<()> {
    let options = Options::from_command_line(&[], &[])?;
    if options.help {
        print!("Measures the cost of the actor by itself.\n\n{}", options::HELP);
        return Ok(());
    }
    let (rounds, time) =
        if options.quick { (3, Duration::from_millis(200)) } else { (7, Duration::from_secs(1)) };
    let mut report = Report::new("actor", &options);
    let place = Place::create(options.dir.as_deref())?;
    report.measured_on(&place);

    let mut rows = Vec::new();
    for (name, load) in [("busy", BUSY), ("lone", LONE)] {
        let (mut protocol, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            protocol.push(storage::Protocol::start().measure(load, time));
            bare.push(bare::Bare::start().measure(load, time));
        }
        for (actor, rates) in [("walwright", protocol), ("bare", bare)] {
            let rate = Spread::of(rates);
            let microseconds = 1e6 / rate.median;
            rows.push(Row { actor, load: name, commands_per_second: rate, microseconds });
        }
    }
    rows.iter().try_for_each(|row| report.row(row))?;
    let idle = idle::measure(&place, if options.quick { 1 } else { 5 })?;
    report.row(&idle)?;
    print(&mut report, &rows, &idle);
    report.bars(&bars(&rows, &idle))?;
    report.finish()
}

fn print(report: &mut Report, rows: &[Row], idle: &idle::Idle) {
    report
        .heading("Two threads with 50 commands in flight each (busy), one that waits for each answer (lone)");
    let cells = |row: &Row| {
        vec![
            row.load.to_owned(),
            row.actor.to_owned(),
            row.commands_per_second.to_string(),
            format!("{:.2}", row.microseconds),
        ]
    };
    let headers = ["load", "actor", "commands a second", "µs a command"];
    report.table(&headers, &rows.iter().map(cells).collect::<Vec<_>>());
    report.text(&format!(
        "An idle store: its {} threads took {:.3} ms of CPU in {} s and woke up {} times.",
        idle.threads, idle.cpu_ms, idle.seconds, idle.wake_ups
    ));
}

fn bars(rows: &[Row], idle: &idle::Idle) -> Vec<Bar> {
    let rate = |actor: &str, load: &str| {
        let row = rows.iter().find(|row| row.actor == actor && row.load == load);
        row.map_or(f64::NAN, |row| row.commands_per_second.median)
    };
    vec![
        Bar::at_least(
            "the actor alone, two threads with 50 in flight each, rate against bare channels",
            rate("walwright", "busy") / rate("bare", "busy"),
            0.6,
        ),
        Bar::at_most(
            "the actor alone, a lone client's round trip against bare channels",
            rate("bare", "lone") / rate("walwright", "lone"),
            1.25,
        ),
        Bar::at_most("an idle store's CPU time in ms a second", idle.cpu_ms / idle.seconds as f64, 0.1),
    ]
}
