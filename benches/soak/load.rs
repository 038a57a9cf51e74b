//! The load of the soak.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::task::JoinHandle;
use walwright::Filter;
use walwright_bench_workload::{Latencies, Session};
use walwright_benches::engine::Engine;

/// A client deletes what it inserted so many rows ago.
const KEPT: usize = 2_000;
const READERS: u64 = 4;
const PAGE: usize = 50;

/// What the tasks count, for the one that prints.
#[derive(Default)]
pub struct Counters {
    writes: Mutex<Option<Latencies>>,
    reads: Mutex<Option<Latencies>>,
    failed: AtomicU64,
    inserted: AtomicU64,
    deleted: AtomicU64,
    over: AtomicBool,
}

impl Counters {
    /// Latencies of writes and reads since the last call.
    pub fn take(&self) -> (Latencies, Latencies) {
        let taken = |place: &Mutex<Option<Latencies>>| lock(place).take().unwrap_or_else(Latencies::new);
        (taken(&self.writes), taken(&self.reads))
    }

    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Rows that must be there, once all tasks have ended.
    pub fn rows(&self) -> u64 {
        self.inserted.load(Ordering::Relaxed) - self.deleted.load(Ordering::Relaxed)
    }

    /// Asks the tasks to end.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn record<T, E>(
        &self,
        place: &Mutex<Option<Latencies>>,
        sent: Instant,
        result: Result<T, E>,
    ) -> Option<T> {
        lock(place).get_or_insert_with(Latencies::new).record(sent.elapsed());
        if result.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        result.ok()
    }
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts clients and readers.
pub fn start(engine: &Engine, counters: &Arc<Counters>, clients: u64) -> Vec<JoinHandle<()>> {
    let newest = Arc::new(AtomicU64::new(0));
    let writers =
        (0..clients).map(|_| tokio::spawn(write(engine.clone(), Arc::clone(counters), Arc::clone(&newest))));
    let readers =
        (0..READERS).map(|_| tokio::spawn(read(engine.clone(), Arc::clone(counters), Arc::clone(&newest))));
    writers.chain(readers).collect()
}

/// Inserts, updates, and deletes what is old.
async fn write(engine: Engine, counters: Arc<Counters>, newest: Arc<AtomicU64>) {
    let mut kept = std::collections::VecDeque::with_capacity(KEPT);
    while !counters.is_over() {
        let row = Session::new(newest.fetch_add(1, Ordering::Relaxed));
        let sent = Instant::now();
        let inserted = engine.table.insert(&row).await;
        if counters.record(&counters.writes, sent, inserted).is_some() {
            counters.inserted.fetch_add(1, Ordering::Relaxed);
            kept.push_back(row.id.clone());
        }
        let sent = Instant::now();
        let updated = engine.table.update(row.id).set("revoked", true).await;
        counters.record(&counters.writes, sent, updated);
        if kept.len() > KEPT
            && let Some(oldest) = kept.pop_front()
        {
            let sent = Instant::now();
            let deleted = engine.table.delete(oldest).await;
            let rows =
                counters.record(&counters.writes, sent, deleted).map_or(0, |receipt| receipt.rows_changed);
            counters.deleted.fetch_add(rows, Ordering::Relaxed);
        }
    }
}

/// Asks for a recent row, then for a page from it on.
async fn read(engine: Engine, counters: Arc<Counters>, newest: Arc<AtomicU64>) {
    while !counters.is_over() {
        let key = Session::new(newest.load(Ordering::Relaxed).saturating_sub(PAGE as u64)).id;
        let sent = Instant::now();
        let found = engine.table.get(key.as_str()).await;
        counters.record(&counters.reads, sent, found);
        let sent = Instant::now();
        let page = engine.table.page().filter(Filter::sql("id >= ?", (key,))).limit(PAGE).await;
        counters.record(&counters.reads, sent, page);
    }
}
