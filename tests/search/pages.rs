//! Pages of what is found: whatever comes and goes between them.

use walwright::{Cursor, Filter, Page, PageRequest};

use crate::bed::{Bed, Message, ids, page, run};

/// All ids, page by page. `between` is called after each page with its number.
fn walk(
    request: impl Fn() -> PageRequest<Message>,
    limit: usize,
    mut between: impl FnMut(usize),
) -> Vec<i64> {
    let (mut found, mut cursor) = (Vec::new(), None::<Cursor>);
    for number in 0.. {
        let next = request().limit(limit);
        let Page { rows, next, .. } = page(match &cursor {
            Some(cursor) => next.after(cursor),
            None => next,
        });
        found.extend(rows.iter().map(|message| message.id));
        between(number);
        match next {
            // As a client gives it back.
            Some(next) => cursor = Some(next.to_string().parse().unwrap()),
            None => break,
        }
    }
    found
}

#[test]
fn equal_times_lose_and_repeat_nothing_while_rows_come_and_go() {
    run(|| {
        let bed = Bed::new(&["needle"; 60]);
        bed.sql("UPDATE message SET at = id / 20; UPDATE message SET body = 'hay' WHERE id % 3 = 0");
        let index = bed.substrings();
        let expected =
            |keep: fn(&i64) -> bool| (1..=60).rev().filter(|id| id % 3 != 0).filter(keep).collect::<Vec<_>>();
        assert_eq!(walk(|| index.find("needle").order_by_desc("at"), 7, |_| {}), expected(|_| true));
        let found = walk(
            || index.find("needle").order_by_desc("at"),
            7,
            |number| match number {
                // Those that are given already, those that are to come, and the very row of the cursor.
                0 => bed.sql("DELETE FROM message WHERE id IN (59, 52, 10)"),
                1 => bed.sql("INSERT INTO message VALUES (100, 1, 2, 'a needle'), (101, 1, 9, 'needle')"),
                2 => bed.sql("UPDATE message SET body = 'hay' WHERE id = 11"),
                _ => {}
            },
        );
        let stayed: Vec<i64> = found.into_iter().filter(|id| *id < 100).collect();
        assert_eq!(stayed, expected(|id| ![10, 11].contains(id)));
    });
}

#[test]
fn the_order_of_the_key_goes_both_ways() {
    run(|| {
        let bed = Bed::new(&["one", "xone", "two", "onex", "one"]);
        let index = bed.substrings();
        assert_eq!(walk(|| index.find("one"), 2, |_| {}), [1, 2, 4, 5]);
        assert_eq!(walk(|| index.find("one").order_by_desc("id"), 1, |_| {}), [5, 4, 2, 1]);
        let last = page(index.find("one").limit(3).last());
        assert_eq!(last.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [2, 4, 5]);
        assert_eq!(ids(index.find("one").before(&last.previous.unwrap())), [1]);
        let all: Vec<_> = walwright_stream(index.find("one").limit(1));
        assert_eq!(all, [1, 2, 4, 5]);
    });
}

fn walwright_stream(request: PageRequest<Message>) -> Vec<i64> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut stream = request.stream();
    runtime.block_on(async {
        let mut ids = Vec::new();
        while let Some(message) = stream.next().await {
            ids.push(message.unwrap().id);
        }
        ids
    })
}

