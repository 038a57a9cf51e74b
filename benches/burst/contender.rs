//! Who is measured, and one run of one of them.

use crate::Scene;
use crate::log_watch::{LogWatch, greatest_log};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use walwright::Stats;
use walwright_bench_workload::{ClosedLoop, Done, Latencies, Pattern, Session};
use walwright_benches::Result;
use walwright_benches::baseline::{Baseline, Journal};
use walwright_benches::by_hand::{ByHand, Work};
use walwright_benches::engine::Engine;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contender {
    Walwright,
    /// Without a runtime: the client is a thread that waits for each answer, as it does in the limit.
    WalwrightThread,
    Limit,
    BaselineWal,
    BaselineRollback,
}

impl Contender {
    /// Walwright first: the limit takes the size of its groups.
    pub const ALL: [Self; 5] =
        [Self::Walwright, Self::WalwrightThread, Self::Limit, Self::BaselineWal, Self::BaselineRollback];

    /// Whether it can carry this load.
    pub fn takes(self, load: ClosedLoop) -> bool {
        self != Self::WalwrightThread || (load.clients == 1 && load.pattern == Pattern::Insert)
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Walwright => "walwright",
            Self::WalwrightThread => "walwright, a thread",
            Self::Limit => "limit",
            Self::BaselineWal => "baseline, WAL",
            Self::BaselineRollback => "baseline, rollback",
        })
    }
}

/// What one run gave.
pub struct Run {
    pub done: Done,
    pub syncs: u64,
    /// Bytes of the log, at most.
    pub wal_bytes: u64,
    /// Only Walwright counts them.
    pub counted: Option<Counted>,
}

/// What a store counted in one run.
#[derive(Clone, Copy, Default)]
pub struct Counted {
    pub groups: u64,
    pub commands: u64,
    pub statements: u64,
    pub checkpoints: u64,
    /// From the end of the load until the queue was empty.
    pub drain: Duration,
}

impl Counted {
    pub fn between(before: &Stats, after: &Stats, drain: Duration) -> Self {
        Self {
            groups: after.groups - before.groups,
            commands: after.commands - before.commands,
            statements: after.statements - before.statements,
            checkpoints: after.checkpoints - before.checkpoints,
            drain,
        }
    }
}

impl Contender {
    /// One run on a fresh file. The limit writes `rows_at_once` rows in a transaction.
    pub async fn run(self, scene: &Scene<'_>, load: ClosedLoop, rows_at_once: usize) -> Result<Run> {
        let folder = scene.place.folder("run")?;
        let path = folder.join("db");
        let numbers = Arc::new(AtomicU64::new(0));
        let syncs = || scene.vfs.total_counts().syncs;
        match self {
            Self::Walwright | Self::WalwrightThread => {
                let engine = Engine::create(&path, scene.vfs.name()).await?;
                let (before, syncs_before) = (engine.stats(), syncs());
                let log = LogWatch::start(&engine);
                let done = if self == Self::WalwrightThread {
                    tokio::task::block_in_place(|| insert_and_wait(&engine, load.time))?
                } else {
                    load.run(&engine, &numbers).await?
                };
                let syncs = syncs() - syncs_before;
                let ended = Instant::now();
                engine.store.flush().await?;
                let counted = Counted::between(&before, &engine.stats(), ended.elapsed());
                let wal_bytes = greatest_log(&log.stop().await?);
                engine.close().await?;
                Ok(Run { done, syncs, wal_bytes, counted: Some(counted) })
            }
            Self::Limit => {
                let vfs = scene.vfs.name();
                let mut by_hand = ByHand::create(&path, Some(vfs))?;
                let before = syncs();
                let done = tokio::task::block_in_place(|| write_by_hand(&mut by_hand, load, rows_at_once))?;
                let syncs = syncs() - before;
                Ok(Run { done, syncs, wal_bytes: log_size(&path), counted: None })
            }
            Self::BaselineWal | Self::BaselineRollback => {
                let journal = if self == Self::BaselineWal { Journal::Wal } else { Journal::Rollback };
                let baseline = Baseline::create(&path, scene.vfs.name(), journal)?;
                let before = syncs();
                let done = load.run(&baseline, &numbers).await?;
                let (syncs, wal_bytes) = (syncs() - before, log_size(&path));
                baseline.close().await;
                Ok(Run { done, syncs, wal_bytes, counted: None })
            }
        }
    }
}

/// One thread that inserts a row and waits, and again.
fn insert_and_wait(engine: &Engine, time: Duration) -> Result<Done> {
    let (mut latencies, mut written) = (Latencies::new(), 0);
    let start = Instant::now();
    while start.elapsed() < time {
        let began = Instant::now();
        engine.table.insert(&Session::new(written)).wait()?;
        written += 1;
        latencies.record(began.elapsed());
    }
    Ok(Done { operations: written as f64, time: start.elapsed(), latencies })
}

/// The limit: one thread, and nobody to be answered. Its latencies are those of whole transactions.
fn write_by_hand(by_hand: &mut ByHand, load: ClosedLoop, rows_at_once: usize) -> Result<Done> {
    let work = if load.pattern == Pattern::Insert { Work::Insert } else { Work::Pair };
    let (mut latencies, mut written) = (Latencies::new(), 0);
    let start = Instant::now();
    while start.elapsed() < load.time {
        let began = Instant::now();
        let rows: Vec<_> = (written..written + rows_at_once as u64).map(Session::new).collect();
        by_hand.write(work, &rows)?;
        written += rows_at_once as u64;
        latencies.record(began.elapsed());
    }
    Ok(Done { operations: written as f64, time: start.elapsed(), latencies })
}

/// The size of the log beside a database. The file does not shrink while it is in use.
fn log_size(path: &Path) -> u64 {
    path.with_file_name("db-wal").metadata().map_or(0, |metadata| metadata.len())
}
