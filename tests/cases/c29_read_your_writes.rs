//! C29. A pooled reader still stood in an old transaction, or on a statement that nobody had reset: a POST
//! followed by a GET missed the record, on that connection for ever (superfly/corrosion#543).
//!
//! Must hold: a read that starts after a write's Ok sees it, on every reader, whatever earlier closures did
//! with theirs.

use walwright::{AckLevel, ClosureError, Db, NotAllowed, ReadError, Store, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_read::{LIMIT, on_every_reader};

const READERS: usize = 4;
/// The report's test did 10,000; each round here reads on all four readers.
const ROUNDS: i64 = 500;

fn open(scratch: &Scratch) -> Store {
    let store = Store::builder(scratch.join("a.db")).readers(READERS).open().wait().unwrap();
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
                  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
                  INSERT INTO t SELECT i, 0 FROM n";
    store.write(move |tx| tx.execute_batch(schema)).wait().unwrap();
    store
}

fn newest(db: &Db<'_>) -> Result<i64, ClosureError> {
    db.query_row("SELECT n FROM t WHERE id = 7", (), |row| row.get(0))
}

/// Writes, and reads it on every reader, `rounds` times.
fn always_visible(store: &Store, from: i64, rounds: i64) {
    for n in from..from + rounds {
        let level = if n % 8 == 0 { AckLevel::Durable } else { AckLevel::Committed };
        store.execute("UPDATE t SET n = ?1 WHERE id = 7", (n,)).ack(level).wait().unwrap();
        for seen in on_every_reader(store, READERS, newest) {
            assert_eq!(seen.unwrap(), n);
        }
    }
}

type Misdeed = fn(&Db<'_>) -> Result<(), ClosureError>;

/// The ways to leave a statement unfinished.
const MISDEEDS: [Misdeed; 7] = [
    // Steps one row and returns early.
    |db| {
        let mut statement = db.prepare("SELECT * FROM t")?;
        statement.query(())?.next()?;
        Ok(())
    },
    // The same with an error.
    |db| {
        let mut statement = db.prepare("SELECT * FROM t")?;
        statement.query(())?.next()?;
        Err(ClosureError::message("early"))
    },
    // Forgets the rows.
    |db| {
        let mut statement = db.prepare("SELECT * FROM t")?;
        let mut rows = statement.query(())?;
        rows.next()?;
        std::mem::forget(rows);
        Ok(())
    },
    // Forgets the statement with its cursor.
    |db| {
        let mut statement = db.prepare("SELECT id, n FROM t")?;
        statement.query(())?.next()?;
        let mut rows = statement.query(())?;
        rows.next()?;
        std::mem::forget(rows);
        std::mem::forget(statement);
        Ok(())
    },
    // Many of them, of one text.
    |db| {
        for _ in 0..10 {
            let mut statement = db.prepare("SELECT n FROM t")?;
            let mut rows = statement.query(())?;
            rows.next()?;
            std::mem::forget(rows);
            std::mem::forget(statement);
        }
        Ok(())
    },
    // Panics in the middle of the rows.
    |db| {
        let mut statement = db.prepare("SELECT * FROM t")?;
        let mut rows = statement.query(())?;
        rows.next()?;
        panic!("in the middle")
    },
    // Begins a transaction of its own, and reads in it.
    |db| {
        let begun = db.query_optional("BEGIN", (), |_| Ok(()));
        assert!(begun.is_err_and(|error| error.downcast_ref::<NotAllowed>().is_some()));
        newest(db).map(drop)
    },
];

#[test]
fn c29_a_read_sees_what_was_acknowledged_before_it_on_every_reader() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        for (at, misdeed) in MISDEEDS.iter().enumerate() {
            let misdeed = *misdeed;
            let done = on_every_reader(&store, READERS, move |db| {
                newest(db)?;
                misdeed(db)
            });
            for result in done {
                match (at, result) {
                    (1, Err(ReadError::Closure(_))) | (5, Err(ReadError::Panic { .. })) => {}
                    (0 | 2 | 3 | 4 | 6, Ok(())) => {}
                    (at, other) => panic!("misdeed {at}: {other:?}"),
                }
            }
            always_visible(&store, 1 + at as i64 * 10, 10);
        }
        always_visible(&store, 1000, ROUNDS);
        // Nothing is pinned by what was left: the log can start over.
        store.close().wait().unwrap();
    });
}

#[test]
fn c29_stopped_reads_leave_no_snapshot_behind() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        for n in 1..20 {
            let reads = on_every_reader(&store, READERS, |db| {
                newest(db)?;
                // A result that is larger than the limit of this query's caller, dropped half way.
                let mut statement = db.prepare("SELECT a.n FROM t a, t b, t c")?;
                let mut rows = statement.query(())?;
                for _ in 0..1000 {
                    rows.next()?;
                }
                Err::<(), _>(ClosureError::message("enough"))
            });
            assert!(reads.iter().all(|read| matches!(read, Err(ReadError::Closure(_)))));
            always_visible(&store, n, 1);
        }
    });
}

#[test]
fn c29_a_failed_write_is_not_seen_and_the_next_one_is() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        for n in 1..20 {
            let failed = store.write(move |tx| {
                tx.execute("UPDATE t SET n = -1 WHERE id = 7", ())?;
                Err::<(), _>(ClosureError::message("no"))
            });
            assert!(matches!(failed.wait(), Err(WriteError::Closure(_))));
            for seen in on_every_reader(&store, READERS, newest) {
                assert!(seen.unwrap() >= 0);
            }
            always_visible(&store, n, 1);
        }
    });
}
