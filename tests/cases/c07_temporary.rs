//! C07. With `:memory:` every pooled connection had a database of its own: "no such table" at random, and all
//! data gone once the pool had dropped its idle connections (transact-rs/sqlx#2510).
//!
//! Must hold: the temporary store behaves like a file on every reader for its whole life; two of them share
//! nothing; `":memory:"` as a path is refused with a message that names it.

use walwright::{OpenError, ReadError, Store};
use walwright_test_support::watchdog;

use crate::support_read::{LIMIT, eventually, on_every_reader};

const READERS: usize = 4;

fn filled(name: &'static str) -> Store {
    // The shortest log there is: every write is worth a checkpoint, and the idle writer has nothing left to do.
    let builder = Store::temporary().readers(READERS).wal_limits(1, 64 * 1024 * 1024);
    let store = builder.open().wait().unwrap();
    store.execute("CREATE TABLE t (name TEXT, n INTEGER)", ()).wait().unwrap();
    for n in 0..100 {
        store.execute("INSERT INTO t VALUES (?1, ?2)", (name, n)).wait().unwrap();
    }
    store
}

fn is_whole(store: &Store, name: &'static str, rows: i64) {
    for found in on_every_reader(store, READERS, |db| {
        let sql = "SELECT min(name), max(name), count(*) FROM t";
        let row = |row: &walwright::rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        db.query_row::<(String, String, i64), _, _>(sql, (), row)
    }) {
        assert_eq!(found.unwrap(), (name.to_owned(), name.to_owned(), rows));
    }
}

#[test]
fn c07_temporary_stores_are_whole_on_every_reader_and_share_nothing() {
    watchdog(LIMIT, || {
        let (one, two) = (filled("one"), filled("two"));
        assert_ne!(one.settings().path, two.settings().path);
        assert_eq!(one.settings().journal_mode, "wal");
        is_whole(&one, "one", 100);
        is_whole(&two, "two", 100);
        // Closures that panic on every reader, twice over, cost no data.
        for store in [&one, &two] {
            for _ in 0..2 {
                let reads = on_every_reader(store, READERS, |_| -> Result<(), _> { panic!("in a read") });
                assert!(reads.iter().all(|read| matches!(read, Err(ReadError::Panic { .. }))));
            }
        }
        // Idle until the writer has done all its upkeep and sleeps.
        eventually("the log of an idle store is copied", || one.stats().wal_pending_frames == 0);
        is_whole(&one, "one", 100);
        one.execute("INSERT INTO t VALUES ('one', 100)", ()).wait().unwrap();
        is_whole(&one, "one", 101);
        is_whole(&two, "two", 100);
    });
}

#[test]
fn c07_a_temporary_store_lives_while_a_handle_does_and_leaves_nothing() {
    watchdog(LIMIT, || {
        let store = filled("one");
        let folder = store.settings().path.parent().unwrap().to_owned();
        let other = store.clone();
        drop(store);
        is_whole(&other, "one", 100);
        assert!(folder.exists());
        other.close().wait().unwrap();
        assert!(!folder.exists(), "gone when close says so");
        let folder = filled("two").settings().path.parent().unwrap().to_owned();
        eventually("the last handle takes the folder with it", || !folder.exists());
    });
}

#[test]
fn c07_memory_is_no_path() {
    watchdog(LIMIT, || {
        let error = Store::builder(":memory:").open().wait().map(drop).unwrap_err();
        assert!(matches!(error, OpenError::InvalidPath { .. }));
        let text = error.to_string();
        assert!(text.contains(":memory:") && text.contains("temporary store"), "{text}");
        assert!(!std::path::Path::new(":memory:").exists());
    });
}
