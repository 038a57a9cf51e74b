//! Row commands: always each row, with its key and revision.

use walwright::{Row, Table};

use crate::bed::{Bed, hold, row, run, taken, told};

const SCHEMA: &str = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name TEXT, v INTEGER NOT NULL) STRICT";
const BY_ROWID: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER NOT NULL) STRICT";
const WITHOUT_ROWID: &str =
    "CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT, v INTEGER NOT NULL) STRICT, WITHOUT ROWID";
/// Nothing that a command on it does is known without looking.
const WITH_TRIGGER: &str = "
    CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name TEXT, v INTEGER NOT NULL) STRICT;
    CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
    CREATE TRIGGER logs AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES (new.id); END;";

#[test]
fn each_command_tells_its_row_and_its_revision() {
    run(|| {
        for schema in [SCHEMA, WITHOUT_ROWID] {
            let mut bed = Bed::new(schema);
            let t = bed.table();
            t.insert(&row("a", "x")).wait().unwrap();
            t.update("a").set("name", "y").wait().unwrap();
            t.upsert(&row("a", "z")).wait().unwrap();
            t.upsert(&row("b", "z")).wait().unwrap();
            t.insert_or_ignore(&row("b", "w")).wait().unwrap();
            t.insert_or_ignore(&row("c", "w")).wait().unwrap();
            t.modify("c", |row| Ok(row.set("name", "m")?)).wait().unwrap();
            t.update("a").set("id", "k").wait().unwrap();
            t.delete("b").wait().unwrap();
            let expected = [
                "insert t(a) r1",
                "update t(a) r2",
                "update t(a) r3",
                "insert t(b) r1",
                "insert t(c) r1",
                "update t(c) r2",
                "delete t(a)",
                "insert t(k) r4",
                "delete t(b)",
            ];
            assert_eq!(bed.told(), expected);
        }
    });
}

#[test]
fn what_changes_nothing_is_not_told() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let t = bed.table();
        t.insert(&row("a", "x")).wait().unwrap();
        bed.told();
        t.update("nobody").set("name", "y").wait().unwrap();
        t.delete("nobody").wait().unwrap();
        t.insert_or_ignore(&row("a", "y")).wait().unwrap();
        t.insert(&row("a", "y")).wait().unwrap_err();
        t.update("a").set("name", "y").if_revision(7).wait().unwrap_err();
        t.modify("nobody", |_| Ok(())).wait().unwrap();
        t.delete_where("name", "nobody").wait().unwrap();
        bed.store.flush().wait().unwrap();
        bed.store.batch().send().wait().unwrap();
        assert_eq!(bed.told(), Vec::<String>::new());
    });
}

#[test]
fn a_key_that_the_database_makes_is_told() {
    run(|| {
        let mut bed = Bed::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, v INTEGER);
             CREATE TABLE u (a TEXT DEFAULT ('made'), b INTEGER, PRIMARY KEY (a, b))",
        );
        bed.table().insert(&Row::new().with("name", "x").unwrap()).wait().unwrap();
        let u: Table<Row> = bed.store.table("u").open().wait().unwrap();
        u.insert(&Row::new().with("b", 7).unwrap()).wait().unwrap();
        assert_eq!(bed.told(), ["insert t(1) r1", "insert u(made, 7)"]);
        // Told as the column stores it.
        bed.table().update("1").set("name", "y").wait().unwrap();
        assert_eq!(bed.told(), ["update t(1) r2"]);
    });
}

#[test]
fn work_on_many_rows_tells_each() {
    run(|| {
        for schema in [SCHEMA, WITHOUT_ROWID, WITH_TRIGGER] {
            let mut bed = Bed::new(schema);
            let t = bed.table();
            let rows = ["a", "b", "c"].map(|id| row(id, "x"));
            let inserted = t.insert_many(&rows).wait().unwrap();
            let changes = taken(&mut bed.changes);
            assert_eq!(changes[0].sequence(), inserted.sequence);
            t.update_many(["a", "nobody", "b"]).set("name", "y").wait().unwrap();
            t.update_where("name", "y").set("name", "z").wait().unwrap();
            t.delete_where("name", "z").wait().unwrap();
            t.delete_many(["c", "c"]).wait().unwrap();
            let expected = [
                "update t(a) r2",
                "update t(b) r2",
                "update t(a) r3",
                "update t(b) r3",
                "delete t(a)",
                "delete t(b)",
                "delete t(c)",
            ];
            assert_eq!(bed.told(), expected, "{schema}");
        }
    });
}

#[test]
fn work_in_pieces_is_told_piece_by_piece() {
    run(|| {
        let mut bed = Bed::with(BY_ROWID, |builder| builder.change_buffer(1 << 20, 1 << 30));
        let t = bed.table();
        let rows: Vec<Row> = (0..20_000).map(|id| row(id, "x")).collect();
        let receipt = t.insert_many(&rows).wait().unwrap();
        let changes = taken(&mut bed.changes);
        assert_eq!(changes.len(), 20_000);
        let sequences: std::collections::BTreeSet<u64> =
            changes.iter().map(|change| change.sequence()).collect();
        assert!(sequences.len() > 1, "in pieces");
        assert_eq!(sequences.last(), Some(&receipt.sequence));
        let gone = t.delete_where("name", "x").wait().unwrap();
        let changes = taken(&mut bed.changes);
        assert_eq!((changes.len(), gone.rows_changed), (20_000, 20_000));
    });
}

