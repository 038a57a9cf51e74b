//! The calls of the README, one after the other.
use std::time::{Duration, Instant};
use walwright::{AckLevel, Migration, Store};
use walwright_test_support::Scratch;

const MIGRATIONS: &[Migration] =
    &[Migration::sql("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")];

#[test]
fn writes_are_read_and_survive_a_reopen() {
    let scratch = Scratch::new();
    let path = scratch.join("notes.db");
    let store = Store::builder(&path).migrations(MIGRATIONS).open().wait().unwrap();
    let first = store.execute("INSERT INTO note (text) VALUES (?1)", ("one",)).wait().unwrap();
    let second = store
        .execute("INSERT INTO note (text) VALUES (?1)", ("two",))
        .ack(AckLevel::Committed)
        .wait()
        .unwrap();
    assert!(second.sequence > first.sequence);
    let n = store
        .write(|tx| {
            tx.execute("INSERT INTO note (text) VALUES ('three')", ())?;
            Ok(tx.last_insert_rowid())
        })
        .wait()
        .unwrap();
    assert_eq!(n.value, 3);
    assert_eq!(n.receipt.rows_changed, 1);
    let texts: Vec<String> =
        store.read(|db| db.query("SELECT text FROM note ORDER BY id", (), |row| row.get(0))).wait().unwrap();
    assert_eq!(texts, ["one", "two", "three"]);
    store.flush().wait().unwrap();
    store.close().wait().unwrap();
    assert!(!scratch.join("notes.db-wal").exists());
    let store = Store::builder(&path).migrations(MIGRATIONS).open().wait().unwrap();
    let again = store.execute("DELETE FROM note WHERE id = 2", ()).wait().unwrap();
    assert!(again.sequence > n.receipt.sequence);
    assert_eq!(store.query("SELECT * FROM note", ()).wait().unwrap().len(), 2);
}

#[tokio::test]
async fn speed() {
    let scratch = Scratch::new();
    let store = Store::builder(scratch.join("notes.db")).migrations(MIGRATIONS).open().await.unwrap();
    for _ in 0..3 {
        let t = Instant::now();
        let mut all = vec![];
        for i in 0..20000i64 {
            all.push(store.execute("INSERT INTO note (text) VALUES (?1)", (i,)).submit().await.unwrap());
        }
        for p in all {
            p.await.unwrap();
        }
        println!("{:?} {:?}", t.elapsed(), store.stats());
    }
    let t = Instant::now();
    for i in 0..200i64 {
        store.execute("INSERT INTO note (text) VALUES (?1)", (i,)).await.unwrap();
    }
    println!("one {:?}", t.elapsed() / 200);
    store.close_within(Duration::from_secs(1)).await.unwrap();
}
