//! A store that is watched, and its changes in words.

use std::time::Duration;

use walwright::rusqlite::Connection;
use walwright::{
    AckLevel, Change, ChangeKey, ChangeStream, ChangesError, Migration, Operation, Row, Store, StoreBuilder,
    Table, Value,
};
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

/// Longer than any test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test's body under the watchdog.
#[track_caller]
pub fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(LIMIT, body);
}

/// A store in a folder of its own, with a stream of its changes.
pub struct Bed {
    pub scratch: Scratch,
    pub vfs: &'static FaultVfs,
    pub store: Store,
    pub changes: ChangeStream,
}

impl Bed {
    pub fn new(schema: &'static str) -> Self {
        Self::with(schema, |builder| builder)
    }

    /// With other settings.
    pub fn with(schema: &'static str, set: impl FnOnce(StoreBuilder) -> StoreBuilder) -> Self {
        let (scratch, vfs) = (Scratch::new(), FaultVfs::unique("changes"));
        let builder = Store::builder(scratch.join("store.db"))
            .vfs(vfs.name())
            .migrations(&[Migration::sql(schema)])
            .readers(1)
            // No test depends on what a group can do in its time.
            .group(256, 1 << 20, LIMIT);
        let store = set(builder).open().wait().unwrap();
        let changes = store.changes();
        Self { scratch, vfs, store, changes }
    }

    /// The table `t`, with the revision column `v`.
    pub fn table(&self) -> Table<Row> {
        self.store.table("t").revision("v").open().wait().unwrap()
    }

    /// Runs one statement and gives its sequence.
    #[track_caller]
    pub fn sql(&self, sql: &'static str) -> u64 {
        self.store.execute(sql, ()).wait().unwrap().sequence
    }

    /// What a statement tells.
    #[track_caller]
    pub fn told_of(&mut self, sql: &'static str) -> Vec<String> {
        assert_eq!(self.told(), Vec::<String>::new(), "before {sql}");
        self.sql(sql);
        self.told()
    }

    /// What a closure of these statements tells, whose errors it takes no notice of.
    #[track_caller]
    pub fn told_of_closure(&mut self, statements: &'static [&'static str]) -> Vec<String> {
        let closure = self.store.write(move |tx| {
            for sql in statements {
                let _ = tx.execute(sql, []);
            }
            Ok(())
        });
        closure.wait().unwrap();
        self.told()
    }

    /// What is there in the stream, in words.
    #[track_caller]
    pub fn told(&mut self) -> Vec<String> {
        told(&mut self.changes)
    }

    /// The connection of another program.
    pub fn outside(&self) -> Connection {
        Connection::open(self.scratch.join("store.db")).unwrap()
    }
}

/// What is there in a stream, taken.
#[track_caller]
pub fn taken(changes: &mut ChangeStream) -> Vec<Change> {
    std::iter::from_fn(|| changes.try_next()).collect::<Result<_, ChangesError>>().unwrap()
}

#[track_caller]
pub fn told(changes: &mut ChangeStream) -> Vec<String> {
    let taken = taken(changes);
    assert!(taken.is_sorted_by_key(Change::sequence), "{taken:?}");
    taken.iter().map(shown).collect()
}

/// A change in words, without its sequence: `insert t(1) r1`, `delete t rowid 5`, `table t`.
pub fn shown(change: &Change) -> String {
    let row = match change {
        Change::Row(row) => row,
        Change::Table { table, .. } => return format!("table {table}"),
        Change::Anything { .. } => return "anything".to_owned(),
        Change::Lagged { .. } => return "lagged".to_owned(),
        other => panic!("unknown: {other:?}"),
    };
    let operation = match row.operation {
        Operation::Insert => "insert",
        Operation::Update => "update",
        Operation::Delete => "delete",
    };
    let key = match &row.key {
        ChangeKey::Key(values) => {
            format!("({})", values.iter().map(shown_value).collect::<Vec<_>>().join(", "))
        }
        ChangeKey::Rowid(rowid) => format!(" rowid {rowid}"),
        other => panic!("unknown: {other:?}"),
    };
    let revision = row.revision.map_or_else(String::new, |revision| format!(" r{revision}"));
    format!("{operation} {}{key}{revision}", row.table)
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(real) => format!("{real:?}"),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => format!("{bytes:02x?}"),
    }
}

/// A row of the table `t`.
pub fn row(id: impl Into<Value>, name: &str) -> Row {
    Row::new().with("id", id).and_then(|row| row.with("name", name)).unwrap()
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
