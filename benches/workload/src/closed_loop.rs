//! Clients that each send the next operation when the last one was answered.

use crate::{Latencies, Pattern, Result, Session, Subject};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Barrier;

/// Some clients that keep a store busy for a while.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    pub pattern: Pattern,
    pub clients: usize,
    pub time: Duration,
}

/// What they got done in their time. Writes on their way at the end do not count.
pub struct Done {
    /// A pair that is half done counts as half of one.
    pub operations: f64,
    pub time: Duration,
    /// Of whole operations.
    pub latencies: Latencies,
}

impl Done {
    pub fn per_second(&self) -> f64 {
        self.operations / self.time.as_secs_f64()
    }
}

impl ClosedLoop {
    /// Runs the clients as tasks of the present runtime, on rows that `numbers` counts.
    pub async fn run<S: Subject>(self, store: &S, numbers: &Arc<AtomicU64>) -> Result<Done> {
        let start = Arc::new(Barrier::new(self.clients + 1));
        let clients: Vec<_> = (0..self.clients)
            .map(|_| tokio::spawn(client(self, store.clone(), Arc::clone(numbers), Arc::clone(&start))))
            .collect();
        start.wait().await;
        let (mut writes, mut latencies) = (0, Latencies::new());
        for client in clients {
            let (answered, of_client) = client.await??;
            writes += answered;
            latencies.merge(&of_client);
        }
        let operations = writes as f64 / self.pattern.writes() as f64;
        Ok(Done { operations, time: self.time, latencies })
    }
}

async fn client<S: Subject>(
    load: ClosedLoop,
    store: S,
    numbers: Arc<AtomicU64>,
    start: Arc<Barrier>,
) -> Result<(u64, Latencies)> {
    let mut latencies = Latencies::new();
    let mut answered = 0;
    start.wait().await;
    let mut end = pin!(tokio::time::sleep(load.time));
    loop {
        let row = Session::new(numbers.fetch_add(1, Ordering::Relaxed));
        let sent = Instant::now();
        tokio::select! {
            biased;
            () = &mut end => return Ok((answered, latencies)),
            end = load.pattern.run(&store, row, &mut answered) => end?,
        }
        latencies.record(sent.elapsed());
    }
}
