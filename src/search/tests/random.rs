//! Random programs over a table whose index is being built, with restarts in between: at the end the index and LIKE
//! agree. `WALWRIGHT_SEARCH_SEEDS=200` runs more of them.

use walwright_test_support::Rng;

use super::*;
use crate::error::WriteError;

const SCHEMA: &str =
    "CREATE TABLE message (id INTEGER PRIMARY KEY, tag INTEGER UNIQUE, body TEXT, note TEXT)";
const STEPS: usize = 60;

fn seeds() -> u64 {
    std::env::var("WALWRIGHT_SEARCH_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(12)
}

fn text(rng: &mut Rng) -> String {
    let letters = ["a", "b", "c", "ab", " ", "x", "-", "%", "_", "\""];
    (0..rng.below(12)).map(|_| *rng.pick(&letters)).collect()
}

/// A text as a string of SQL's.
fn literal(rng: &mut Rng) -> String {
    if rng.once_in(12) { "NULL".to_owned() } else { format!("'{}'", text(rng)) }
}

/// A number of a row, more or less among those that are there.
fn id(rng: &mut Rng) -> i64 {
    rng.below(60) as i64 - 5
}

fn statement(rng: &mut Rng) -> String {
    let (one, other, tag, body) = (id(rng), id(rng), rng.below(40), literal(rng));
    let or = *rng.pick(&["", "OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT"]);
    match rng.below(11) {
        0 => format!("INSERT {or} INTO message (tag, body) VALUES ({tag}, {body})"),
        1 => format!("INSERT {or} INTO message (id, tag, body) VALUES ({one}, {tag}, {body})"),
        2 => {
            let more = literal(rng);
            format!("INSERT {or} INTO message (id, body) VALUES ({one}, {body}), ({other}, {more})")
        }
        3 => format!(
            "INSERT INTO message (id, tag, body) VALUES ({one}, {tag}, {body}) \
             ON CONFLICT (id) DO UPDATE SET body = excluded.body ON CONFLICT (tag) DO UPDATE SET id = {other}"
        ),
        4 => format!("UPDATE {or} message SET body = {body} WHERE id BETWEEN {one} AND {one} + 3"),
        5 => format!("UPDATE {or} message SET id = {other} WHERE id = {one}"),
        6 => format!("UPDATE {or} message SET rowid = {other}, body = {body}, tag = {tag} WHERE tag = {tag}"),
        7 => format!("UPDATE message SET note = {body} WHERE id > {one}"),
        8 => format!("UPDATE {or} message SET id = id + 1 WHERE id BETWEEN {one} AND {one} + 2"),
        9 => format!("DELETE FROM message WHERE id BETWEEN {one} AND {one} + 2"),
        _ => format!("UPDATE {or} message SET tag = {tag}, body = body || 'abc' WHERE id = {one}"),
    }
}

/// A row command or one on many rows. What it fails with is of no interest here.
fn row_command(rng: &mut Rng, table: &Table<Row>) -> Result<(), WriteError> {
    let row = |rng: &mut Rng| {
        let mut row = Row::new();
        row.set("id", id(rng)).unwrap();
        row.set("tag", rng.below(40) as i64).unwrap();
        row.set("body", text(rng)).unwrap();
        row
    };
    match rng.below(7) {
        0 => table.insert(&row(rng)).wait().map(drop),
        1 => table.insert_or_ignore(&row(rng)).wait().map(drop),
        2 => table.upsert(&row(rng)).wait().map(drop),
        3 => table.update(id(rng)).set("body", text(rng)).wait().map(drop),
        4 => table.delete(id(rng)).wait().map(drop),
        5 => {
            let rows: Vec<_> = (0..rng.below(20)).map(|_| row(rng)).collect();
            table.upsert_many(&rows).wait().map(drop)
        }
        _ => table.update_where("tag", rng.below(40) as i64).set("body", text(rng)).wait().map(drop),
    }
}

fn compare(workshop: &Workshop, rng: &mut Rng) {
    for _ in 0..6 {
        let text: String = (0..3 + rng.below(3)).map(|_| *rng.pick(&["a", "b", "c", " ", "x"])).collect();
        assert_eq!(workshop.ask(&format!("\"{text}\"")), workshop.look(&text), "{text:?}");
    }
    let check = workshop.check();
    assert!(check.is_in_step(), "{check:?}");
}

#[test]
fn whatever_happens_while_it_is_built_the_index_agrees_with_the_table() {
    for seed in 0..seeds() {
        watchdog(Duration::from_secs(60), move || {
            let mut rng = Rng::new(seed);
            let mut workshop = Workshop::new(SCHEMA, SearchMode::Substrings);
            for _ in 0..rng.below(40) {
                let _ = workshop.store.execute(statement(&mut rng), ()).wait();
            }
            workshop.open_index().unwrap();
            for _ in 0..STEPS {
                match rng.below(10) {
                    0..5 => drop(workshop.store.execute(statement(&mut rng), ()).wait()),
                    5..7 => drop(row_command(&mut rng, &workshop.table)),
                    7 | 8 => {
                        let rows = 1 + rng.below(4) as u32;
                        if workshop.slice(rows) {
                            compare(&workshop, &mut rng);
                            if rng.once_in(3) {
                                workshop.rebuild();
                            }
                        }
                    }
                    _ => {
                        if rng.once_in(2) {
                            workshop.reopen();
                        }
                        workshop.open_index().unwrap();
                    }
                }
            }
            workshop.build(5);
            compare(&workshop, &mut rng);
        });
    }
}
