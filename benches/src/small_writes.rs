//! Clients that write one row after the other while something else goes on.

use crate::Result;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long their writes took.
pub struct SmallWrites {
    pub writes: usize,
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
}

impl SmallWrites {
    /// Lets so many clients write for as long as `meanwhile` takes. `write` is one write of one client.
    pub fn beside(
        clients: usize,
        write: impl Fn() -> Result<()> + Sync,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let stop = AtomicBool::new(false);
        let mut all = std::thread::scope(|scope| -> Result<Vec<Duration>> {
            let client = || -> Result<Vec<Duration>> {
                let mut latencies = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let sent = Instant::now();
                    write()?;
                    latencies.push(sent.elapsed());
                }
                Ok(latencies)
            };
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            let ended = meanwhile();
            stop.store(true, Ordering::Relaxed);
            let mut all = Vec::new();
            for client in clients {
                all.extend(client.join().map_err(|_| "a client panicked")??);
            }
            ended.map(|()| all)
        })?;
        all.sort_unstable();
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
        Ok(Self { writes: all.len(), p50: at(0.5), p99: at(0.99), max: at(1.0) })
    }

    /// Lets so many clients write for `time`, with nothing beside them.
    pub fn alone(clients: usize, write: impl Fn() -> Result<()> + Sync, time: Duration) -> Result<Self> {
        Self::beside(clients, write, || {
            std::thread::sleep(time);
            Ok(())
        })
    }
}

impl fmt::Display for SmallWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writes, p50, p99, max } = self;
        write!(f, "{writes} writes, p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?}")
    }
}
