//! C18. Callers were told Ok, and after an outage the newest writes were missing: WAL with
//! `synchronous=NORMAL` does not sync at COMMIT, or the answer came before it (getsentry/taskbroker#191,
//! opral/lix#1394, ohdearquant/khive#1408).
//!
//! What must hold: a durable call is answered only after the sync that covers it. The weaker level has to be asked
//! for, and what it gives away is the power cut alone: a killed process loses nothing. A new database and the
//! folders that were made for it are there after a power cut, too; for the folders see
//! `tests/synced_folders.rs`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use walwright::{AckLevel, Row, Store};
use walwright_test_support::vfs::DatabaseCreation;
use walwright_test_support::{FaultVfs, Scratch, watchdog};

use crate::support_write::{INSERT, ITEMS, LIMIT, builder, read_ids};

/// The way that a durable write is sent.
const WAYS: i64 = 6;

/// Inserts the row with this id in one of the ways, and waits for the answer.
fn insert(store: &Store, way: i64, id: i64) {
    let table = store.table::<Row>("item").open().wait().unwrap();
    let row = Row::new().with("id", id).unwrap().with("body", "kept").unwrap();
    match way {
        0 => drop(store.execute(INSERT, (id, "kept")).wait().unwrap()),
        1 => drop(store.batch().execute(INSERT, (id, "kept")).send().wait().unwrap()),
        2 => drop(store.write(move |tx| tx.execute(INSERT, (id, "kept"))).wait().unwrap()),
        3 => drop(table.insert(&row).wait().unwrap()),
        4 => drop(table.upsert_many([&row]).wait().unwrap()),
        _ => {
            store.execute(INSERT, (id, "kept")).ack(AckLevel::Committed).wait().unwrap();
            store.flush().wait().unwrap();
        }
    }
}

#[test]
fn c18_what_was_durable_is_there_after_a_power_cut_at_its_answer() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c18");
        vfs.start_recording(DatabaseCreation::WithDirectory);
        let store = builder(&scratch).vfs(vfs.name()).open().wait().unwrap();
        let mut durable = Vec::new();
        let mut weak_ones_lost = 0;
        for round in 0..48 {
            // Not promised to anybody, unless a durable write behind it is answered.
            let weak = store.execute(INSERT, (1_000 + round, "weak")).ack(AckLevel::Committed);
            weak.wait().unwrap();
            durable.push(1_000 + round);
            let found = after_power_cut(&scratch, vfs, format!("weak-{round}"));
            weak_ones_lost += usize::from(!found.contains(&(1_000 + round)));
            assert!(durable[..durable.len() - 1].iter().all(|id| found.contains(id)), "round {round}");

            insert(&store, round % WAYS, round);
            durable.push(round);
            durable.sort_unstable();
            assert_eq!(after_power_cut(&scratch, vfs, format!("durable-{round}")), durable, "round {round}");
            durable.sort_unstable_by_key(|id| id % 1_000);
        }
        assert_eq!(weak_ones_lost, 48, "or the power cuts show nothing");
    });
}

#[test]
fn c18_a_new_database_is_there_when_it_is_open() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let vfs = FaultVfs::unique("c18-new");
        vfs.start_recording(DatabaseCreation::WithDirectory);
        let store = builder(&scratch).vfs(vfs.name()).open().wait().unwrap();
        // Only an existing database can be opened, and no migration is left to run.
        let folder = scratch.subdirectory("new");
        vfs.image_at_power_cut().write_into(&folder).unwrap();
        let again =
            Store::builder(folder.join("store.db")).migrations(ITEMS).create(false).open().wait().unwrap();
        assert_eq!(again.settings().migrations_applied, 0);
        again.close().wait().unwrap();
        store.close().wait().unwrap();
    });
}

/// The ids that are found when the power goes now, and the program starts again.
fn after_power_cut(scratch: &Scratch, vfs: &FaultVfs, name: String) -> Vec<i64> {
    let folder = scratch.subdirectory(name);
    vfs.image_at_power_cut().write_into(&folder).unwrap();
    let store = Store::builder(folder.join("store.db")).migrations(ITEMS).open().wait().unwrap();
    let found = read_ids(&store);
    store.close().wait().unwrap();
    found
}

/// Names the folder to the process that is to be killed.
const FOLDER: &str = "WALWRIGHT_C18_FOLDER";

#[test]
fn c18_what_was_only_committed_is_there_after_a_kill() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let mut acknowledged = Vec::new();
        for answers in [1, 7, 40] {
            let mut child = start_child(&scratch);
            let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            let told = lines.filter_map(|line| line.strip_prefix("committed ")?.parse::<i64>().ok());
            acknowledged.extend(told.take(answers));
            child.kill().unwrap();
            child.wait().unwrap();

            let store = builder(&scratch).open().wait().unwrap();
            let found = read_ids(&store);
            assert!(acknowledged.iter().all(|id| found.contains(id)), "{acknowledged:?} and {found:?}");
            store.close().wait().unwrap();
        }
        assert_eq!(acknowledged.len(), 48);
    });
}

fn start_child(scratch: &Scratch) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["c18_power_failure::child_that_is_killed", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "runs in the process that c18_what_was_only_committed_is_there_after_a_kill starts and kills"]
fn child_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let path = std::path::PathBuf::from(folder).join("store.db");
    let store = Store::builder(path).migrations(ITEMS).ack(AckLevel::Committed).open().wait().unwrap();
    let first = read_ids(&store).last().map_or(0, |last| last + 1);
    for id in first..first + 100_000 {
        store.execute(INSERT, (id, "weak")).wait().unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "committed {id}")
            .and_then(|()| out.flush())
            .expect("the parent listens until it kills");
    }
    std::thread::sleep(Duration::from_secs(60));
}
