//! The walk over a table that is full, beside changes in the part that it has seen and in the part that it has not.

use super::*;
use crate::error::ReadError;
use crate::row::{SearchTerm, Value};
use crate::table::PageSearch;

const SCHEMA: &str = "CREATE TABLE message (id INTEGER PRIMARY KEY, tag TEXT UNIQUE, body TEXT);
    INSERT INTO message VALUES (10, 'a', 'first row'), (20, 'b', 'second row'), (30, 'c', 'third row'), (40, 'd', 'fourth row');";

fn half_built() -> Workshop {
    let workshop = Workshop::new(SCHEMA, SearchMode::Substrings);
    assert!(workshop.open_index().unwrap());
    assert!(!workshop.slice(2));
    assert_eq!(workshop.ask("\"row\""), [10, 20]);
    workshop
}

#[test]
fn it_goes_on_where_it_stood() {
    run(|| {
        let mut workshop = half_built();
        workshop.reopen();
        assert!(workshop.open_index().unwrap(), "there are rows left");
        assert_eq!(workshop.ask("\"row\""), [10, 20], "what was put in stays in");
        assert!(workshop.slice(2), "the last rows are in");
        assert_eq!(workshop.ask("\"row\""), [10, 20, 30, 40]);
        assert_eq!(workshop.carry_out(2).what, Work::Idle);
        workshop.reopen();
        assert!(!workshop.open_index().unwrap());
        assert!(workshop.check().is_in_step());
    });
}

#[test]
fn an_empty_table_has_nothing_to_walk_over() {
    run(|| {
        let workshop =
            Workshop::new("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT)", SearchMode::Words);
        assert!(!workshop.open_index().unwrap());
        workshop.sql("INSERT INTO message (body) VALUES ('some words')");
        assert_eq!(workshop.ask("words"), [1]);
    });
}

#[test]
fn a_table_that_was_emptied_behind_the_index_is_built() {
    run(|| {
        let workshop = half_built();
        workshop.sql("DELETE FROM message");
        assert!(workshop.slice(2), "that was all");
        assert_eq!((workshop.ask("\"row\""), workshop.check().left_over), (vec![], 0));
    });
}

#[test]
fn changes_on_both_sides_of_the_walk_are_right_once() {
    run(|| {
        let workshop = half_built();
        workshop.sql(
            "UPDATE message SET body = 'tenth line' WHERE id = 10;
             UPDATE message SET body = 'thirtieth line' WHERE id = 30;
             DELETE FROM message WHERE id IN (20, 40);
             INSERT INTO message VALUES (15, 'e', 'between'), (35, 'f', 'ahead'), (50, 'g', 'behind');
             UPDATE message SET id = 37 WHERE id = 15;
             UPDATE message SET id = 5 WHERE id = 35",
        );
        workshop.build(1);
        assert_eq!(workshop.ask("\"line\""), [10, 30]);
        assert_eq!(workshop.ask("\"row\""), [0_i64; 0]);
        assert_eq!((workshop.ask("\"between\""), workshop.ask("\"ahead\"")), (vec![37], vec![5]));
        assert_eq!(workshop.ask("\"behind\""), [50]);
        let check = workshop.check();
        assert_eq!((check.missing, check.left_over, check.not_found), (0, 0, 0));
    });
}

/// The outer statement's way with conflicts holds within triggers too, and REPLACE runs none for the rows that go.
#[test]
fn replace_leaves_nothing_that_is_found() {
    run(|| {
        let workshop = half_built();
        workshop.build(10);
        workshop.sql("INSERT OR REPLACE INTO message VALUES (10, 'a', 'its number again')");
        workshop.sql("INSERT OR REPLACE INTO message VALUES (60, 'b', 'its tag again')");
        workshop.sql("UPDATE OR REPLACE message SET id = 30, body = 'moved over it' WHERE id = 40");
        workshop.sql("REPLACE INTO message VALUES (70, 'd', 'both')");
        assert_eq!(workshop.ask("\"row\""), [0_i64; 0]);
        assert_eq!(workshop.ask("\"again\""), [10, 60]);
        assert_eq!(workshop.check().left_over, 2, "20 and 30 went without a word");
        // The numbers come back, and what was left is taken over, also when the outer statement ignores conflicts.
        workshop.sql("INSERT OR IGNORE INTO message VALUES (20, 'x', 'taken over'), (30, 'y', 'this too')");
        assert_eq!((workshop.ask("\"taken over\""), workshop.ask("\"this too\"")), (vec![20], vec![30]));
        assert_eq!((workshop.ask("\"second\""), workshop.ask("\"moved\"")), (vec![], vec![]));
        // Ignored: nothing changes.
        workshop.sql("INSERT OR IGNORE INTO message VALUES (10, 'z', 'not this')");
        assert_eq!((workshop.ask("\"not this\""), workshop.ask("\"number\"")), (vec![], vec![10]));
        let check = workshop.check();
        assert_eq!((check.is_in_step(), check.left_over), (true, 0));
    });
}

