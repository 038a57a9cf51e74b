//! Statements that are interrupted in the middle of a group: SQLite rolls everything back with them.

use std::time::{Duration, Instant};

use walwright::{AckLevel, ClosureError, WriteError};
use walwright_test_support::{FaultVfs, Scratch, watchdog};

use crate::run::{Run, builder, delete, insert};
use crate::template::Template;

const RUN_LIMIT: Duration = Duration::from_millis(60);
const ENDLESS: &str = "INSERT INTO item (text)
     WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT 'endless' FROM n";

#[test]
fn only_the_endless_ones_of_a_group_fail() {
    let (vfs, folder, template) = (FaultVfs::unique("interrupted"), Scratch::new(), Template::closed());
    let mut run = Run::new(vfs, template.copy_to(folder.path()), template.rows());
    let images = folder.subdirectory("after");
    watchdog(Duration::from_secs(60), move || {
        run.tweak(|builder| builder.run_limit(RUN_LIMIT));
        run.open();
        let began = Instant::now();
        run.hold();
        run.send_at(AckLevel::Committed, "first", &[insert(101, "a")], |store| {
            store.execute("INSERT INTO item VALUES (101, 'a')", ())
        });
        let gone = run.ledger.rows[&1].clone();
        run.send_at(AckLevel::Committed, "delete", &[delete(1, &gone)], |store| {
            store.execute("DELETE FROM item WHERE id = 1", ())
        });
        run.send("endless statement", &[], |store| store.execute(ENDLESS, ()));
        run.send("between", &[insert(102, "b")], |store| {
            store.execute("INSERT INTO item VALUES (102, 'b')", ())
        });
        run.send("endless closure", &[], |store| {
            store.write(|tx| -> Result<(), ClosureError> {
                tx.execute("INSERT INTO item VALUES (103, 'c')", ())?;
                loop {
                    tx.query_row("SELECT 1", (), |_| Ok(()))?;
                }
            })
        });
        run.send("endless closure that takes no notice", &[], |store| {
            store.write(|tx| {
                tx.execute("INSERT INTO item VALUES (104, 'd')", ())?;
                let _ = tx.execute(ENDLESS, ());
                let _ = tx.execute("INSERT INTO item VALUES (105, 'e')", ());
                Ok(())
            })
        });
        run.send("last", &[insert(106, "f")], |store| {
            store.execute("INSERT INTO item VALUES (106, 'f')", ())
        });
        run.settle();
        assert!(began.elapsed() < 60 * RUN_LIMIT, "the group ran for {:?}", began.elapsed());
        run.read();
        assert_eq!(run.refused(), 3, "and nobody else");
        run.conclude(&images);
    });
}

#[test]
fn a_close_with_a_limit_ends_what_runs_and_refuses_what_waits() {
    let (folder, template) = (Scratch::new(), Template::closed());
    let path = template.copy_to(folder.path());
    watchdog(Duration::from_secs(60), move || {
        let store = builder(&path).open().wait().unwrap();
        let first = store.execute("INSERT INTO item VALUES (101, 'a')", ()).try_submit().unwrap();
        let endless = store.execute(ENDLESS, ()).try_submit().unwrap();
        while store.stats().running_write.is_none() || store.stats().queued_commands > 0 {
            std::thread::yield_now();
        }
        let waiting = store.execute("INSERT INTO item VALUES (102, 'b')", ()).try_submit().unwrap();
        store.close_within(Duration::from_millis(100)).wait().unwrap();
        first.wait().unwrap();
        assert!(matches!(endless.wait().unwrap_err(), WriteError::CloseTimedOut));
        assert!(matches!(waiting.wait().unwrap_err(), WriteError::Closed));
        let store = builder(&path).open().wait().unwrap();
        let found = store.query("SELECT id FROM item WHERE id > 100", ()).wait().unwrap();
        assert_eq!(found.len(), 1, "the first is there, the others are not");
        store.close().wait().unwrap();
    });
}
