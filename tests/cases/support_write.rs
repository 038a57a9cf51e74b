//! What the cases of the write path share.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use walwright::{Applied, Migration, Outcome, Pending, Receipt, Store, StoreBuilder, WriteError};
use walwright_test_support::{Gate, PATIENCE, Probe, Scratch};

/// No test here may take longer, however busy the machine is.
pub const LIMIT: Duration = Duration::from_secs(60);

/// One table: what a test writes is told apart by `id`.
pub const ITEMS: &[Migration] = &[Migration::sql(
    "CREATE TABLE item (id INTEGER PRIMARY KEY, body, quantity INTEGER CHECK (quantity >= 0))",
)];

pub const INSERT: &str = "INSERT INTO item (id, body) VALUES (?1, ?2)";

/// A store with the table `item` in a directory of its own.
pub fn builder(scratch: &Scratch) -> StoreBuilder {
    Store::builder(scratch.join("store.db")).migrations(ITEMS)
}

/// A look from outside at the file of [`builder`].
pub fn probe(scratch: &Scratch) -> Probe {
    Probe::open(scratch.join("store.db")).unwrap()
}

/// The ids on disk, seen from outside.
pub fn ids(probe: &Probe) -> Vec<i64> {
    let mut statement = probe.connection().prepare("SELECT id FROM item ORDER BY id").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// The ids that a reader of the store sees.
pub fn read_ids(store: &Store) -> Vec<i64> {
    store.read(|db| db.query("SELECT id FROM item ORDER BY id", (), |row| row.get(0))).wait().unwrap()
}

/// Sends an insert without waiting for its answer.
pub fn send(store: &Store, id: i64) -> Pending<Receipt> {
    store.execute(INSERT, (id, "body")).try_submit().unwrap()
}

/// A write closure that the writer stands in until the gate is opened: whatever is sent meanwhile
/// lands behind it.
pub struct Held {
    gate: Gate,
    pending: Pending<Applied<()>>,
}

/// Brings the writer to a gate. When this returns it stands there.
pub fn hold(store: &Store) -> Held {
    let held = send_gate(store);
    held.gate.wait_until_entered();
    held
}

/// Sends a closure that will stand at a gate when its turn comes.
pub fn send_gate(store: &Store) -> Held {
    let gate = Gate::new();
    let inside = gate.clone();
    let pending = store
        .write(move |_| {
            inside.wait();
            Ok(())
        })
        .try_submit()
        .unwrap();
    Held { gate, pending }
}

impl Held {
    /// Waits until the writer stands at the gate.
    pub fn wait_until_entered(&self) {
        self.gate.wait_until_entered();
    }

    /// Lets the writer go on; the closure itself succeeds.
    pub fn open(self) {
        self.gate.open();
        self.pending.wait().unwrap();
    }
}

/// Waits until `reached` holds. For states that the engine reports but that nobody can wait for.
#[track_caller]
pub fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !reached() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The error of a write that left nothing behind.
#[track_caller]
pub fn not_applied<T>(result: Result<T, WriteError>) -> WriteError {
    let error = result.err().expect("the write was to fail");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    error
}

/// The error of a write that never started.
#[track_caller]
pub fn not_started<T>(result: Result<T, WriteError>) -> WriteError {
    let error = result.err().expect("the write was to be refused");
    assert_eq!(error.outcome(), Outcome::NotStarted, "{error}");
    error
}

/// Counts how often a future was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A future that the test polls by hand.
pub struct ByHand<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
}

impl<F: Future> ByHand<F> {
    pub fn new(future: F) -> Self {
        Self { future: Box::pin(future), wakes: Arc::default() }
    }

    /// One poll.
    pub fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.wakes.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Whether the future was woken since it was made.
    pub fn is_woken(&self) -> bool {
        self.wakes.0.load(Ordering::SeqCst) > 0
    }

    /// Polls until it is ready, on this thread.
    #[track_caller]
    pub fn finish(mut self) -> F::Output {
        let begun = Instant::now();
        loop {
            if let Poll::Ready(output) = self.poll() {
                return output;
            }
            assert!(begun.elapsed() < PATIENCE, "the future is not ready within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Numbers that look random and are the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Runs one ignored test of this program in a process of its own, where memory and panics are its alone.
pub fn in_its_own_process(test: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test}:\n{out}\n{err}");
    assert!(out.contains("1 passed"), "no test of the name {test}:\n{out}");
    output
}

/// The most memory that this process has ever held, in bytes.
pub fn peak_memory() -> u64 {
    memory("VmHWM:")
}

/// The memory that this process holds now, in bytes.
pub fn present_memory() -> u64 {
    memory("VmRSS:")
}

fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse().unwrap();
    kib * 1024
}

/// Whether a file descriptor of this process points at a file in the directory.
pub fn has_open_files_in(directory: &Path) -> bool {
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .any(|target| target.starts_with(directory))
}
