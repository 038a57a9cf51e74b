//! Nothing is left out: random statements and closures, and after each of them every row that differs was told.
//! `WALWRIGHT_SEED=1 cargo test --test changes random` runs others.

use std::collections::{BTreeMap, BTreeSet};

use walwright::rusqlite::Connection;
use walwright::rusqlite::types::Value as Held;
use walwright::{Change, ChangeKey, Operation};
use walwright_test_support::Rng;

use crate::bed::{Bed, run, shown, taken};

const SCHEMA: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, a, b UNIQUE);
    CREATE TABLE k (id TEXT PRIMARY KEY, a, b UNIQUE);
    CREATE TABLE w (id TEXT PRIMARY KEY, a) WITHOUT ROWID;
    CREATE TABLE u (id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT REPLACE);
    CREATE TABLE f (id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT FAIL);
    CREATE TABLE child (id INTEGER PRIMARY KEY, p REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE bell (id INTEGER PRIMARY KEY, a);
    CREATE TRIGGER rings AFTER INSERT ON bell BEGIN
        INSERT OR IGNORE INTO w VALUES (new.a, new.id); UPDATE k SET a = new.id WHERE id = new.a; END;
    CREATE TABLE swap (id INTEGER PRIMARY KEY, a);
    CREATE TRIGGER swaps AFTER UPDATE ON swap BEGIN INSERT OR REPLACE INTO t VALUES (new.id, 's', new.a); END;
    CREATE VIRTUAL TABLE words USING fts5(a);
";

/// Tables with rowids, and the one without.
const TABLES: [(&str, &str); 9] = [
    ("t", "rowid"),
    ("k", "rowid"),
    ("w", "id"),
    ("u", "rowid"),
    ("f", "rowid"),
    ("child", "rowid"),
    ("bell", "rowid"),
    ("swap", "rowid"),
    ("words", "rowid"),
];

type Rows = BTreeMap<String, String>;

#[test]
fn every_row_that_differs_was_told() {
    run(|| {
        let seed = std::env::var("WALWRIGHT_SEED").map_or(7, |seed| seed.parse().expect("a number"));
        let mut rng = Rng::new(seed);
        let mut bed = Bed::new(SCHEMA);
        let outside = bed.outside();
        let mut told = 0;
        let mut rows_told = 0;
        for number in 0..1_500 {
            let before = look(&outside);
            let statements: Vec<String> = (0..=rng.below(3)).map(|_| statement(&mut rng)).collect();
            let is_closure = statements.len() > 1;
            let sent = statements.clone();
            // A closure takes no notice of what fails.
            let _ = match is_closure {
                false => bed.store.execute(sent[0].clone(), ()).wait().map(drop),
                true => bed
                    .store
                    .write(move |tx| {
                        sent.iter().for_each(|sql| drop(tx.execute(sql, [])));
                        Ok(())
                    })
                    .wait()
                    .map(drop),
            };
            let after = look(&outside);
            let changes = taken(&mut bed.changes);
            let words: Vec<String> = changes.iter().map(shown).collect();
            for ((table, _), (before, after)) in TABLES.iter().zip(before.iter().zip(&after)) {
                let missed = missed(table, before, after, &changes);
                assert!(
                    missed.is_empty(),
                    "{number}: {statements:#?} told {words:?}, and not {missed:?} of {table}"
                );
            }
            told += usize::from(!changes.is_empty());
            rows_told += changes.iter().filter(|change| matches!(change, Change::Row(_))).count();
        }
        assert!(told > 700 && rows_told > 700, "{told} commands told of {rows_told} rows");
    });
}

/// Each table's rows by what names them.
fn look(outside: &Connection) -> Vec<Rows> {
    let of = |(table, name): &(&str, &str)| {
        let mut statement = outside.prepare_cached(&format!("SELECT {name}, * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let values: Vec<Held> = (0..columns).map(|at| row.get(at)).collect::<Result<_, _>>()?;
            Ok((format!("{:?}", values[0]), format!("{:?}", &values[1..])))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    TABLES.iter().map(of).collect()
}

/// What differs in a table and was not told; and, where rows are told, what was told of rows and is not so.
fn missed(table: &str, before: &Rows, after: &Rows, changes: &[Change]) -> Vec<String> {
    let of_table: Vec<&Change> = changes.iter().filter(|change| change.table() == Some(table)).collect();
    if of_table.iter().any(|change| matches!(change, Change::Table { .. })) {
        return Vec::new();
    }
    let mut last: BTreeMap<String, Operation> = BTreeMap::new();
    for change in of_table {
        let Change::Row(row) = change else { continue };
        let rowid = match &row.key {
            ChangeKey::Rowid(rowid) => *rowid,
            ChangeKey::Key(values) => match values.as_slice() {
                [walwright::Value::Integer(rowid)] => *rowid,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        last.insert(format!("{:?}", Held::Integer(rowid)), row.operation);
    }
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).chain(last.keys()).collect();
    let is_wrong = |name: &&&String| match last.get(**name) {
        None => before.get(**name) != after.get(**name),
        Some(Operation::Delete) => after.contains_key(**name),
        Some(_) => !after.contains_key(**name),
    };
    names.iter().filter(is_wrong).map(|name| (*name).clone()).collect()
}

fn statement(rng: &mut Rng) -> String {
    let (id, other) = (rng.below(8), rng.below(8));
    let (table, _) = *rng.pick(&TABLES);
    let or = *rng.pick(&["", "", "OR REPLACE", "OR IGNORE", "OR FAIL"]);
    let value = match table {
        "k" | "w" => format!("'{id}'"),
        _ => id.to_string(),
    };
    let name = if table == "words" { "rowid" } else { "id" };
    match rng.below(9) {
        0 | 1 if matches!(table, "t" | "k") => {
            format!(
                "INSERT {or} INTO {table} VALUES ({value}, {other}, {}), ('1' || {value}, 0, {other})",
                rng.below(9)
            )
        }
        0 | 1 if table == "words" => format!("INSERT INTO words(rowid, a) VALUES ({id}, 'one {other}')"),
        0 | 1 if table == "w" => format!("INSERT {or} INTO w VALUES ({value}, {other})"),
        0..=2 if table != "words" && !matches!(table, "t" | "k" | "w") => {
            format!("INSERT {or} INTO {table} VALUES ({value}, {other}), ({other} + 4, {id} + 1)")
        }
        3 if table != "words" => {
            let column = if table == "child" { "p" } else { "a" };
            format!("UPDATE {or} {table} SET {column} = {other} WHERE id >= {value}")
        }
        4 => format!("DELETE FROM {table} WHERE {name} = {value}"),
        5 if rng.once_in(4) => format!("DELETE FROM {table}"),
        6 if table != "words" && rng.once_in(2) => {
            format!("UPDATE {or} {table} SET id = {value} WHERE id = {other}")
        }
        7 => format!("UPDATE t SET b = b + 1 WHERE id < {id}"),
        _ => format!("INSERT INTO t VALUES ({id}, 'x', NULL) ON CONFLICT (id) DO UPDATE SET a = a || 'y'"),
    }
}
