//! The closed loop: all contenders under one load, in turn and repeated.

use crate::Scene;
use crate::contender::{Contender, Counted, Run};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use walwright_bench_workload::{ClosedLoop, Latencies, Pattern, Percentiles, Spread};
use walwright_benches::Result;
use walwright_benches::report::Report;

/// One load.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub delay: Duration,
    pub pattern: Pattern,
    pub clients: usize,
}

/// What one contender made of one load.
#[derive(Serialize)]
pub struct Row {
    pub contender: Contender,
    pub sync_delay_ms: u64,
    pub pattern: Pattern,
    pub clients: usize,
    /// Operations.
    pub per_second: Spread,
    #[serde(flatten)]
    pub latency: Option<Percentiles>,
    pub syncs_per_operation: f64,
    pub wal_mib: f64,
    #[serde(flatten)]
    pub engine: Option<EngineFigures>,
}

/// What only Walwright tells.
#[derive(Serialize)]
pub struct EngineFigures {
    pub commands_per_group: f64,
    pub statements_per_command: f64,
    pub checkpoints: u64,
    pub drain_ms: f64,
}

/// Runs all contenders under one load.
pub async fn measure(scene: &Scene<'_>, cell: Cell) -> Result<Vec<Row>> {
    let Cell { delay, pattern, clients } = cell;
    let load = ClosedLoop { pattern, clients, time: scene.plan.time };
    let mut runs: BTreeMap<Contender, Vec<Run>> = BTreeMap::new();
    let mut rows_at_once = 1;
    for round in 0..scene.plan.rounds {
        let mut order = Contender::ALL;
        // Nobody is always first after the same other one.
        order.rotate_left(round % Contender::ALL.len());
        for contender in order.into_iter().filter(|contender| contender.takes(load)) {
            // Making and migrating a file is not what is slow on such a disk, or not what is measured.
            scene.vfs.set_sync_delay(delay);
            let run = contender.run(scene, load, rows_at_once).await?;
            scene.vfs.set_sync_delay(Duration::ZERO);
            if let Some(Counted { groups, commands, .. }) = run.counted {
                let writes = commands as f64 / groups.max(1) as f64;
                rows_at_once = ((writes / pattern.writes() as f64).round() as usize).max(1);
            }
            runs.entry(contender).or_default().push(run);
        }
    }
    Ok(runs.into_iter().map(|(contender, runs)| row(cell, contender, &runs)).collect())
}

fn row(cell: Cell, contender: Contender, runs: &[Run]) -> Row {
    let mut latencies = Latencies::new();
    runs.iter().for_each(|run| latencies.merge(&run.done.latencies));
    let operations: f64 = runs.iter().map(|run| run.done.operations).sum();
    let syncs: u64 = runs.iter().map(|run| run.syncs).sum();
    let counted: Option<Vec<Counted>> = runs.iter().map(|run| run.counted).collect();
    let engine = counted.map(|counted| {
        let sum = |figure: fn(&Counted) -> u64| counted.iter().map(figure).sum::<u64>();
        let commands = sum(|one| one.commands);
        EngineFigures {
            commands_per_group: ratio(commands, sum(|one| one.groups)),
            statements_per_command: ratio(sum(|one| one.statements), commands),
            checkpoints: sum(|one| one.checkpoints),
            drain_ms: Spread::of(counted.iter().map(|one| one.drain.as_secs_f64() * 1e3)).median,
        }
    });
    Row {
        contender,
        sync_delay_ms: cell.delay.as_millis() as u64,
        pattern: cell.pattern,
        clients: cell.clients,
        per_second: Spread::of(runs.iter().map(|run| run.done.per_second())),
        latency: latencies.percentiles(),
        syncs_per_operation: syncs as f64 / operations.max(1.0),
        wal_mib: runs.iter().map(|run| run.wal_bytes).max().unwrap_or(0) as f64 / f64::from(1 << 20),
        engine,
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Prints a table for each delay and pattern.
pub fn print(report: &mut Report, rows: &[Row]) {
    let headers = [
        ["clients", "contender", "a second"].as_slice(),
        &Percentiles::HEADERS,
        &["syncs", "WAL MiB", "group", "statements", "drain ms"],
    ]
    .concat();
    for alike in rows.chunk_by(|a, b| a.sync_delay_ms == b.sync_delay_ms && a.pattern == b.pattern) {
        let first = &alike[0];
        report.heading(&format!("Closed loop: {}, {} ms a sync", first.pattern, first.sync_delay_ms));
        let cells = |row: &Row| {
            let engine =
                |figure: fn(&EngineFigures) -> String| row.engine.as_ref().map_or("-".into(), figure);
            let load = [row.clients.to_string(), row.contender.to_string(), row.per_second.to_string()];
            let rest = [
                format!("{:.3}", row.syncs_per_operation),
                format!("{:.1}", row.wal_mib),
                engine(|figures| format!("{:.1}", figures.commands_per_group)),
                engine(|figures| format!("{:.2}", figures.statements_per_command)),
                engine(|figures| format!("{:.1}", figures.drain_ms)),
            ];
            [load.as_slice(), &Percentiles::cells(row.latency.as_ref()), &rest].concat()
        };
        report.table(&headers, &alike.iter().map(cells).collect::<Vec<_>>());
    }
    report.text(
        "Operations a second: median (least to greatest). Syncs: for one operation. Group: commands of one group. \
         Statements: for one command. The limit's latencies are those of whole transactions.",
    );
}
