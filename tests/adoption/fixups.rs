//! Long one-shot work behind the open store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use walwright::{
    ClosureError, Fixup, FixupProgress, FixupState, FixupStep, FixupsError, Store, StoreBuilder, WriteError,
};
use walwright_test_support::vfs::{FaultVfs, FileKind};
use walwright_test_support::{Gate, Probe, Scratch};

use crate::bed::{MESSAGES, old_file, open, recognising, run};

/// Fills `lower_nick`, a few rows at a time, and counts in it how often each row was met.
pub fn fill() -> Fixup {
    Fixup::new("fill lower_nick", fill_step)
}

fn fill_step(step: &FixupStep<'_>) -> Result<FixupProgress, ClosureError> {
    let from = step.place().as_i64().unwrap_or(0);
    let to: Option<i64> = step.tx().query_row(
        "SELECT max(id) FROM (SELECT id FROM message WHERE id > ?1 ORDER BY id LIMIT ?2)",
        (from, step.rows().min(50)),
        |row| row.get(0),
    )?;
    let Some(to) = to else { return Ok(FixupProgress::Done) };
    step.tx().execute(
        "UPDATE message SET lower_nick = coalesce(lower_nick, '') || lower(nick) WHERE id > ?1 AND id <= ?2",
        (from, to),
    )?;
    Ok(FixupProgress::More { at: to.into() })
}

/// Messages that were met once, and all others that were met.
fn met(path: &Path) -> (i64, i64) {
    let probe = Probe::open(path).unwrap();
    let once = probe.count("SELECT count(*) FROM message WHERE lower_nick = lower(nick)").unwrap();
    (once, probe.count("SELECT count(*) FROM message WHERE lower_nick <> lower(nick)").unwrap())
}

fn index() -> Fixup {
    Fixup::sql("index lower_nick", "CREATE INDEX message_nick ON message (lower_nick)")
}

fn builder(path: &Path) -> StoreBuilder {
    recognising(path).fixup(fill()).fixup(index())
}

fn states(store: &Store) -> Vec<FixupState> {
    store.fixups().iter().map(|fixup| fixup.state).collect()
}

#[test]
fn fixups_are_done_in_their_order_and_once() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        let store = open(builder(&path));
        store.fixups_done().wait().unwrap();
        assert_eq!(states(&store), [FixupState::Done; 2]);
        let all = store.fixups();
        assert_eq!((all[0].name.as_str(), all[0].rows), ("fill lower_nick", MESSAGES as u64));
        assert!(all[0].steps > 5, "{all:?}");
        assert_eq!((all[1].steps, all[1].last_error.as_deref()), (1, None));
        assert_eq!(met(&path), (MESSAGES, 0));
        // Nobody but the engine writes where they stand.
        let meddled = store.execute("DELETE FROM walwright_fixup", ()).wait();
        assert!(matches!(meddled, Err(WriteError::NotAllowed { .. })), "{meddled:?}");
        store.close().wait().unwrap();

        // The second time there is nothing to do, and nothing is written.
        let vfs = FaultVfs::unique("fixups");
        let never = Fixup::new("fill lower_nick", |_| panic!("it was done"));
        let store = open(recognising(&path).vfs(vfs.name()).fixup(never).fixup(index()));
        store.fixups_done().wait().unwrap();
        assert_eq!(states(&store), [FixupState::Done; 2]);
        assert_eq!(store.settings().opening.fixups_done, ["fill lower_nick", "index lower_nick"]);
        assert_eq!(vfs.counts(FileKind::Wal).writes + vfs.counts(FileKind::Database).writes, 0);
        store.close().wait().unwrap();
    });
}

#[test]
fn a_store_without_fixups_is_done() {
    run(|| {
        let store = Store::temporary().open().wait().unwrap();
        store.fixups_done().wait().unwrap();
        assert!(store.fixups().is_empty());
    });
}

/// A store that is closed in the middle: the next one goes on with the row behind the last.
#[test]
fn a_fixup_goes_on_where_it_stood() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        let (steps, gate) = (Arc::new(AtomicU64::new(0)), Gate::new());
        let halting = Fixup::new("fill lower_nick", {
            let (steps, gate) = (steps.clone(), gate.clone());
            move |step| {
                // In the middle of its third step, which is carried out all the same.
                if steps.fetch_add(1, Ordering::SeqCst) == 2 {
                    gate.wait();
                }
                fill_step(step)
            }
        });
        let store = open(recognising(&path).fixup(halting).fixup(index()));
        gate.wait_until_entered();
        assert_eq!(states(&store), [FixupState::Running, FixupState::Waiting]);
        let (waiting, closing) = (store.fixups_done(), store.close());
        gate.open();
        closing.wait().unwrap();
        assert_eq!(waiting.wait(), Err(FixupsError::Closed));
        let (once, others) = met(&path);
        assert!(0 < once && once < MESSAGES && others == 0, "{once} {others}");

        let store = open(builder(&path));
        assert!(store.settings().opening.fixups_done.is_empty());
        store.fixups_done().wait().unwrap();
        assert_eq!(met(&path), (MESSAGES, 0));
        assert_eq!(store.fixups()[0].rows as i64, MESSAGES - once, "only the rest");
    });
}

/// What fails is told and tried again, and nobody else notices.
#[test]
fn a_step_that_fails_is_told_and_tried_again() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        for panics in [false, true] {
            let works = Arc::new(AtomicBool::new(false));
            let moody = Fixup::new(format!("moody {panics}"), {
                let works = works.clone();
                move |step| {
                    step.tx().execute("UPDATE message SET body = 'moody'", ())?;
                    match works.load(Ordering::SeqCst) {
                        true => Ok(FixupProgress::Done),
                        false if panics => std::panic::resume_unwind(Box::new("on purpose")),
                        false => Err(ClosureError::message("not yet")),
                    }
                }
            });
            let store = open(recognising(&path).fixup(moody));
            let told = loop {
                if let Some(error) = store.fixups()[0].last_error.clone() {
                    break error;
                }
                std::thread::yield_now();
            };
            assert!(told.contains(if panics { "panicked" } else { "not yet" }), "{told}");
            assert_eq!(states(&store), [FixupState::Running]);
            store.execute("INSERT INTO message (nick, body) VALUES ('x', 'beside it')", ()).wait().unwrap();
            let moody =
                Probe::open(&path).unwrap().count("SELECT count(*) FROM message WHERE body = 'moody'");
            assert!(panics || moody.unwrap() == 0, "what failed has left nothing");
            works.store(true, Ordering::SeqCst);
            store.fixups_done().wait().unwrap();
            assert_eq!(store.fixups()[0].last_error, None);
            store.close().wait().unwrap();
        }
    });
}

#[tokio::test]
async fn waiting_blocks_no_thread_of_a_runtime() {
    let store = Store::temporary().fixup(Fixup::sql("one", "CREATE TABLE one (x)")).open().await.unwrap();
    assert_eq!(store.fixups_done().wait(), Err(FixupsError::WouldBlock));
    store.fixups_done().await.unwrap();
    store.close().await.unwrap();
}

/// The last of one name counts.
#[test]
fn a_fixup_takes_the_place_of_one_of_its_name() {
    run(|| {
        let never = || Fixup::new("same", |_| panic!("it was replaced"));
        let create = Fixup::sql("same", "CREATE TABLE made (x)");
        let store = Store::temporary().fixup(never()).fixup(create).open().wait().unwrap();
        store.fixups_done().wait().unwrap();
        assert_eq!(store.fixups().len(), 1);
        store.query("SELECT count(*) FROM made", ()).wait().unwrap();
    });
}
