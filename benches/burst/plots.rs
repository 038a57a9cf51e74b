//! The plots that the README shows.

use crate::contender::Contender;
use crate::{closed, connections, open};
use std::path::Path;
use walwright_bench_workload::{Pattern, Percentiles};
use walwright_benches::Result;
use walwright_benches::plot::{Axis, Line, Plot};

/// The delay that the plots show, if it was measured: what a network disk takes.
const DELAY_MS: u64 = 5;
/// One point of a plot over time.
const STEP_MS: f64 = 10.0;

/// Draws all of them into `folder`.
pub fn draw(
    folder: &Path,
    closed: &[closed::Row],
    open: &[open::Row],
    connections: &[connections::Row],
) -> Result<()> {
    throughput(closed).draw(&folder.join("throughput.svg"))?;
    latency(closed).draw(&folder.join("latency.svg"))?;
    wall_time(connections).draw(&folder.join("connections.svg"))?;
    for row in open.iter().filter(|row| row.sync_delay_ms == DELAY_MS) {
        over_time(row).draw(&folder.join(format!("{}.svg", row.load)))?;
        log_size(row).draw(&folder.join(format!("{}-log.svg", row.load)))?;
    }
    Ok(())
}

fn throughput(rows: &[closed::Row]) -> Plot<'_> {
    let line = |contender: Contender| {
        let points = over_clients(rows, Pattern::Pipelined, contender, |row| Some(row.per_second.median));
        Line { name: contender.to_string(), points }
    };
    Plot {
        title: "Durable pairs, sent without waiting, at 5 ms a sync",
        across: Axis { label: "clients", is_logarithmic: true },
        up: Axis { label: "pairs a second", is_logarithmic: true },
        lines: Contender::ALL
            .into_iter()
            .filter(|one| *one != Contender::WalwrightThread)
            .map(line)
            .collect(),
        marks: None,
    }
}

fn latency(rows: &[closed::Row]) -> Plot<'_> {
    // The limit has no clients that could wait.
    let contenders = [Contender::Walwright, Contender::BaselineWal, Contender::BaselineRollback];
    let lines = contenders.into_iter().flat_map(|contender| {
        let line = |percentile: &str, figure: fn(Percentiles) -> f64| Line {
            name: format!("{contender}, {percentile}"),
            points: over_clients(rows, Pattern::Insert, contender, |row| row.latency.map(figure)),
        };
        [line("p50", |latency| latency.p50_ms), line("p99", |latency| latency.p99_ms)]
    });
    Plot {
        title: "A durable insert, at 5 ms a sync",
        across: Axis { label: "clients", is_logarithmic: true },
        up: Axis { label: "ms until it is acknowledged", is_logarithmic: true },
        lines: lines.collect(),
        marks: None,
    }
}

/// One figure of one contender, over the number of clients.
fn over_clients(
    rows: &[closed::Row],
    pattern: Pattern,
    contender: Contender,
    figure: impl Fn(&closed::Row) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let wanted = |row: &&closed::Row| {
        row.sync_delay_ms == DELAY_MS && row.pattern == pattern && row.contender == contender
    };
    rows.iter().filter(wanted).filter_map(|row| Some((row.clients as f64, figure(row)?))).collect()
}

fn wall_time(rows: &[connections::Row]) -> Plot<'_> {
    let line = |contender: &str| {
        let wanted = |row: &&connections::Row| row.sync_delay_ms == DELAY_MS && row.contender == contender;
        let points = rows.iter().filter(wanted).map(|row| (row.connections as f64, row.wall_ms.median));
        Line { name: contender.to_owned(), points: points.collect() }
    };
    Plot {
        title: "Connections at once, an insert and an update each, at 5 ms a sync",
        across: Axis { label: "connections", is_logarithmic: false },
        up: Axis { label: "ms until the last is through", is_logarithmic: true },
        lines: vec![line("walwright"), line("baseline, rollback")],
        marks: None,
    }
}

fn over_time(row: &open::Row) -> Plot<'_> {
    let steps = || row.over_time.operations.chunk_by(|a, b| (a.0 / STEP_MS) as u64 == (b.0 / STEP_MS) as u64);
    let median = |step: &[(f64, f64)]| {
        let mut took: Vec<f64> = step.iter().map(|operation| operation.1).collect();
        took.sort_by(f64::total_cmp);
        (step[0].0, took[took.len() / 2])
    };
    let longest = |step: &[(f64, f64)]| (step[0].0, step.iter().map(|one| one.1).fold(0.0, f64::max));
    let looks = &row.over_time.looks;
    let checkpoints = looks.windows(2).filter(|pair| pair[1].checkpoints > pair[0].checkpoints);
    Plot {
        title: if row.burst == 0 { "A steady load at 5 ms a sync" } else { "Bursts at 5 ms a sync" },
        across: Axis { label: "ms", is_logarithmic: false },
        up: Axis { label: "latency in ms", is_logarithmic: true },
        lines: vec![
            Line { name: "median of 10 ms".into(), points: steps().map(median).collect() },
            Line { name: "longest of 10 ms".into(), points: steps().map(longest).collect() },
        ],
        marks: Some(("checkpoint", checkpoints.map(|pair| pair[1].at_ms).collect())),
    }
}

fn log_size(row: &open::Row) -> Plot<'_> {
    let point = |look: &crate::log_watch::Look| (look.at_ms, look.wal_bytes as f64 / f64::from(1 << 20));
    Plot {
        title: if row.burst == 0 { "The log under a steady load" } else { "The log under bursts" },
        across: Axis { label: "ms", is_logarithmic: false },
        up: Axis { label: "MiB in use", is_logarithmic: false },
        lines: vec![Line { name: "log".into(), points: row.over_time.looks.iter().map(point).collect() }],
        marks: None,
    }
}
