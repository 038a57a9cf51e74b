//! STRICT tables and generated columns.

use serde::{Deserialize, Serialize};
use walwright::Row;

use crate::bed::{Bed, constraint, not_started, run};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Line {
    id: i64,
    price: i64,
    count: i64,
    total: Option<i64>,
    label: Option<String>,
}

const LINES: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, price INTEGER NOT NULL, count INTEGER NOT NULL, \
                     total INTEGER GENERATED ALWAYS AS (price * count) STORED, \
                     label TEXT AS (price || ' x ' || count), v INTEGER)";

fn line(id: i64) -> Line {
    // The last two fields are read, never written.
    Line { id, price: 5, count: 2, total: Some(999), label: None }
}

#[test]
fn generated_columns_are_read_and_never_written() {
    run(|| {
        let bed = Bed::new(LINES);
        let lines = bed.revised::<Line>();
        let made = lines.insert(&line(1)).wait().unwrap();
        assert_eq!((made.revision, made.filled("total")), (Some(1), None));
        lines.upsert(&line(1)).wait().unwrap();
        lines.update(1).set("count", 3).wait().unwrap();
        lines.update(1).set_row(&Line { count: 4, ..line(1) }).only_if("total", 15).wait().unwrap();
        let modified = lines.modify(1, |line| {
            assert_eq!((line.total, line.label.as_deref()), (Some(20), Some("5 x 4")));
            line.price = 6;
            Ok(())
        });
        assert_eq!(modified.wait().unwrap().unwrap().receipt.revision, Some(5));
        let changed = lines.update_where("total", 24).set("count", 1).wait().unwrap();
        assert_eq!(changed.rows_changed, 1);
        let found = lines.get(1).wait().unwrap().unwrap();
        assert_eq!(
            found,
            Line { price: 6, count: 1, total: Some(6), label: Some("6 x 1".to_owned()), id: 1 }
        );
        for column in ["total", "label"] {
            not_started(lines.update(1).set(column, 1).wait());
            not_started(lines.update_where("id", 1).set(column, 1).wait());
        }
    });
}

#[test]
fn a_strict_table_takes_its_types_only() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER, x ANY, v INTEGER) STRICT");
        let table = bed.revised::<Row>();
        let row = |n: walwright::Value| Row::new().with("id", "a").unwrap().with("n", n).unwrap();
        constraint(table.insert(&row([1_u8].into())).wait());
        constraint(table.insert(&row(1.5.into())).wait());
        table.insert(&row(1.into())).wait().unwrap();
        constraint(table.update("a").set("n", "text").wait());
        table.update("a").set("x", "5").wait().unwrap();
        assert_eq!(bed.look("SELECT id, n, typeof(x), v FROM t"), ["a|1|text|2"]);
    });
}
