//! Small writes beside a sweep of expired rows.
//!
//! Clients insert one row after the other, durably, first alone and then while 100,000 rows that have expired are
//! removed. The sweep goes in slices that share groups with the clients, and rests in between, so they should hardly
//! notice: their p99 may grow three times.
//!
//! `cargo bench --bench retention -- [--rows N] [--rounds N] [--clients N,N] [--sync-delay-ms N,N] [--scattered]
//! [--dir DIR] [--json]`
//!
//! With `--scattered` rows expire in another order than that in which they were inserted: each is on a page of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use walwright::{Migration, Retention, Store, Table, TimeUnit};
use walwright_bench_workload::Bar;
use walwright_benches::Result;
use walwright_benches::options::Options;
use walwright_benches::place::Place;
use walwright_benches::small_writes::SmallWrites;
use walwright_test_support::FaultVfs;

/// How much longer a small write may take beside the sweep, at p99.
const LIMIT: f64 = 3.0;
/// The clients run alone for as long.
const ALONE: Duration = Duration::from_secs(3);
/// When the rows that are swept expire, in seconds since 1970.
const EXPIRED: i64 = 1000;

const MIGRATIONS: &[Migration] = &[Migration::sql(
    "CREATE TABLE session (id INTEGER PRIMARY KEY, expires INTEGER NOT NULL, body TEXT NOT NULL);
     CREATE INDEX session_expires ON session (expires);",
)];

#[derive(Serialize, Deserialize)]
struct Session {
    id: Option<i64>,
    expires: i64,
    body: String,
}

fn main() -> Result<()> {
    let options =
        Options::from_command_line(&["rows", "rounds", "clients", "sync-delay-ms"], &["scattered"])?;
    let one =
        |name: &str, default: i64| Ok::<_, walwright_benches::AnyError>(options.list(name, &[default])?[0]);
    let (rows, rounds) = (one("rows", 100_000)?, one("rounds", 3)?);
    let place = Place::create(options.dir.as_deref())?;
    let vfs = FaultVfs::unique("retention");
    if !options.json {
        println!("{}, a sync takes {:.2?}", place.filesystem, place.sync);
    }
    for delay in options.list("sync-delay-ms", &[0_u64, 5])? {
        vfs.set_sync_delay(Duration::from_millis(delay));
        for clients in options.list("clients", &[1_usize, 8])? {
            let mut ratios = Vec::new();
            for round in 1..=rounds {
                let folder = place.folder("retention")?;
                let trial = Trial::new(&folder.join("retention.db"), vfs, rows, options.has("scattered"))?;
                ratios.push(trial.run(clients, |line| {
                    if !options.json {
                        println!("{clients} client(s), +{delay} ms a sync, round {round}: {line}");
                    }
                })?);
            }
            ratios.sort_by(f64::total_cmp);
            let name =
                format!("p99 of {clients} client(s) beside a sweep, against alone, +{delay} ms a sync");
            let bar = Bar::at_most(name, ratios[ratios.len() / 2], LIMIT);
            if options.json {
                println!("{}", serde_json::to_string(&bar)?);
            } else {
                println!("{bar}");
            }
        }
    }
    Ok(())
}

/// A store with rows that are about to expire.
struct Trial {
    store: Store,
    sessions: Table<Session>,
    clock: Arc<AtomicI64>,
    rows: i64,
}

impl Trial {
    fn new(path: &std::path::Path, vfs: &FaultVfs, rows: i64, scattered: bool) -> Result<Self> {
        let clock = Arc::new(AtomicI64::new(0));
        let now = Arc::clone(&clock);
        let store = Store::builder(path)
            .vfs(vfs.name())
            .migrations(MIGRATIONS)
            .retention(Retention::of("session").expires("expires", TimeUnit::Seconds))
            .wall_clock(move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::SeqCst).unsigned_abs()))
            .open()
            .wait()?;
        let sessions = store.table::<Session>("session").open().wait()?;
        for chunk in 0..rows / 10_000 {
            let expires = |at: i64| {
                let at = chunk * 10_000 + at;
                // A step that has no divisor in common with the number of rows goes by all of them.
                1 + (if scattered { at * 7_919 % rows } else { at }) * (EXPIRED - 1) / rows
            };
            sessions.insert_many((0..10_000).map(|at| session(expires(at)))).wait()?;
        }
        Ok(Self { store, sessions, clock, rows })
    }

    fn run(self, clients: usize, print: impl Fn(String)) -> Result<f64> {
        let write = || -> Result<()> {
            self.sessions.insert(&session(i64::from(i32::MAX))).wait()?;
            Ok(())
        };
        let alone = SmallWrites::alone(clients, write, ALONE)?;
        let mut took = Duration::ZERO;
        let beside = SmallWrites::beside(clients, write, || {
            let began = Instant::now();
            self.clock.store(EXPIRED, Ordering::SeqCst);
            self.store.sweep();
            while self.store.stats().chores[0].rows < self.rows.unsigned_abs() {
                std::thread::sleep(Duration::from_millis(10));
            }
            took = began.elapsed();
            Ok(())
        })?;
        let ratio = beside.p99.as_secs_f64() / alone.p99.as_secs_f64();
        print(format!(
            "alone {alone}; beside a sweep of {} rows ({took:.1?}, {} slices) {beside}; p99 ratio {ratio:.2}",
            self.rows,
            self.store.stats().chores[0].slices,
        ));
        self.store.close().wait()?;
        Ok(ratio)
    }
}

fn session(expires: i64) -> Session {
    Session { id: None, expires, body: "x".repeat(200) }
}