#[test]
fn the_rowid_can_be_set_by_any_of_its_names() {
    run(|| {
        let workshop = half_built();
        workshop.build(10);
        for (name, id) in [("rowid", 101), ("oid", 102), ("_rowid_", 103), ("ID", 104)] {
            workshop.sql(&format!("UPDATE message SET {name} = {id} WHERE tag = 'a'"));
            assert_eq!(workshop.ask("\"first\""), [id], "{name}");
        }
        assert_eq!(workshop.check().left_over, 0);
    });
}

#[test]
fn the_ends_of_the_numbers_are_numbers() {
    run(|| {
        let workshop = Workshop::new(
            "CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT);
             INSERT INTO message VALUES (-9223372036854775808, 'lowest'), (-1, 'minus one'), (0, NULL),
                (9223372036854775807, 'highest')",
            SearchMode::Substrings,
        );
        assert!(workshop.open_index().unwrap());
        workshop.build(1);
        assert_eq!(workshop.ask("\"est\""), [i64::MIN, i64::MAX]);
        assert_eq!(workshop.ask("\"minus\""), [-1]);
        assert!(workshop.check().is_in_step());
    });
}

#[test]
fn a_long_text_ends_a_slice() {
    run(|| {
        let workshop = Workshop::new(
            "CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT);
             INSERT INTO message VALUES (1, 'short'), (2, printf('%.*c', 300000, 'x')), (3, 'short')",
            SearchMode::Substrings,
        );
        assert!(workshop.open_index().unwrap());
        assert!(!workshop.slice(100));
        assert_eq!(workshop.ask("\"short\""), [1]);
        assert!(workshop.slice(100));
        assert_eq!(workshop.ask("\"short\""), [1, 3]);
    });
}

#[test]
fn a_rebuild_starts_anew_and_a_dropped_index_is_noticed() {
    run(|| {
        let workshop = half_built();
        workshop.build(10);
        workshop.rebuild();
        assert_eq!(workshop.ask("\"row\""), [0_i64; 0]);
        workshop.build(3);
        assert_eq!(workshop.ask("\"row\""), [10, 20, 30, 40]);
        workshop.sql("DROP TRIGGER message_search_delete");
        assert_eq!(workshop.carry_out(1).what, Work::Gone);
        assert!(matches!(workshop.open_index(), Err(SearchIndexError::Differs { .. })));
    });
}

/// Users' own triggers may change the same table; a trigger does not run again within itself.
#[test]
fn triggers_of_the_users_own_change_the_same_row() {
    run(|| {
        let workshop = Workshop::new(SCHEMA, SearchMode::Substrings);
        workshop.sql(
            "CREATE TRIGGER shout AFTER INSERT ON message WHEN new.body <> upper(new.body)
             BEGIN UPDATE message SET body = upper(body) || '!' WHERE id = new.id; END;
             CREATE TRIGGER copy AFTER INSERT ON message WHEN new.id < 1000
             BEGIN INSERT INTO message (id, body) VALUES (new.id + 1000, new.body || ' copied'); END",
        );
        workshop.open_index().unwrap();
        workshop.build(10);
        workshop.sql("INSERT INTO message VALUES (50, 'e', 'quiet')");
        assert_eq!(workshop.ask("\"quiet!\""), workshop.look("quiet!"));
        assert_eq!(workshop.ask("\"copied\""), workshop.look("copied"));
        assert_eq!(workshop.ask("\"quiet\""), workshop.look("quiet"));
        assert!(workshop.check().is_in_step());
    });
}

#[test]
fn what_is_not_complete_is_not_searched() {
    run(|| {
        let workshop = half_built();
        let term = SearchTerm { index: "message_search".to_owned(), query: Value::from("\"row\"") };
        let search = PageSearch { term: Some(term), is_ranked: false, is_too_long: false };
        let find = || workshop.table.page_of_found(search.clone()).wait();
        assert!(matches!(find(), Err(ReadError::IndexNotReady { index }) if index == "message_search"));
        workshop.build(1);
        assert_eq!(find().unwrap().rows.len(), 4);
        workshop.sql("DROP TABLE message_search");
        assert!(matches!(find(), Err(ReadError::NoSearchIndex { .. })));
    });
}
