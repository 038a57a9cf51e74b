//! A store in a folder of its own, and a look at its file from outside.

use std::time::Duration;

use serde::de::DeserializeOwned;
use walwright::rusqlite::Connection;
use walwright::rusqlite::types::ValueRef;
use walwright::{AckLevel, Migration, Outcome, Store, StoreBuilder, Table, WriteError};
use walwright_test_support::{Gate, Probe, Scratch, watchdog};

/// Longer than any test takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test's body under the watchdog.
#[track_caller]
pub fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(LIMIT, body);
}

/// A store in a folder of its own.
pub struct Bed {
    scratch: Scratch,
    pub store: Store,
}

impl Bed {
    pub fn new(schema: &'static str) -> Self {
        Self::with(schema, |builder| builder)
    }

    /// With other settings.
    pub fn with(schema: &'static str, set: impl FnOnce(StoreBuilder) -> StoreBuilder) -> Self {
        let scratch = Scratch::new();
        let builder = Store::builder(scratch.join("store.db"))
            .migrations(&[Migration::sql(schema)])
            .readers(1)
            // No test depends on what a group can do in its time.
            .group(256, 1 << 20, LIMIT);
        let store = set(builder).open().wait().unwrap();
        Self { scratch, store }
    }

    pub fn table<T: DeserializeOwned>(&self, name: &str) -> Table<T> {
        self.store.table(name).open().wait().unwrap()
    }

    /// The table `t` with the revision column `v`.
    pub fn revised<T: DeserializeOwned>(&self) -> Table<T> {
        self.store.table("t").revision("v").open().wait().unwrap()
    }

    /// Closes the store and opens it again, without migrations.
    pub fn reopen(self) -> Self {
        self.store.close().wait().unwrap();
        let store = Store::builder(self.scratch.join("store.db")).readers(1).open().wait().unwrap();
        Self { store, ..self }
    }

    /// Runs statements of the program's own.
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

    /// The connection of another program.
    pub fn outside(&self) -> Connection {
        Connection::open(self.scratch.join("store.db")).unwrap()
    }

    /// The rows of a query on the file, seen from outside, each as `1|text|NULL`.
    #[track_caller]
    pub fn look(&self, sql: &str) -> Vec<String> {
        let probe = Probe::open(self.scratch.join("store.db")).unwrap();
        probe.integrity_check().unwrap();
        let mut statement = probe.connection().prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let values = (0..columns).map(|at| Ok(shown(row.get_ref(at)?)));
            values.collect::<Result<Vec<_>, _>>().map(|values| values.join("|"))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The single value of a query on the file, seen from outside.
    #[track_caller]
    pub fn one(&self, sql: &str) -> String {
        self.look(sql).remove(0)
    }
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(integer) => integer.to_string(),
        ValueRef::Real(real) => format!("{real:?}"),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("{bytes:02x?}"),
    }
}

/// Keeps the writer busy until the gate is opened. What is sent meanwhile becomes one group.
pub fn hold(store: &Store) -> Gate {
    let gate = Gate::new();
    let inside = gate.clone();
    let holding = store.write(move |_| {
        inside.wait();
        Ok(())
    });
    drop(holding.ack(AckLevel::Committed).try_submit().unwrap());
    gate.wait_until_entered();
    gate
}

/// The error of a write that left nothing behind.
#[track_caller]
pub fn not_applied<T>(result: Result<T, WriteError>) -> WriteError {
    let error = result.err().expect("the write was to fail");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    error
}

/// The error of a write that was never queued.
#[track_caller]
pub fn not_started<T>(result: Result<T, WriteError>) -> WriteError {
    let error = result.err().expect("the write was to be refused");
    assert_eq!(error.outcome(), Outcome::NotStarted, "{error}");
    error
}

/// That a constraint of the schema refused a write, which left nothing behind.
#[track_caller]
pub fn constraint<T>(result: Result<T, WriteError>) {
    let error = not_applied(result);
    assert!(matches!(error, WriteError::Constraint(_)), "{error}");
}

/// The revision of the row, if it is there, that a failed guard reports.
#[track_caller]
pub fn conflict<T>(result: Result<T, WriteError>) -> Option<Option<i64>> {
    match not_applied(result) {
        WriteError::Conflict(conflict) => conflict.exists.then_some(conflict.revision),
        error => panic!("not a conflict: {error}"),
    }
}
