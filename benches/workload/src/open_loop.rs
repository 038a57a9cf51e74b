//! Operations that arrive when they arrive, whether or not the store keeps up.

use crate::{Latencies, Pattern, Result, Session, Subject};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// Arrivals at a steady rate, with bursts on top.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoop {
    pub pattern: Pattern,
    pub per_second: f64,
    /// Operations of one burst, all meant to arrive at once.
    pub burst: usize,
    /// From one burst to the next; the first comes after half of that.
    pub every: Duration,
    pub time: Duration,
}

/// What became of the arrivals.
pub struct Arrived {
    /// When each was meant to arrive, and how long after that it was answered.
    pub operations: Vec<(Duration, Duration)>,
    /// From the last arrival until everything was answered.
    pub drain: Duration,
}

impl Arrived {
    pub fn latencies(&self) -> Latencies {
        let mut latencies = Latencies::new();
        self.operations.iter().for_each(|(_, latency)| latencies.record(*latency));
        latencies
    }
}

impl OpenLoop {
    /// When operations are meant to arrive, in order.
    fn arrivals(&self) -> Vec<Duration> {
        let steady = (self.per_second * self.time.as_secs_f64()) as u64;
        let mut arrivals: Vec<_> =
            (0..steady).map(|number| Duration::from_secs_f64(number as f64 / self.per_second)).collect();
        let mut at = self.every / 2;
        while at < self.time && self.burst > 0 {
            arrivals.extend(std::iter::repeat_n(at, self.burst));
            at += self.every;
        }
        arrivals.sort_unstable();
        arrivals
    }

    /// Lets them arrive, on rows that `numbers` counts. Latencies count from when an operation was meant to
    /// arrive, so that neither a store nor a load that is late hides it.
    pub async fn run<S: Subject>(self, store: &S, numbers: &Arc<AtomicU64>) -> Result<Arrived> {
        let arrivals = self.arrivals();
        let (store, numbers, runtime) = (store.clone(), Arc::clone(numbers), Handle::current());
        // A thread of its own: a runtime's timer has steps of a millisecond.
        let sent = tokio::task::spawn_blocking(move || {
            let start = Instant::now();
            let send = |meant: Duration| {
                thread::sleep((start + meant).saturating_duration_since(Instant::now()));
                let row = Session::new(numbers.fetch_add(1, Ordering::Relaxed));
                let store = store.clone();
                let operation = async move {
                    self.pattern.run(&store, row, &mut 0).await?;
                    Result::Ok((meant, start.elapsed().saturating_sub(meant)))
                };
                runtime.spawn(operation)
            };
            let sent: Vec<_> = arrivals.into_iter().map(send).collect();
            (sent, Instant::now())
        });
        let (sent, last) = sent.await?;
        let mut operations = Vec::with_capacity(sent.len());
        for operation in sent {
            operations.push(operation.await??);
        }
        Ok(Arrived { operations, drain: last.elapsed() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_come_on_top_of_the_steady_rate() {
        let time = Duration::from_secs(2);
        let every = Duration::from_secs(1);
        let load = OpenLoop { pattern: Pattern::Insert, per_second: 100.0, burst: 1_000, every, time };
        let arrivals = load.arrivals();
        assert_eq!(arrivals.len(), 200 + 2 * 1_000);
        assert!(arrivals.is_sorted() && *arrivals.last().unwrap() < time);
    }
}
