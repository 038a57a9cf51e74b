//! Many connections at once: each is one insert and one update, waiting in between, as a gateway makes them.

use crate::Scene;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Barrier;
use walwright_bench_workload::{Bar, Pattern, Session, Spread, Subject};
use walwright_benches::Result;
use walwright_benches::baseline::{Baseline, Journal};
use walwright_benches::engine::Engine;
use walwright_benches::report::Report;

/// How many connections come at once.
const TOGETHER: [usize; 5] = [1, 6, 16, 32, 64];
/// Who waits longer than that has gone away.
const PATIENCE: Duration = Duration::from_secs(60);

/// How it went with one number of connections.
#[derive(Serialize)]
pub struct Row {
    pub contender: &'static str,
    pub sync_delay_ms: u64,
    pub connections: usize,
    /// Until the last one was through.
    pub wall_ms: Spread,
    pub dropped: usize,
}

/// Measures Walwright and the baseline.
pub async fn measure(scene: &Scene<'_>, delay: Duration) -> Result<Vec<Row>> {
    let path = scene.place.folder("connections")?.join("db");
    let engine = Engine::create(&path, scene.vfs.name()).await?;
    let mut rows = measure_one(scene, "walwright", delay, &engine, scene.plan.rounds * 5).await?;
    engine.close().await?;
    let path = scene.place.folder("connections")?.join("db");
    let baseline = Baseline::create(&path, scene.vfs.name(), Journal::Rollback)?;
    rows.extend(measure_one(scene, "baseline, rollback", delay, &baseline, scene.plan.rounds).await?);
    baseline.close().await;
    Ok(rows)
}

async fn measure_one<S: Subject>(
    scene: &Scene<'_>,
    contender: &'static str,
    delay: Duration,
    store: &S,
    rounds: usize,
) -> Result<Vec<Row>> {
    let mut number = 0;
    // The first does not pay for what any first statement pays.
    together(store, 1, &mut number).await?;
    scene.vfs.set_sync_delay(delay);
    let mut rows = Vec::new();
    for connections in TOGETHER {
        let (mut walls, mut dropped) = (Vec::new(), 0);
        for _ in 0..rounds {
            let (wall, lost) = together(store, connections, &mut number).await?;
            walls.push(wall.as_secs_f64() * 1e3);
            dropped += lost;
        }
        let sync_delay_ms = delay.as_millis() as u64;
        rows.push(Row { contender, sync_delay_ms, connections, wall_ms: Spread::of(walls), dropped });
    }
    scene.vfs.set_sync_delay(Duration::ZERO);
    Ok(rows)
}

/// Lets some connections come at once. Gives the time until the last was through, and how many were lost.
async fn together<S: Subject>(store: &S, connections: usize, number: &mut u64) -> Result<(Duration, usize)> {
    let start = Arc::new(Barrier::new(connections + 1));
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (store, start, row) = (store.clone(), Arc::clone(&start), Session::new(*number));
            *number += 1;
            tokio::spawn(async move {
                start.wait().await;
                let mut answered = 0;
                tokio::time::timeout(PATIENCE, Pattern::Waiting.run(&store, row, &mut answered)).await
            })
        })
        .collect();
    start.wait().await;
    let began = Instant::now();
    let mut dropped = 0;
    for task in tasks {
        dropped += usize::from(!matches!(task.await?, Ok(Ok(()))));
    }
    Ok((began.elapsed(), dropped))
}

/// Prints one table.
pub fn print(report: &mut Report, rows: &[Row]) {
    report.heading("Connections at once: an insert and an update each, waiting in between");
    let cells = |row: &Row| {
        vec![
            row.contender.to_owned(),
            row.sync_delay_ms.to_string(),
            row.connections.to_string(),
            format!("{:.1}", row.wall_ms.median),
            format!("{:.1} to {:.1}", row.wall_ms.least, row.wall_ms.greatest),
            row.dropped.to_string(),
        ]
    };
    let headers = ["contender", "ms a sync", "connections", "wall ms", "least to greatest", "dropped"];
    report.table(&headers, &rows.iter().map(cells).collect::<Vec<_>>());
}

/// The bars at 5 ms a sync, if that was measured.
pub fn bars(rows: &[Row]) -> Vec<Bar> {
    let ours = || rows.iter().filter(|row| row.contender == "walwright" && row.sync_delay_ms == 5);
    let wall = |connections| ours().find(|row| row.connections == connections).map(|row| row.wall_ms.median);
    let (Some(one), Some(many)) = (wall(1), wall(64)) else { return Vec::new() };
    let dropped: usize = ours().map(|row| row.dropped).sum();
    vec![
        Bar::at_most("64 connections at once at 5 ms a sync, wall time against one", many / one, 3.0),
        Bar::at_most("connections dropped", dropped as f64, 0.0),
    ]
}
