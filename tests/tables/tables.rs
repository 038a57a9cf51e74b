//! Opening tables, and why some cannot be opened.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use walwright::{Row, TableBuilder, TableError};

use crate::bed::{Bed, run};

#[derive(Serialize, Deserialize, Debug)]
struct Item {
    id: i64,
    name: String,
}

const SCHEMA: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, v INTEGER, r REAL, \
                                         g INTEGER AS (v + 1), must TEXT NOT NULL DEFAULT 'x'); \
                      CREATE TABLE log (line TEXT, twice TEXT, n INTEGER); \
                      CREATE UNIQUE INDEX some_lines ON log (line) WHERE n > 0; \
                      CREATE UNIQUE INDEX lower_lines ON log (lower(twice)); \
                      CREATE TABLE demand (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER NOT NULL); \
                      CREATE TABLE made (g INTEGER AS (n) STORED UNIQUE, n INTEGER); \
                      CREATE VIEW seen AS SELECT * FROM item; \
                      CREATE VIRTUAL TABLE words USING fts5(text)";

#[track_caller]
fn refused<T: DeserializeOwned>(builder: TableBuilder<T>, message: &str) -> TableError {
    let error = builder.open().wait().expect_err("the table was to be refused");
    assert_eq!(error.to_string(), message);
    error
}

#[test]
fn what_cannot_be_opened_says_why() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let store = &bed.store;
        let item = || store.table::<Item>("item");

        let error = refused(
            store.table::<Item>("missing"),
            "there is no table missing; create it in a migration before it is opened",
        );
        assert!(matches!(error, TableError::NoSuchTable { table } if table == "missing"));
        for (name, what) in [
            ("seen", "a view"),
            ("words", "a virtual table"),
            ("words_data", "the storage of a virtual table"),
            ("sqlite_schema", "a table of SQLite itself"),
        ] {
            let error = refused(
                store.table::<Row>(name),
                &format!("{name} is {what}, whose rows cannot be changed by row commands; use SQL"),
            );
            assert!(matches!(error, TableError::NotATable { .. }));
        }
        let error = refused(
            store.table::<Row>("log"),
            "the table log has no primary key; name the columns of a UNIQUE index as its key",
        );
        assert!(matches!(error, TableError::NoKey { .. }));
        for key in ["line", "twice"] {
            let message = format!(
                "rows of the table log may be equal in ({key}): a key needs a primary key or a UNIQUE index on \
                 exactly its columns, over all rows and with their own collations"
            );
            let error = refused(store.table::<Row>("log").key([key]), &message);
            assert!(matches!(error, TableError::KeyIsNotUnique { columns, .. } if columns == [key]));
        }
        let error = refused(
            store.table::<Row>("made").key(["g"]),
            "the column g of the table made is generated and cannot be part of a key",
        );
        assert!(matches!(error, TableError::KeyIsGenerated { .. }));
        for revision in ["id", "r", "g", "name"] {
            let message = format!(
                "the column {revision} of the table item cannot hold revisions: it must be an ordinary INTEGER column \
                 outside of the key"
            );
            let error = refused(item().revision(revision), &message);
            assert!(matches!(error, TableError::NotARevision { column, .. } if column == revision));
        }
        for named in [item().revision("x"), item().key(["x"])] {
            let message = "the table item has no column x; the fields of the row type and the names given to the builder must be its columns";
            let error = refused(named, message);
            assert!(matches!(error, TableError::UnknownColumn { .. }));
        }
    });
}

#[test]
fn a_row_type_has_to_fit_its_table() {
    #[derive(Serialize, Deserialize)]
    struct Extra {
        id: i64,
        name: String,
        colour: String,
    }
    run(|| {
        let bed = Bed::new(SCHEMA);
        let store = &bed.store;
        let error = refused(
            store.table::<Extra>("item"),
            "the table item has no column colour; the fields of the row type and the names given to the builder must be its columns",
        );
        assert!(matches!(error, TableError::UnknownColumn { column, .. } if column == "colour"));
        let error = refused(
            store.table::<Item>("demand"),
            "the row type has no field for the column amount of the table demand, which is NOT NULL and has no default",
        );
        assert!(matches!(error, TableError::MissingColumn { column, .. } if column == "amount"));
        // A revision is the engine's, and an untyped row may hold anything.
        store.table::<Item>("demand").revision("amount").open().wait().unwrap();
        store.table::<Row>("demand").open().wait().unwrap();
    });
}

/// With a key of the program's own, the database still makes the rowid: a type needs no field for it.
#[test]
fn a_rowid_beside_the_key_needs_no_field() {
    #[derive(Serialize, Deserialize)]
    struct User {
        email: String,
    }
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, email TEXT NOT NULL UNIQUE)");
        let users = bed.store.table::<User>("t").key(["email"]).open().wait().unwrap();
        let made = users.insert(&User { email: "a@x".to_owned() }).wait().unwrap();
        assert_eq!(made.rowid, Some(1));
    });
}

#[test]
fn a_table_opens_under_a_runtime_and_shares_its_handle() {
    run(|| {
        let bed = Bed::new(SCHEMA);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let items = bed.store.table::<Item>("ITEM").open().await.unwrap();
            let writer = items.clone();
            let written = tokio::spawn(async move {
                writer.insert(&Item { id: 1, name: "a".to_owned() }).await.unwrap();
            });
            written.await.unwrap();
            assert_eq!(items.update(1).set("name", "b").await.unwrap().rows_changed, 1);
            assert_eq!(items.get(1).await.unwrap().map(|item| item.name).as_deref(), Some("b"));
            assert_eq!(items.delete(1).await.unwrap().rows_changed, 1);
            assert_eq!(format!("{items:?}"), "Table { name: \"item\", .. }");
        });
    });
}
