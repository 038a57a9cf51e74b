//! Where the schema of a file without a version stands.

use walwright::rusqlite::Connection;
use walwright::{ClosureError, OpenError, RecogniseFailure, Store};
use walwright_test_support::{Probe, Scratch};

use crate::bed::{MESSAGES, MIGRATIONS, content, old_file, open, recognising, refused, run};

#[test]
fn a_schema_goes_on_from_where_it_was_recognised() {
    run(|| {
        for stands_at in [1, 2] {
            let scratch = Scratch::new();
            let path = old_file(&scratch, stands_at);
            let store = open(recognising(&path));
            let settings = store.settings();
            assert_eq!((settings.user_version, settings.migrations_applied), (3, 3 - stands_at as u32));
            assert!(settings.converted);
            let opening = &settings.opening;
            assert_eq!(opening.journal_mode_before.as_deref(), Some("delete"));
            assert_eq!((opening.user_version_before, opening.recognised), (0, Some(stands_at as u32)));
            assert!(opening.pages_before > 10, "{opening:?}");
            let names: Vec<_> = opening.steps.iter().map(|step| step.name).collect();
            assert_eq!(
                names,
                [
                    "look at the file",
                    "recover",
                    "switch to WAL mode",
                    "empty the WAL",
                    "migrate",
                    "reserve commit sequences"
                ]
            );
            store.close().wait().unwrap();

            let again = open(recognising(&path));
            let settings = again.settings();
            assert_eq!(
                (settings.user_version, settings.migrations_applied, settings.converted),
                (3, 0, false)
            );
            assert_eq!(settings.opening.recognised, None, "it has a version now");
            let messages = again.query("SELECT count(*) FROM message", ()).wait().unwrap();
            assert_eq!(messages[0].get::<i64>(0).unwrap(), MESSAGES);
        }
    });
}

/// All of the migrations are there: the version is all that is written.
#[test]
fn a_schema_that_is_complete_is_stamped() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 2);
        let builder = || Store::builder(&path).migrations(&MIGRATIONS[..2]).recognise(|_| Ok(Some(2)));
        let store = open(builder());
        assert_eq!((store.settings().user_version, store.settings().migrations_applied), (2, 0));
        store.close().wait().unwrap();
        assert_eq!(
            Probe::open(&path).unwrap().count("SELECT user_version FROM pragma_user_version").unwrap(),
            2
        );
    });
}

#[test]
fn what_is_not_recognised_stays_as_it_was() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        let before = content(&path);
        let builder = || Store::builder(&path).migrations(MIGRATIONS);
        let failure = |error| match error {
            OpenError::Unrecognised { path: named, failure } => {
                assert_eq!(named, std::fs::canonicalize(&path).unwrap());
                failure
            }
            other => panic!("{other}"),
        };
        let unknown = refused(builder().recognise(|_| Ok(None)));
        assert!(unknown.to_string().contains("not recognised"), "{unknown}");
        assert!(!unknown.is_retryable());
        assert!(matches!(failure(unknown), RecogniseFailure::Unknown));
        let failed = refused(builder().recognise(|_| Err(ClosureError::message("no such thing"))));
        assert!(failed.to_string().contains("no such thing"), "{failed}");
        assert!(matches!(failure(failed), RecogniseFailure::Failed(_)));
        let panicked = refused(builder().recognise(|_| panic!("on purpose")));
        assert!(matches!(failure(panicked), RecogniseFailure::Panicked));
        // More than the program knows: a newer program's file.
        match refused(builder().recognise(|_| Ok(Some(4)))) {
            OpenError::SchemaTooNew { found, known, .. } => assert_eq!((found, known), (4, 3)),
            other => panic!("{other}"),
        }
        assert_eq!(content(&path), before, "byte for byte, and nothing beside it");
    });
}

/// A look that tries to write fails, and changes nothing.
#[test]
fn a_look_cannot_write() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 1);
        let before = content(&path);
        let builder = Store::builder(&path).migrations(MIGRATIONS).recognise(|schema| {
            schema.query_optional("DELETE FROM message RETURNING id", [], |row| row.get::<_, i64>(0))?;
            Ok(Some(1))
        });
        let error = refused(builder);
        assert!(
            matches!(error, OpenError::Unrecognised { failure: RecogniseFailure::Failed(_), .. }),
            "{error}"
        );
        assert_eq!(content(&path), before);
    });
}

