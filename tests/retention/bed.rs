//! A store with policies, a clock of its own, and a wait for what the keeper does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use walwright::{ChoreStats, Migration, Retention, Store, StoreBuilder};
use walwright_test_support::{Probe, Scratch, watchdog};

/// Longer than any test takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Runs a test's body under the watchdog.
#[track_caller]
pub fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(LIMIT, body);
}

/// A wall clock that stands still until it is set. In milliseconds since 1970.
#[derive(Clone, Default)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    pub fn at(millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(millis)))
    }

    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    fn now(&self) -> SystemTime {
        let millis = self.0.load(Ordering::SeqCst);
        let distance = Duration::from_millis(millis.unsigned_abs());
        if millis < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }

    pub fn of(&self, builder: StoreBuilder) -> StoreBuilder {
        let clock = self.clone();
        builder.wall_clock(move || clock.now())
    }
}

/// A store in a folder of its own.
pub struct Bed {
    scratch: Scratch,
    pub store: Store,
    pub clock: Clock,
}

impl Bed {
    /// A store that was filled by `rows` before it was opened with the policies.
    pub fn filled(schema: &'static str, rows: &'static str, policies: &[Retention]) -> Self {
        let scratch = Scratch::new();
        let store = Store::builder(scratch.join("store.db")).migrations(&[Migration::sql(schema)]).readers(1);
        let store = store.open().wait().unwrap();
        store
            .write(move |tx| {
                tx.execute_batch(rows)?;
                Ok(())
            })
            .wait()
            .unwrap();
        store.close().wait().unwrap();
        let clock = Clock::at(0);
        let store = open(&scratch, &clock, policies);
        Self { scratch, store, clock }
    }

    pub fn new(schema: &'static str, policies: &[Retention]) -> Self {
        Self::filled(schema, "", policies)
    }

    /// Closes the store and opens it again.
    pub fn reopen(self, policies: &[Retention]) -> Self {
        self.store.close().wait().unwrap();
        let store = open(&self.scratch, &self.clock, policies);
        Self { store, ..self }
    }

    #[track_caller]
    pub fn sql(&self, sql: &'static str) {
        self.store
            .write(move |tx| {
                tx.execute_batch(sql)?;
                Ok(())
            })
            .wait()
            .unwrap();
    }

    /// Another program's connection.
    pub fn probe(&self) -> Probe {
        Probe::open(self.scratch.join("store.db")).unwrap()
    }

    /// A number, seen from outside.
    #[track_caller]
    pub fn count(&self, sql: &str) -> i64 {
        self.probe().count(sql).unwrap()
    }

    /// The only policy's line.
    #[track_caller]
    pub fn line(&self) -> ChoreStats {
        let mut chores = self.store.stats().chores;
        assert_eq!(chores.len(), 1);
        chores.remove(0)
    }

    /// Waits until the number is what it should be. The watchdog ends a wait for what never comes.
    pub fn until(&self, sql: &str, wanted: i64) {
        while self.count(sql) != wanted {
            self.store.sweep();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the only policy's line says so: it is written after what it tells of can be seen.
    pub fn until_line(&self, says: impl Fn(&ChoreStats) -> bool) {
        while !says(&self.line()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the only policy has looked again, from now on, and found nothing more to do.
    pub fn settled(&self) {
        self.store.sweep();
        let slices = self.line().slices;
        loop {
            let line = self.line();
            // The first slice may have been under way before, and have asked the clock by then.
            if line.slices > slices + 1 && line.working_for.is_none() {
                return;
            }
            self.store.sweep();
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn open(scratch: &Scratch, clock: &Clock, policies: &[Retention]) -> Store {
    let mut builder = Store::builder(scratch.join("store.db")).readers(1);
    for policy in policies {
        builder = builder.retention(policy.clone());
    }
    clock.of(builder).open().wait().unwrap()
}
