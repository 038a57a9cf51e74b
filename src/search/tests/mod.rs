//! Building by hand, slice by slice, on real files: what the walk, the triggers and what happens in between make of
//! an index. The keeper has no part in it.

mod random;
mod walk;

use std::time::Duration;

use walwright_test_support::{Scratch, watchdog};

use super::check::{self, SearchCheck};
use super::definition::{IndexDefinition, SearchMode};
use super::schema;
use super::upkeep::{Sliced, Work, carry_out};
use crate::error::SearchIndexError;
use crate::handle::Store;
use crate::sqlite::session::Tx;
use crate::sync::Arc;
use crate::table::{Row, Table};

fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(Duration::from_secs(120), body);
}

/// A store with a table and an index of it that nobody builds unasked.
struct Workshop {
    scratch: Scratch,
    store: Store,
    table: Table<Row>,
    index: Arc<IndexDefinition>,
}

impl Workshop {
    fn new(schema: &str, mode: SearchMode) -> Self {
        let scratch = Scratch::new();
        let store = open(&scratch);
        batch(&store, schema);
        let table: Table<Row> = store.table("message").open().wait().unwrap();
        let index = Arc::new(definition(&table, mode));
        Self { scratch, store, table, index }
    }

    /// Closes the store and opens it again.
    fn reopen(&mut self) {
        self.store.close().wait().unwrap();
        self.store = open(&self.scratch);
        self.table = self.store.table("message").open().wait().unwrap();
    }

    /// Makes the index, or finds it. Whether there are rows to be put in.
    fn open_index(&self) -> Result<bool, SearchIndexError> {
        let index = Arc::clone(&self.index);
        self.store.write(move |tx| schema::open(tx, &index, false)).wait().unwrap().value
    }

    fn rebuild(&self) {
        let index = Arc::clone(&self.index);
        self.store.write(move |tx| schema::rebuild(tx, &index)).wait().unwrap().value.unwrap();
    }

    /// The next slice of so many rows. Whether all are in now.
    fn slice(&self, rows: u32) -> bool {
        let sliced = self.carry_out(rows);
        assert_ne!(sliced.what, Work::Gone);
        sliced.is_ready
    }

    fn carry_out(&self, rows: u32) -> Sliced {
        let index = Arc::clone(&self.index);
        let carry_out = move |tx: &Tx<'_>| carry_out(tx, &index, rows, Duration::MAX, None);
        self.store.write(carry_out).wait().unwrap().value
    }

    /// All slices that are left.
    fn build(&self, rows: u32) {
        while !self.slice(rows) {}
    }

    fn check(&self) -> SearchCheck {
        let index = Arc::clone(&self.index);
        self.store.read(move |db| check::check(db, &index)).wait().unwrap()
    }

    /// The rowids that the index gives for a query, in order. What the table does not have is left out.
    fn ask(&self, query: &str) -> Vec<i64> {
        let (query, name) = (query.to_owned(), self.index.name.clone());
        let sql = format!(
            "SELECT id FROM message WHERE id IN (SELECT rowid FROM {name} WHERE {name} MATCH ?1) ORDER BY id"
        );
        self.store.read(move |db| db.query(&sql, [&query], |row| row.get(0))).wait().unwrap()
    }

    /// The same without an index.
    fn look(&self, text: &str) -> Vec<i64> {
        let pattern = format!("%{text}%");
        let sql = "SELECT id FROM message WHERE body LIKE ?1 ORDER BY id";
        self.store.read(move |db| db.query(sql, [&pattern], |row| row.get(0))).wait().unwrap()
    }

    fn sql(&self, sql: &str) {
        batch(&self.store, sql);
    }
}

fn open(scratch: &Scratch) -> Store {
    Store::builder(scratch.join("store.db")).readers(1).open().wait().unwrap()
}

fn batch(store: &Store, sql: &str) {
    let sql = sql.to_owned();
    store.write(move |tx| tx.execute_batch(&sql)).wait().unwrap();
}

fn definition(table: &Table<Row>, mode: SearchMode) -> IndexDefinition {
    let shape = Arc::clone(table.shape());
    let (key, body) = (shape.rowid_column.unwrap(), shape.column("body").unwrap());
    IndexDefinition { name: "message_search".to_owned(), table: shape, columns: vec![body], mode, key }
}
