//! The memory of a full queue: commands are admitted while the writer stands at a gate.

use crate::Scene;
use serde::Serialize;
use std::sync::mpsc;
use std::time::Duration;
use walwright::Store;
use walwright_bench_workload::{Bar, Session};
use walwright_benches::engine::Engine;
use walwright_benches::report::Report;
use walwright_benches::{Result, machine};

/// What the queue may hold; the commands take less.
const QUEUE_BYTES: usize = 1 << 30;

/// What the queue held.
#[derive(Serialize)]
pub struct Row {
    pub queued_commands: usize,
    /// As the store counts them, and holds them against its limit.
    pub queued_mib: f64,
    /// By how much the process grew.
    pub grown_mib: f64,
}

/// Fills the queue. This has to come first: memory that the process had before and has free would hide the growth.
pub async fn measure(scene: &Scene<'_>) -> Result<Row> {
    let commands = scene.plan.queued_commands;
    let path = scene.place.folder("queue")?.join("db");
    let builder = Store::builder(path).vfs(scene.vfs.name()).write_queue(commands + 1, QUEUE_BYTES);
    let engine = Engine::create_with(builder).await?;
    let (gate, opened) = mpsc::channel::<()>();
    let (arrived, at_gate) = mpsc::channel();
    let stand = engine.store.write(move |_| {
        let _ = arrived.send(());
        // An error: the gate is gone.
        let _ = opened.recv();
        Ok(())
    });
    let stand = stand.submit().await?;
    tokio::task::spawn_blocking(move || at_gate.recv()).await??;
    let before = machine::resident_bytes();
    for number in 0..commands as u64 {
        // Nobody waits for the answer: what is measured is the queue.
        drop(engine.table.insert(&Session::new(number)).try_submit()?);
    }
    let grown = machine::resident_bytes().saturating_sub(before);
    let stats = engine.stats();
    drop(gate);
    stand.await?;
    // A million rows need not be written; what has not started is answered so.
    let _ = engine.store.close_within(Duration::ZERO).await;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok(Row {
        queued_commands: stats.queued_commands,
        queued_mib: mib(stats.queued_bytes as u64),
        grown_mib: mib(grown),
    })
}

/// Prints one line.
pub fn print(report: &mut Report, row: &Row) {
    report.heading("A full queue");
    report.text(&format!(
        "{} inserts are queued. The store counts {:.0} MiB for them, and the process grew by {:.0} MiB.",
        row.queued_commands, row.queued_mib, row.grown_mib
    ));
}

/// Whether what the queue's limit counts is not less than what the queue takes.
pub fn bar(row: &Row) -> Bar {
    let name =
        format!("{} queued commands, memory against what the queue's limit counts", row.queued_commands);
    Bar::at_most(name, row.grown_mib / row.queued_mib, 1.0)
}