/// So many rows at once would be too many to take one by one.
#[test]
fn an_atomic_delete_of_very_many_rows_tells_the_table() {
    run(|| {
        let mut bed = Bed::new(BY_ROWID);
        let t = bed.table();
        let rows: Vec<Row> = (0..10_050).map(|id| row(id, "x")).collect();
        t.insert_many(&rows).atomic().wait().unwrap();
        assert_eq!(bed.told().len(), 10_050, "the command brought them all along");
        t.delete_where("name", "x").atomic().wait().unwrap();
        let told = bed.told();
        assert_eq!((told.len(), told.last().map(String::as_str)), (10_001, Some("table t")));
    });
}

/// One statement carries them out; nobody can tell.
#[test]
fn coalesced_commands_tell_each_its_own() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let t = bed.table();
        t.delete("nobody").wait().unwrap();
        let gate = hold(&bed.store);
        let sent = [
            t.insert(&row("a", "x")).try_submit().unwrap(),
            t.insert(&row("b", "x")).try_submit().unwrap(),
            t.update("a").set("name", "y").try_submit().unwrap(),
            t.update("b").set("name", "y").try_submit().unwrap(),
        ];
        gate.open();
        let receipts = sent.map(|sent| sent.wait().unwrap());
        assert_eq!(bed.store.stats().coalesced, 2);
        let changes = taken(&mut bed.changes);
        assert!(
            changes
                .iter()
                .map(|change| change.sequence())
                .eq(receipts.iter().map(|receipt| receipt.sequence))
        );
        let words: Vec<String> = changes.iter().map(crate::bed::shown).collect();
        assert_eq!(words, ["insert t(a) r1", "insert t(b) r1", "update t(a) r2", "update t(b) r2"]);
    });
}

#[test]
fn what_triggers_do_follows_the_row() {
    run(|| {
        let mut bed = Bed::new(WITH_TRIGGER);
        bed.table().insert(&row("a", "x")).wait().unwrap();
        assert_eq!(bed.told(), ["insert t(a) r1", "insert log(1)"]);
    });
}

#[test]
fn a_trigger_on_the_row_itself_leaves_a_doubt() {
    run(|| {
        let mut bed = Bed::new(
            "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name TEXT, v INTEGER NOT NULL);
             CREATE TRIGGER again AFTER INSERT ON t BEGIN UPDATE t SET name = 'z' WHERE id = new.id; END;
             CREATE TABLE w (id TEXT PRIMARY KEY, parent TEXT REFERENCES w ON DELETE CASCADE) WITHOUT ROWID",
        );
        bed.table().insert(&row("a", "x")).wait().unwrap();
        assert_eq!(bed.told(), ["insert t(a) r1", "table t"]);
        // The hook is silent on this one; the count tells.
        bed.sql("INSERT INTO w VALUES ('a', NULL), ('b', 'a')");
        bed.told();
        let w: Table<Row> = bed.store.table("w").open().wait().unwrap();
        w.delete("a").wait().unwrap();
        assert_eq!(bed.told(), ["delete w(a)", "table w"]);
    });
}

#[test]
fn cascades_follow_the_row() {
    run(|| {
        let mut bed = Bed::new(
            "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, name TEXT, v INTEGER NOT NULL);
             CREATE TABLE child (id INTEGER PRIMARY KEY, t TEXT REFERENCES t ON DELETE CASCADE)",
        );
        let t = bed.table();
        t.insert(&row("a", "x")).wait().unwrap();
        bed.sql("INSERT INTO child VALUES (5, 'a'), (6, 'a')");
        bed.told();
        t.delete("a").wait().unwrap();
        assert_eq!(bed.told(), ["delete t(a)", "delete child(5)", "delete child(6)"]);
    });
}

#[test]
fn batches_tell_their_parts_in_order() {
    run(|| {
        let mut bed = Bed::new(SCHEMA);
        let t = bed.table();
        let batch = bed.store.batch().add(t.insert(&row("a", "x")));
        let batch = batch.execute("INSERT INTO t VALUES ('b', 'y', 1)", ()).add(t.delete("a"));
        let receipt = batch.send().wait().unwrap();
        let mut again = bed.store.changes();
        let changes = taken(&mut bed.changes);
        assert!(changes.iter().all(|change| change.sequence() == receipt.sequence));
        let words: Vec<String> = changes.iter().map(crate::bed::shown).collect();
        assert_eq!(words, ["insert t(a) r1", "insert t rowid 2", "delete t(a)"]);
        assert!(told(&mut again).is_empty());
        let failing = bed.store.batch().add(t.insert(&row("c", "x"))).add(t.insert(&row("c", "x")));
        failing.send().wait().unwrap_err();
        assert!(bed.told().is_empty());
    });
}

/// The triggers that keep an index in step say more than the row, and leave no doubt about it. The index itself is
/// nobody's business: what it holds follows from the table.
#[test]
fn a_table_with_a_search_index_tells_its_rows() {
    run(|| {
        let mut bed = Bed::new(BY_ROWID);
        let t = bed.table();
        let index = t.search_index("names").columns(["name"]).open().wait().unwrap();
        index.ready().wait().unwrap();
        bed.told();
        t.insert(&row(1, "one two")).wait().unwrap();
        t.update(1).set("name", "three").wait().unwrap();
        t.delete(1).wait().unwrap();
        assert_eq!(bed.told(), ["insert t(1) r1", "update t(1) r2", "delete t(1)"]);
        bed.sql("INSERT INTO t (id, name, v) VALUES (2, 'four', 0)");
        bed.sql("DELETE FROM t");
        assert_eq!(bed.told(), ["insert t(2)", "delete t(2)"]);
    });
}