#[test]
fn only_a_schema_without_a_version_is_looked_at() {
    run(|| {
        let never = |schema: &walwright::SchemaLook<'_>| -> Result<Option<u32>, ClosureError> {
            panic!("asked about {:?}", schema.tables())
        };
        // No file, a file without tables, a file with a version.
        let scratch = Scratch::new();
        let path = scratch.join("new.db");
        let store = open(Store::builder(&path).migrations(MIGRATIONS).recognise(never));
        assert_eq!(store.settings().migrations_applied, 3);
        store.close().wait().unwrap();
        open(Store::builder(&path).migrations(MIGRATIONS).recognise(never)).close().wait().unwrap();

        let empty = scratch.join("empty.db");
        Connection::open(&empty).unwrap().execute_batch("PRAGMA application_id = 7").unwrap();
        assert_eq!(
            open(Store::builder(&empty).migrations(MIGRATIONS).recognise(never)).settings().user_version,
            3
        );

        // Nothing but the engine's own table: a store that had no migrations so far.
        let bare = scratch.join("bare.db");
        open(Store::builder(&bare)).close().wait().unwrap();
        assert_eq!(
            open(Store::builder(&bare).migrations(MIGRATIONS).recognise(never)).settings().user_version,
            3
        );
    });
}

#[test]
fn a_look_tells_what_is_there() {
    run(|| {
        let scratch = Scratch::new();
        let path = scratch.join("a.db");
        Connection::open(&path)
            .unwrap()
            .execute_batch(
                "CREATE TABLE b (x, g AS (x)); CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT);
                 CREATE VIEW v AS SELECT 1; CREATE INDEX b_x ON b (x); CREATE TABLE own (version INTEGER);
                 INSERT INTO own VALUES (2)",
            )
            .unwrap();
        let store = open(Store::builder(&path).migrations(MIGRATIONS).recognise(|schema| {
            assert_eq!(schema.tables()?, ["a", "b", "own"]);
            assert!(schema.has_table("B")? && !schema.has_table("v")? && !schema.has_table("b_x")?);
            assert!(schema.has_index("b_x")? && !schema.has_index("b")?);
            assert_eq!(schema.columns("b")?, ["x", "g"]);
            assert_eq!(schema.columns("nowhere")?, [""; 0]);
            assert!(schema.has_column("b", "X")? && !schema.has_column("b", "y")?);
            assert_eq!(schema.query_optional("SELECT 1 WHERE 0", [], |row| row.get::<_, i64>(0))?, None);
            schema.query_optional("SELECT version + ?1 FROM own", [1], |row| row.get(0))
        }));
        assert_eq!((store.settings().user_version, store.settings().migrations_applied), (3, 0));
    });
}

/// The journal of a program that died has to be played back before the schema can be seen.
#[test]
fn a_hot_journal_is_played_back_before_the_schema_is_judged() {
    run(|| {
        let scratch = Scratch::new();
        let path = old_file(&scratch, 2);
        let before = content(&path).0;
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA cache_size = 1; BEGIN; DROP TABLE message; CREATE TABLE other (x)")
            .unwrap();
        connection.execute_batch("CREATE INDEX other_x ON other (x); PRAGMA cache_spill = 1").unwrap();
        connection.cache_flush().unwrap();
        let crashed = scratch.subdirectory("crashed").join("a.db");
        for suffix in ["", "-journal"] {
            let name = |path: &std::path::Path| format!("{}{suffix}", path.display());
            std::fs::copy(name(&path), name(&crashed)).unwrap();
        }
        drop(connection);
        assert_ne!(content(&crashed).0, before, "or this test shows nothing");
        match refused(Store::builder(&crashed).migrations(MIGRATIONS).recognise(|_| Ok(None))) {
            OpenError::Unrecognised { failure: RecogniseFailure::Unknown, .. } => {}
            other => panic!("{other}"),
        }
        assert_eq!(content(&crashed).0, before, "played back, and nothing else");
        let store = open(recognising(&crashed));
        assert_eq!(store.settings().opening.recognised, Some(2));
    });
}
