//! Policies that cannot be kept are refused when the store opens.

use std::time::Duration;

use walwright::{Migration, OpenError, Retention, RetentionFailure, Store, TimeUnit};
use walwright_test_support::Scratch;

use crate::bed::run;

const SCHEMA: &str = "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER, kind TEXT, stamp TEXT);
                      CREATE INDEX event_stamp ON event (stamp);
                      CREATE INDEX event_kind ON event (kind, id);
                      CREATE INDEX event_some ON event (at) WHERE kind = 'x';
                      CREATE INDEX event_second ON event (kind, at DESC);
                      CREATE VIEW old AS SELECT * FROM event;";

fn refusal(policy: Retention) -> RetentionFailure {
    let scratch = Scratch::new();
    let open = |policy: Option<Retention>| {
        let builder = Store::builder(scratch.join("store.db")).migrations(&[Migration::sql(SCHEMA)]);
        policy.into_iter().fold(builder, walwright::StoreBuilder::retention).open().wait()
    };
    let Err(OpenError::Retention { failure, .. }) = open(Some(policy)) else { panic!("it was not refused") };
    // The migrations stay, and the file can be opened.
    let store = open(None).unwrap();
    assert_eq!(store.settings().migrations_applied, 0);
    store.close().wait().unwrap();
    failure
}

#[test]
fn what_is_missing_is_named() {
    run(|| {
        let expires = |table: &str, column: &str| Retention::of(table).expires(column, TimeUnit::Seconds);
        assert!(matches!(refusal(expires("absent", "at")), RetentionFailure::NoSuchTable));
        assert!(matches!(refusal(expires("old", "at")), RetentionFailure::NotATable { what: "a view" }));
        assert!(matches!(refusal(expires("walwright_sequence", "at")), RetentionFailure::NotATable { .. }));
        let failure = refusal(expires("event", "absent"));
        assert!(matches!(failure, RetentionFailure::NoSuchColumn { column } if column == "absent"));
        let failure = refusal(expires("event", "stamp"));
        assert!(matches!(failure, RetentionFailure::TextColumn { column } if column == "stamp"));
        // There is an index, but it does not hold every row.
        let failure = refusal(Retention::of("event").older_than("at", TimeUnit::Seconds, Duration::ZERO));
        assert_eq!(failure.to_string(), "it has no index that begins with (at); create one in a migration");
        let failure = refusal(Retention::of("event").newest(5, "at", "kind"));
        assert!(matches!(failure, RetentionFailure::NoIndex { columns } if columns == ["at", "kind"]));
        assert!(matches!(
            refusal(Retention::of("event").file_at_most(1, "at")),
            RetentionFailure::NoIndex { .. }
        ));
    });
}
