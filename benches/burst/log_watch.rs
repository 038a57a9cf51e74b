//! A look at the queue and the log, again and again while a load runs.

use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use walwright_benches::Result;
use walwright_benches::engine::Engine;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// What one look showed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Look {
    pub at_ms: f64,
    pub wal_bytes: u64,
    pub queued: usize,
    /// Made so far.
    pub checkpoints: u64,
}

/// A task that looks.
pub struct LogWatch {
    over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Vec<Look>>,
}

impl LogWatch {
    pub fn start(engine: &Engine) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (engine, seen, start) = (engine.clone(), Arc::clone(&over), Instant::now());
        let task = tokio::spawn(async move {
            let mut looks = Vec::new();
            while !seen.load(Ordering::Relaxed) {
                let stats = engine.stats();
                looks.push(Look {
                    at_ms: start.elapsed().as_secs_f64() * 1e3,
                    wal_bytes: stats.wal_bytes,
                    queued: stats.queued_commands,
                    checkpoints: stats.checkpoints,
                });
                tokio::time::sleep(LOOK).await;
            }
            looks
        });
        Self { over, task }
    }

    /// Ends it, and gives what it saw.
    pub async fn stop(self) -> Result<Vec<Look>> {
        self.over.store(true, Ordering::Relaxed);
        Ok(self.task.await?)
    }
}

/// The most bytes of the log that were in use at once.
pub fn greatest_log(looks: &[Look]) -> u64 {
    looks.iter().map(|look| look.wal_bytes).max().unwrap_or(0)
}
