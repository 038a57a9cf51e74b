//! An index whose pages are damaged, while the table is not.

use walwright::{Outcome, ReadError, WriteError};

use crate::bed::{Bed, Message, ids, run};

/// As another program could do it, or a disk.
fn damaged() -> Bed {
    let bed = Bed::new(&["needle one", "needle two"]);
    bed.substrings();
    let damage = "UPDATE message_search_data SET block = x'ffffffffffffffffffffffff' WHERE id >= 10";
    bed.outside().execute(damage, []).unwrap();
    bed
}

fn message(id: i64) -> Message {
    Message { id, buffer: 1, at: id, body: "one more needle".to_owned() }
}

#[test]
fn searches_and_changes_say_so_and_the_store_goes_on() {
    run(|| {
        let bed = damaged();
        let index =
            bed.messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
        let found = index.find("needle").wait();
        assert!(matches!(found, Err(ReadError::IndexDamaged { .. })), "{found:?}");
        assert!(!index.check().wait().unwrap().is_in_step());

        bed.sql("CREATE TABLE other (n INTEGER)");
        // One group: what fails fails alone.
        let before = bed.store.execute("INSERT INTO other VALUES (1)", ()).try_submit().unwrap();
        let row = bed.messages.insert(&message(3)).try_submit().unwrap();
        let behind = bed.store.execute("INSERT INTO other VALUES (2)", ()).try_submit().unwrap();
        let failed = row.wait();
        assert!(matches!(&failed, Err(WriteError::Corrupt(_))), "{failed:?}");
        assert_eq!(failed.unwrap_err().outcome(), Outcome::NotApplied);
        before.wait().unwrap();
        behind.wait().unwrap();
        assert_eq!(bed.messages.count().wait().unwrap(), 2);
    });
}

#[test]
fn a_rebuild_puts_it_right() {
    run(|| {
        let bed = damaged();
        let index =
            bed.messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
        index.rebuild().wait().unwrap();
        index.ready().wait().unwrap();
        bed.messages.insert(&message(3)).wait().unwrap();
        assert_eq!(ids(index.find("needle")), [1, 2, 3]);
        assert!(index.check().wait().unwrap().is_in_step());
    });
}

#[test]
fn without_the_index_the_table_can_be_written() {
    run(|| {
        let bed = damaged();
        let index =
            bed.messages.search_index("message_search").columns(["body"]).substrings().open().wait().unwrap();
        index.drop_index().wait().unwrap();
        bed.messages.insert(&message(3)).wait().unwrap();
        assert_eq!(bed.messages.count().wait().unwrap(), 3);
        bed.outside()
            .query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
            .map(|said| assert_eq!(said, "ok"))
            .unwrap();
    });
}
