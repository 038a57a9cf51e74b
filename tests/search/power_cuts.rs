//! The power goes while an index is built and rows come, change and go: what is left on the disk opens, building goes
//! on where it stood, and the index agrees with the table.

use std::collections::HashSet;

use walwright::{Filter, Migration, Store};
use walwright_test_support::vfs::{DatabaseCreation, Event};
use walwright_test_support::{Explorer, FaultVfs, Scratch};

use crate::bed::{Message, SCHEMA, ids, run};

const ROWS: i64 = 600;
/// So often rows come, change and go meanwhile.
const ROUNDS: i64 = 8;
/// So many different disks are tried.
const IMAGES: usize = 30;

fn message(id: i64) -> Message {
    Message { id, buffer: 1, at: id, body: format!("needle number {id}") }
}

#[test]
fn whatever_the_disk_holds_the_index_agrees_with_the_table() {
    run(|| {
        let (scratch, vfs) = (Scratch::new(), FaultVfs::unique("search"));
        let path = scratch.join("store.db");
        let open =
            || Store::builder(&path).vfs(vfs.name()).migrations(&[Migration::sql(SCHEMA)]).readers(1).open();
        let store = open().wait().unwrap();
        let messages = store.table::<Message>("message").open().wait().unwrap();
        messages.insert_many((1..=ROWS).map(message).collect::<Vec<_>>()).wait().unwrap();
        store.close().wait().unwrap();

        vfs.start_recording(DatabaseCreation::WithDirectory);
        let store = open().wait().unwrap();
        let messages = store.table::<Message>("message").open().wait().unwrap();
        let index =
            messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
        for id in 1..=ROUNDS {
            messages.insert(&message(ROWS + id)).wait().unwrap();
            messages.update(id * 20).set("body", "another text").wait().unwrap();
            messages.delete(id * 20 - 1).wait().unwrap();
            vfs.mark(id.unsigned_abs());
        }
        index.ready().wait().unwrap();
        let trace = vfs.stop_recording();
        drop((index, messages));
        store.close().wait().unwrap();

        let (mut tried, mut left_to_do) = (0, HashSet::new());
        Explorer::new(&trace, IMAGES, 1).explore(|wreck| {
            let Some(image) = &wreck.image else { return };
            let after = Scratch::new();
            image.write_into(after.path()).unwrap();
            let acknowledged =
                trace[..wreck.events].iter().filter(|event| matches!(event, Event::Mark(_))).count();
            left_to_do.insert(judge(&after, acknowledged as i64));
            tried += 1;
        });
        assert!(tried > IMAGES / 2, "only {tried} disks");
        let is_between = |done: &u64| (1..u64::MAX).contains(done);
        assert!(left_to_do.iter().any(is_between), "the power never went between slices: {left_to_do:?}");
    });
}

/// Opens what is left after so many rounds were acknowledged. Gives how far building was.
#[track_caller]
fn judge(after: &Scratch, rounds: i64) -> u64 {
    let store = Store::builder(after.join("store.db")).readers(1).open().wait().unwrap();
    let messages = store.table::<Message>("message").open().wait().unwrap();
    for id in 1..=rounds {
        assert!(messages.exists(ROWS + id).wait().unwrap(), "an acknowledged row is lost");
        assert!(!messages.exists(id * 20 - 1).wait().unwrap(), "a deleted row is back");
        assert_eq!(messages.get(id * 20).wait().unwrap().unwrap().body, "another text");
    }
    let done = {
        // Before the index is opened nobody builds.
        let places = "SELECT name FROM sqlite_schema WHERE name = 'walwright_search'";
        if store.query(places, ()).wait().unwrap().is_empty() {
            0
        } else {
            let done = store.query("SELECT done FROM walwright_search", ()).wait().unwrap();
            if done.is_empty() { u64::MAX } else { done[0].get::<i64>(0).unwrap().unsigned_abs() }
        }
    };
    let index = messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
    index.ready().wait().unwrap();
    let check = index.check().wait().unwrap();
    assert!(check.is_in_step() && check.left_over == 0, "{check:?}");
    for text in ["needle", "another", "number 11"] {
        let looked = ids(messages.page().filter(Filter::contains("body", text)).limit(10_000));
        assert_eq!(ids(index.find(text).limit(10_000)), looked, "{text:?}");
    }
    store.close().wait().unwrap();
    done
}
