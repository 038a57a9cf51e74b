//! The open loop: a steady rate, alone and with bursts on top.

use crate::Scene;
use crate::contender::Counted;
use crate::log_watch::{LogWatch, Look, greatest_log};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use walwright_bench_workload::{Bar, OpenLoop, Pattern, Percentiles, Spread};
use walwright_benches::Result;
use walwright_benches::by_hand::ByHand;
use walwright_benches::engine::Engine;
use walwright_benches::report::Report;

/// Inserts a second: well below what the store can do, as in most servers at most times.
const STEADY: f64 = 2_000.0;
/// Inserts of one burst, all meant to arrive at once.
const BURST: usize = 4_000;
/// The hard limit of the log, by default.
const HARD_LIMIT: u64 = 64 << 20;

/// What became of one load.
#[derive(Serialize)]
pub struct Row {
    pub load: &'static str,
    pub sync_delay_ms: u64,
    pub per_second: f64,
    pub burst: usize,
    #[serde(flatten)]
    pub latency: Option<Percentiles>,
    /// From the arrival of a burst until all of it was answered.
    pub drain_ms: Spread,
    pub commands_per_group: f64,
    pub syncs: u64,
    pub checkpoints: u64,
    pub wal_mib: f64,
    /// How long a checkpoint takes when it is made by hand.
    pub checkpoint_ms: f64,
    #[serde(skip)]
    pub over_time: OverTime,
}

/// For the plots.
pub struct OverTime {
    /// When an operation was meant to arrive and how long it took, in milliseconds.
    pub operations: Vec<(f64, f64)>,
    pub looks: Vec<Look>,
}

/// Runs the steady load and the one with bursts.
pub async fn measure(scene: &Scene<'_>, delay: Duration) -> Result<[Row; 2]> {
    let time = scene.plan.open_time;
    let steady = OpenLoop { pattern: Pattern::Insert, per_second: STEADY, burst: 0, every: time, time };
    let bursts = OpenLoop { burst: BURST, every: time / 5, ..steady };
    let checkpoint = time_checkpoint(scene, delay)?;
    Ok([
        run(scene, delay, "steady", steady, checkpoint).await?,
        run(scene, delay, "bursts", bursts, checkpoint).await?,
    ])
}

async fn run(
    scene: &Scene<'_>,
    delay: Duration,
    name: &'static str,
    load: OpenLoop,
    checkpoint: Duration,
) -> Result<Row> {
    let folder = scene.place.folder("open")?;
    let engine = Engine::create(&folder.join("db"), scene.vfs.name()).await?;
    let numbers = Arc::new(AtomicU64::new(0));
    scene.vfs.set_sync_delay(delay);
    let (before, syncs) = (engine.stats(), scene.vfs.total_counts().syncs);
    let watch = LogWatch::start(&engine);
    let arrived = load.run(&engine, &numbers).await?;
    let looks = watch.stop().await?;
    let counted = Counted::between(&before, &engine.stats(), arrived.drain);
    let syncs = scene.vfs.total_counts().syncs - syncs;
    scene.vfs.set_sync_delay(Duration::ZERO);
    engine.close().await?;

    // Operations of one burst were all meant for the same moment.
    let bursts = arrived.operations.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1);
    let drains = bursts.filter_map(|burst| burst.iter().map(|(_, latency)| *latency).max());
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Row {
        load: name,
        sync_delay_ms: delay.as_millis() as u64,
        per_second: load.per_second,
        burst: load.burst,
        latency: arrived.latencies().percentiles(),
        drain_ms: Spread::of(drains.map(milliseconds)),
        commands_per_group: counted.commands as f64 / counted.groups.max(1) as f64,
        syncs,
        checkpoints: counted.checkpoints,
        wal_mib: greatest_log(&looks) as f64 / f64::from(1 << 20),
        checkpoint_ms: milliseconds(checkpoint),
        over_time: OverTime {
            operations: arrived
                .operations
                .iter()
                .map(|(at, took)| (milliseconds(*at), milliseconds(*took)))
                .collect(),
            looks,
        },
    })
}

/// How long one checkpoint at the soft limit takes on this disk: the median of a few.
fn time_checkpoint(scene: &Scene<'_>, delay: Duration) -> Result<Duration> {
    const TIMES: u64 = 5;
    const ROWS_BETWEEN: u64 = 1_000_000;
    let path = scene.place.folder("checkpoint")?.join("db");
    let mut by_hand = ByHand::create(&path, Some(scene.vfs.name()))?;
    let mut times = Vec::new();
    for number in 0..TIMES {
        by_hand.fill_log(number * ROWS_BETWEEN)?;
        scene.vfs.set_sync_delay(delay);
        times.push(by_hand.time_checkpoint()?.as_secs_f64());
        scene.vfs.set_sync_delay(Duration::ZERO);
    }
    Ok(Duration::from_secs_f64(Spread::of(times).median))
}

/// Prints one table.
pub fn print(report: &mut Report, rows: &[Row]) {
    report.heading("Open loop: inserts that arrive when they arrive");
    let headers = [
        ["load", "ms a sync", "a second", "burst"].as_slice(),
        &Percentiles::HEADERS,
        &["drain ms", "group", "syncs", "checkpoints", "WAL MiB"],
    ]
    .concat();
    let cells = |row: &Row| {
        let load = [
            row.load.to_owned(),
            row.sync_delay_ms.to_string(),
            format!("{:.0}", row.per_second),
            row.burst.to_string(),
        ];
        let rest = [
            row.drain_ms.to_string(),
            format!("{:.1}", row.commands_per_group),
            row.syncs.to_string(),
            row.checkpoints.to_string(),
            format!("{:.1}", row.wal_mib),
        ];
        [load.as_slice(), &Percentiles::cells(row.latency.as_ref()), &rest].concat()
    };
    report.table(&headers, &rows.iter().map(cells).collect::<Vec<_>>());
    report.text(
        "Latencies count from the moment for which an insert was meant. Drain: from a burst until all of it is \
         answered, median (least to greatest).",
    );
}

/// The bars of the steady load.
pub fn bars(rows: &[Row]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for row in rows.iter().filter(|row| row.load == "steady") {
        let Some(latency) = row.latency else { continue };
        let limit = 5.0 * latency.p50_ms + row.checkpoint_ms;
        let delay = row.sync_delay_ms;
        bars.push(Bar::at_most(
            format!("steady load at {delay} ms a sync, p99.9 against 5 times p50 and a checkpoint"),
            latency.p999_ms / limit,
            1.0,
        ));
    }
    let greatest = rows.iter().map(|row| row.wal_mib).fold(0.0, f64::max);
    let limit = 2.0 * HARD_LIMIT as f64 / f64::from(1 << 20);
    bars.push(Bar::at_most("the log's greatest size in MiB", greatest, limit));
    bars
}