#[test]
fn filters_are_combined_with_what_is_found() {
    run(|| {
        let bed = Bed::new(&["needle one", "needle two", "hay", "needle three"]);
        bed.sql("UPDATE message SET buffer = 2 WHERE id > 1");
        let index = bed.substrings();
        let in_two = || index.find("needle").filter(Filter::eq("buffer", 2));
        assert_eq!(ids(in_two()), [2, 4]);
        assert_eq!(ids(in_two().filter(Filter::sql("at < ?", (4,)))), [2]);
        assert_eq!(ids(in_two().filter(Filter::contains("body", "three"))), [4]);
        // Names of the index's own columns and of its functions mean the table's, or nothing.
        assert!(index.find("needle").filter(Filter::sql("c0 = ?", ("needle",))).wait().is_err());
        assert_eq!(ids(index.find("needle").filter(Filter::sql("rowid = ?", (2,)))), [2]);
        // Too short for the index: the rows that the filter leaves are looked at.
        assert_eq!(ids(index.find("ay").filter(Filter::eq("buffer", 2))), [3]);
        assert_eq!(ids(index.find("ne").filter(Filter::eq("buffer", 1)).order_by_desc("at")), [1]);
    });
}

#[test]
fn the_best_comes_first_and_the_key_breaks_ties() {
    run(|| {
        let bed = Bed::new(&["a cat and a dog and much else", "cat", "cat cat cat", "dog", "cat", "cat"]);
        for index in [bed.words(), bed.substrings()] {
            let found = ids(index.find_ranked("cat"));
            assert_eq!(found.last(), Some(&1), "{found:?}");
            let ties: Vec<_> = found.iter().copied().filter(|id| [2, 5, 6].contains(id)).collect();
            assert_eq!(ties, [2, 5, 6]);
            for limit in 1..=5 {
                assert_eq!(walk(|| index.find_ranked("cat"), limit, |_| {}), found, "{limit} rows a page");
            }
            let newest = ids(index.find_ranked("cat").order_by_desc("at"));
            let ties: Vec<_> = newest.into_iter().filter(|id| [2, 5, 6].contains(id)).collect();
            assert_eq!(ties, [6, 5, 2], "the order that is asked for comes behind the rank");
        }
    });
}

#[test]
fn a_text_too_short_to_be_ranked_has_pages_too() {
    run(|| {
        let bed = Bed::new(&["ab", "xab", "b", "ab"]);
        let index = bed.substrings();
        for limit in 1..=3 {
            assert_eq!(walk(|| index.find_ranked("ab"), limit, |_| {}), [1, 2, 4]);
        }
    });
}

#[test]
fn a_cursor_of_the_same_order_fits_with_a_search_and_without() {
    run(|| {
        let bed = Bed::new(&["x needle", "hay", "needle", "hay", "needle"]);
        let index = bed.substrings();
        let first = page(bed.messages.page().order_by_desc("at").limit(2)).next.unwrap();
        assert_eq!(ids(index.find("needle").order_by_desc("at").after(&first)), [3, 1]);
        let ranked = page(index.find_ranked("needle").limit(1)).next.unwrap();
        assert!(index.find("needle").after(&ranked).wait().is_err(), "another order");
    });
}

#[test]
fn rows_of_another_key_than_the_number_are_found_too() {
    run(|| {
        let bed = Bed::new(&[]);
        bed.sql(
            "CREATE TABLE note (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rank TEXT, text TEXT);
             INSERT INTO note VALUES (7, 'b', 'first', 'some words'), (9, 'a', 'second', 'more words')",
        );
        let notes = bed.store.table::<walwright::Row>("note").key(["id"]).open().wait().unwrap();
        let index =
            notes.search_index("note_search").columns(["text", "rank"]).words().open().wait().unwrap();
        index.ready().wait().unwrap();
        let find = |request: PageRequest<walwright::Row>| -> Vec<String> {
            request.wait().unwrap().rows.iter().map(|row| row.get("id").unwrap()).collect()
        };
        assert_eq!(find(index.find("words")), ["a", "b"]);
        assert_eq!(find(index.find("words first")), ["b"], "one word in one column, one in the other");
        assert_eq!(find(index.find("words").filter(Filter::sql("rank > ?", ("first",)))), ["a"]);
        let mut request = index.find("words").limit(1);
        request = request.after(&index.find("words").limit(1).wait().unwrap().next.unwrap());
        assert_eq!(find(request), ["b"]);
    });
}
