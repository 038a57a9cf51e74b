//! C40. An upsert was an INSERT OR REPLACE, which deletes the row and makes it anew: children vanish by their foreign
//! keys, the creation time and the row's id change, other triggers run than expected (cashubtc/cdk#620; also
//! Mimetis/Dotmim.Sync#460, simonw/sqlite-chronicle#7).
//!
//! What must hold: an upsert of a row that is there keeps the row, its dependants and every column that it does not
//! give; the revision rises by one; the receipt tells whether the row was made or changed. Also when upserts
//! are carried out together.

use serde::{Deserialize, Serialize};
use walwright::{Migration, Store, Table};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::{LIMIT, hold};

/// A child goes with its parent, so a parent that goes for a moment takes it along.
const SCHEMA: &str = "CREATE TABLE quote (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, \
                          created TEXT NOT NULL DEFAULT 'once', note TEXT, version INTEGER NOT NULL); \
                      CREATE TABLE payment (id INTEGER PRIMARY KEY, \
                          quote TEXT NOT NULL REFERENCES quote ON DELETE CASCADE ON UPDATE CASCADE); \
                      CREATE TABLE plain (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, \
                          created TEXT NOT NULL DEFAULT 'once', note TEXT, version INTEGER NOT NULL); \
                      CREATE TABLE log (what TEXT)";

const TRIGGERS: &str = "CREATE TRIGGER made AFTER INSERT ON quote BEGIN INSERT INTO log VALUES ('insert'); END; \
                        CREATE TRIGGER changed AFTER UPDATE ON quote BEGIN INSERT INTO log VALUES ('update'); END; \
                        CREATE TRIGGER gone AFTER DELETE ON quote BEGIN INSERT INTO log VALUES ('delete'); END";

#[derive(Serialize, Deserialize)]
struct Quote {
    id: String,
    amount: i64,
    // Created is the database's, the note somebody else's.
}

fn quote(amount: i64) -> Quote {
    Quote { id: "q".to_owned(), amount }
}

fn open(scratch: &Scratch) -> Store {
    let migrations = [Migration::sql(SCHEMA), Migration::sql(TRIGGERS)];
    Store::builder(scratch.join("store.db")).migrations(&migrations).open().wait().unwrap()
}

fn table(store: &Store, name: &str) -> Table<Quote> {
    store.table(name).revision("version").open().wait().unwrap()
}

/// The first column of a query.
fn texts(store: &Store, sql: &'static str) -> Vec<String> {
    let rows = store.query(sql, ()).wait().unwrap();
    rows.iter().map(|row| row.get(0).unwrap()).collect()
}

#[test]
fn c40_an_upsert_keeps_the_row_and_its_dependants() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let quotes = table(&store, "quote");
        let made = quotes.upsert(&quote(1)).wait().unwrap();
        assert_eq!((made.created, made.revision, made.rowid), (true, Some(1), Some(1)));
        store.execute("INSERT INTO payment VALUES (10, 'q'), (11, 'q')", ()).wait().unwrap();
        store.execute("UPDATE quote SET created = 'long ago', note = 'mine'", ()).wait().unwrap();
        store.execute("DELETE FROM log", ()).wait().unwrap();

        for revision in [2, 3] {
            let changed = quotes.upsert(&quote(revision * 10)).wait().unwrap();
            assert_eq!((changed.created, changed.rows_changed), (false, 1));
            assert_eq!(changed.revision, Some(revision));
        }
        let row = "SELECT rowid || amount || created || note || version FROM quote";
        assert_eq!(texts(&store, row), ["130long agomine3"]);
        assert_eq!(texts(&store, "SELECT id || quote FROM payment"), ["10q", "11q"]);
        assert_eq!(texts(&store, "SELECT what FROM log"), ["update", "update"]);
    });
}

/// Upserts that are carried out as one statement, on a table that allows it.
#[test]
fn c40_upserts_of_one_group_are_told_apart() {
    watchdog(LIMIT, || {
        for there in [false, true] {
            let scratch = Scratch::new();
            let store = open(&scratch);
            let quotes = table(&store, "plain");
            let base = i64::from(there);
            quotes.upsert(&Quote { id: "other".to_owned(), amount: 0 }).wait().unwrap();
            if there {
                quotes.insert(&quote(0)).wait().unwrap();
                store.execute("UPDATE plain SET created = 'long ago', note = 'mine'", ()).wait().unwrap();
            }
            let gate = hold(&store);
            let sent: Vec<_> = (1..=5).map(|n| quotes.upsert(&quote(n)).try_submit().unwrap()).collect();
            gate.open();
            for (n, pending) in (1..).zip(sent) {
                let receipt = pending.wait().unwrap();
                assert_eq!(receipt.revision, Some(base + n));
                assert_eq!(receipt.created, !there && n == 1);
                assert_eq!(receipt.filled("created").is_some(), receipt.created);
                assert_eq!(receipt.rowid.is_some(), receipt.created);
            }
            let row =
                "SELECT rowid || amount || created || ifnull(note, '-') || version FROM plain WHERE id = 'q'";
            let expected = if there { "25long agomine6" } else { "25once-5" };
            assert_eq!(texts(&store, row), [expected]);
        }
    });
}

#[test]
fn c40_many_upserts_in_pieces_keep_dependants_too() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let quotes = table(&store, "quote");
        let all = |amount| (0..500).map(move |id| Quote { id: format!("q{id}"), amount });
        assert_eq!(quotes.upsert_many(all(1)).wait().unwrap().rows_changed, 500);
        store.execute("INSERT INTO payment (quote) SELECT id FROM quote", ()).wait().unwrap();
        assert_eq!(quotes.upsert_many(all(2)).wait().unwrap().rows_changed, 500);
        assert_eq!(texts(&store, "SELECT count(*) || '' FROM payment"), ["500"]);
        assert_eq!(texts(&store, "SELECT DISTINCT amount || created || version FROM quote"), ["2once2"]);
    });
}
