//! Questions about rows, asked of a SQLite in memory.

use rusqlite::Connection;

use super::super::row_text;
use super::*;
use crate::row::{Affinity, ColumnShape, Order, PageStart, RowPart, TableShape, total_order};
use crate::sqlite::session::{Session, SessionState, StopCheck};
use crate::sync::Arc;

const UNLIMITED: usize = usize::MAX;

/// A connection inside a transaction, and the table `t` on it.
struct Bench {
    connection: Connection,
    state: SessionState,
    shape: Arc<TableShape>,
}

impl Bench {
    /// `columns` says of each whether it is NOT NULL; the key goes by places.
    fn new(schema: &str, columns: &[(&str, bool)], key: &[usize]) -> Self {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(schema).unwrap();
        let state = SessionState::install(&mut connection, StopCheck::new()).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let column = |(name, not_null): &(&str, bool)| ColumnShape {
            name: (*name).to_owned(),
            declared_type: String::new(),
            affinity: Affinity::Blob,
            not_null: *not_null,
            is_generated: false,
            default: None,
        };
        let shape = TableShape {
            name: "t".to_owned(),
            columns: columns.iter().map(column).collect(),
            key: key.to_vec(),
            primary_key: key.to_vec(),
            key_is_rowid: schema.contains("INTEGER PRIMARY KEY"),
            rowid_column: schema.contains("INTEGER PRIMARY KEY").then(|| key[0]),
            rowid_name: (!schema.contains("WITHOUT ROWID")).then_some("rowid"),
            is_strict: false,
            revision: None,
        };
        Self { connection, state, shape: Arc::new(shape) }
    }

    fn query(&self, columns: &[usize], kind: RowQueryKind) -> RowQuery {
        RowQuery { table: Arc::clone(&self.shape), columns: columns.into(), kind, live: None }
    }

    fn page(&self, order: &[Order], start: PageStart, backward: bool, limit: usize) -> RowQuery {
        let order = total_order(&self.shape, order).unwrap();
        let condition = Condition::default();
        self.query(
            &[],
            RowQueryKind::Page(Box::new(PageQuery {
                search: None,
                condition,
                order,
                start,
                backward,
                limit,
            })),
        )
    }

    fn rows(&self, query: RowQuery) -> TableRows {
        match self.ask(query, UNLIMITED).unwrap() {
            RowAnswer::Rows(rows) => rows,
            RowAnswer::Count(_) | RowAnswer::Exist(_) => panic!("rows were asked for"),
        }
    }

    fn count(&self, condition: Condition) -> u64 {
        match self.ask(self.query(&[], RowQueryKind::Count(condition)), 0) {
            Ok(RowAnswer::Count(rows)) => rows,
            _ => panic!("a count was asked for"),
        }
    }

    fn exist(&self, keys: Vec<Vec<Value>>) -> Vec<bool> {
        match self.ask(self.query(&[], RowQueryKind::Exist(keys)), 0) {
            Ok(RowAnswer::Exist(found)) => found,
            _ => panic!("a question whether keys exist"),
        }
    }

    fn ask(&self, query: RowQuery, limit: usize) -> Result<RowAnswer, RowFailure> {
        let session = Session::new(&self.connection, &self.state);
        answer(&Db::new(&session), query, limit)
    }

    /// All rows, as pages of `limit` from one end give them.
    fn walk(&self, order: &[Order], backward: bool, limit: usize) -> Vec<Vec<Value>> {
        let mut all: Vec<Vec<Value>> = Vec::new();
        loop {
            let start = all.last().map_or(PageStart::Edge, |last| PageStart::Behind(last.clone()));
            let page = self.rows(self.page(order, start, backward, limit));
            assert!(page.rows.len() == limit || !page.more);
            all.extend(page.rows);
            if !page.more {
                return all;
            }
        }
    }

    /// How SQLite finds the rows of a page behind `values`, one line for each statement.
    fn plans(&self, query: &RowQuery) -> Vec<String> {
        let RowQueryKind::Page(page) = &query.kind else { panic!("a page") };
        row_text::page(query, page, PageSource::Table)
            .into_iter()
            .map(|statement| self.plan(&statement.sql))
            .collect()
    }

    fn plan(&self, sql: &str) -> String {
        let mut prepared = self.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        // Parameters that are not bound are NULL; that does not change the plan.
        let rows = prepared.raw_query().mapped(|row| row.get::<_, String>(3));
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }
}

fn by(column: usize, descending: bool) -> Order {
    Order { column, descending }
}

/// Random numbers that a seed repeats (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// NULL, mixed types, equal values, texts that only a collation or an affinity makes equal: whatever a schema says
/// of its columns, pages give every row once, in SQLite's own order.
#[test]
fn pages_lose_and_repeat_nothing() {
    const LITERALS: [&str; 14] =
        ["NULL", "NULL", "1", "1.0", "-3", "2.5", "9e999", "'a'", "'A'", "'1'", "''", "'ab'", "x'61'", "x''"];
    const NOT_NULL: &str = "a NOT NULL, b TEXT COLLATE NOCASE NOT NULL";
    const NULLABLE: &str = "a, b TEXT COLLATE NOCASE";
    let mut dice = Dice(1);
    for (columns, not_null) in [(NOT_NULL, true), (NULLABLE, false), ("a REAL, b INTEGER", false)] {
        for (key, key_columns, key_not_null) in [
            ("id INTEGER PRIMARY KEY)", &[2][..], false),
            ("id PRIMARY KEY)", &[2], false),
            ("id TEXT NOT NULL PRIMARY KEY)", &[2], true),
            ("id NOT NULL PRIMARY KEY) WITHOUT ROWID", &[2], true),
            ("id)", &[], false),
        ] {
            let schema = format!("CREATE TABLE t ({columns}, {key}; CREATE INDEX i ON t (a, b)");
            let bench =
                Bench::new(&schema, &[("a", not_null), ("b", not_null), ("id", key_not_null)], key_columns);
            for id in 0..40 {
                let mut literal = || LITERALS[dice.below(LITERALS.len() as u64) as usize];
                let (a, b) = (literal(), literal());
                let id = if id % 3 == 0 { "NULL".to_owned() } else { id.to_string() };
                let insert = format!("INSERT OR IGNORE INTO t VALUES ({a}, {b}, {id})");
                bench.connection.execute(&insert, []).unwrap();
            }
            let stored = bench.count(Condition::default());
            assert!(stored > 10);
            for order in [
                &[][..],
                &[by(0, false)],
                &[by(0, true)],
                &[by(1, true)],
                &[by(0, false), by(1, false)],
                &[by(0, true), by(1, true)],
                &[by(0, false), by(1, true)],
                &[by(1, true), by(0, false), by(2, true)],
                &[by(2, true)],
            ] {
                let expected = bench.walk(order, false, 1_000);
                assert_eq!(expected.len() as u64, stored);
                let limit = dice.below(6) as usize + 1;
                let place = format!("{schema}: {order:?} by {limit}");
                assert_eq!(bench.walk(order, false, limit), expected, "{place}");
                let mut backward = bench.walk(order, true, limit);
                backward.reverse();
                assert_eq!(backward, expected, "{place}, backward");
            }
        }
    }
}

/// A page reads its own rows and not those before it, also where many rows are equal.
#[test]
fn an_index_on_the_order_finds_the_page() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, owner TEXT, seen INTEGER);
                  CREATE INDEX by_at ON t (at, id); CREATE INDEX by_owner ON t (owner, at, id);
                  CREATE INDEX by_seen ON t (seen, at, id)";
    let columns = [("id", false), ("at", true), ("owner", false), ("seen", false)];
    let bench = Bench::new(schema, &columns, &[0]);
    let numbers =
        |values: &[i64]| PageStart::Behind(values.iter().map(|value| Value::Integer(*value)).collect());
    let search = |index: &str, ranges: &[&str]| -> Vec<String> {
        ranges.iter().map(|range| format!("SEARCH t USING COVERING INDEX {index} ({range})")).collect()
    };
    let by_at = bench.page(&[by(1, true)], numbers(&[5, 5]), false, 7);
    assert_eq!(bench.plans(&by_at), search("by_at", &["at=? AND id<?", "at<?"]));

    let mut of_one = bench.page(&[by(1, false)], numbers(&[5, 5]), false, 7);
    if let RowQueryKind::Page(page) = &mut of_one.kind {
        page.condition.sql = "\"t\".\"owner\" = ?".to_owned();
        page.condition.params = vec![Value::Text("somebody".to_owned())];
    }
    let ranges = ["owner=? AND at=? AND id>?", "owner=? AND at>?"];
    assert_eq!(bench.plans(&of_one), search("by_owner", &ranges));

    let by_seen = bench.page(&[by(3, true), by(1, true)], numbers(&[5, 5, 5]), false, 7);
    let ranges = ["seen=? AND at=? AND id<?", "seen=? AND at<?", "seen<?", "seen=?"];
    assert_eq!(bench.plans(&by_seen), search("by_seen", &ranges));

    let start = PageStart::Behind(vec![Value::Null, Value::Integer(5), Value::Integer(5)]);
    let from_null = bench.page(&[by(3, false), by(1, false)], start, false, 7);
    let ranges = ["seen=? AND at=? AND id>?", "seen=? AND at>?", "seen>?"];
    assert_eq!(bench.plans(&from_null), search("by_seen", &ranges));

    let first = bench.page(&[by(1, false)], PageStart::Edge, true, 7);
    assert_eq!(bench.plans(&first), ["SCAN t USING COVERING INDEX by_at"]);
}

#[test]
fn the_rowid_tells_apart_only_what_the_key_does_not() {
    let bench = Bench::new("CREATE TABLE t (id TEXT PRIMARY KEY)", &[("id", false)], &[0]);
    let text = |id: Value| {
        let query = bench.page(&[], PageStart::Behind(vec![id, Value::Integer(3)]), false, 7);
        let RowQueryKind::Page(page) = &query.kind else { panic!("a page") };
        row_text::page(&query, page, PageSource::Table)
            .into_iter()
            .map(|statement| statement.sql)
            .collect::<Vec<_>>()
    };
    let named = text(Value::Text("x".to_owned()));
    assert_eq!(
        named,
        ["SELECT \"t\".\"id\", \"t\".rowid FROM \"t\" WHERE \"t\".\"id\" > ? \
          ORDER BY \"t\".\"id\", \"t\".rowid LIMIT ?"]
    );
    assert_eq!(
        text(Value::Null),
        [
            "SELECT \"t\".\"id\", \"t\".rowid FROM \"t\" WHERE \"t\".\"id\" IS NULL AND \"t\".rowid > ? \
             ORDER BY \"t\".rowid LIMIT ?",
            "SELECT \"t\".\"id\", \"t\".rowid FROM \"t\" WHERE \"t\".\"id\" IS NOT NULL \
             ORDER BY \"t\".\"id\", \"t\".rowid LIMIT ?",
        ]
    );
}

#[test]
fn keys_give_their_rows_in_their_order() {
    let schema = "CREATE TABLE t (a TEXT COLLATE NOCASE, b INTEGER, v, PRIMARY KEY (a, b));
                  INSERT INTO t VALUES ('x', 1, 'one'), ('x', 2, 'two'), ('y', 1, NULL)";
    let bench = Bench::new(schema, &[("a", false), ("b", false), ("v", false)], &[0, 1]);
    let key = |a: &str, b: i64| vec![Value::Text(a.to_owned()), Value::Integer(b)];
    let keys = vec![key("y", 1), key("X", 2), key("z", 1), key("x", 1), key("y", 1)];
    let rows = bench.rows(bench.query(&[2], RowQueryKind::Keys(keys))).rows;
    let text = |text: &str| vec![Value::Text(text.to_owned())];
    assert_eq!(rows, [vec![Value::Null], text("two"), text("one"), vec![Value::Null]]);

    let none = RowQueryKind::Keys(vec![vec![Value::Null, Value::Integer(1)]]);
    assert!(bench.rows(bench.query(&[], none)).rows.is_empty());
    let there = RowQueryKind::Keys(vec![key("x", 1)]);
    assert_eq!(bench.rows(bench.query(&[], there)).rows, [[Value::Integer(1)]]);
}

#[test]
fn counts_and_limits_hold() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, v);
                  INSERT INTO t SELECT value, zeroblob(1000) FROM json_each('[1,2,3,4,5,6,7,8,9]')";
    let bench = Bench::new(schema, &[("id", false), ("v", false)], &[0]);
    assert_eq!(bench.count(Condition::default()), 9);
    assert_eq!(bench.count(Condition { sql: "id > ?".to_owned(), params: vec![Value::Integer(6)] }), 3);

    let mut query = bench.page(&[], PageStart::Edge, false, 5);
    query.columns = [0, 1].into();
    assert!(matches!(bench.ask(query.clone(), 5_000), Err(RowFailure::TooLarge)));
    let rows = bench.rows(query);
    assert!(rows.more && rows.rows.len() == 5);
    assert_eq!(rows.query.selected(), [RowPart::Column(0), RowPart::Column(1)]);
}

#[test]
fn existing_keys_are_told_by_the_index_alone() {
    let schema =
        "CREATE TABLE t (id TEXT PRIMARY KEY, body TEXT); INSERT INTO t VALUES ('a', 'x'), ('b', 'y')";
    let bench = Bench::new(schema, &[("id", false), ("body", false)], &[0]);
    let keys = || ["b", "c", "a", "b"].map(|key| vec![Value::from(key)]).to_vec();
    assert_eq!(bench.exist(keys()), [true, false, true, true]);
    assert_eq!(bench.exist(vec![vec![Value::Null]]), [false]);
    assert_eq!(bench.exist(Vec::new()), [false; 0]);
    let plan = bench.plan(&row_text::by_key(&bench.query(&[], RowQueryKind::Exist(keys()))));
    assert_eq!(plan, "SEARCH t USING COVERING INDEX sqlite_autoindex_t_1 (id=?)");
}

fn last_of_each(bench: &Bench, group: usize, by_column: usize, columns: &[usize]) -> RowQuery {
    let order = total_order(&bench.shape, &[by(group, true), by(by_column, true)]).unwrap();
    bench.query(columns, RowQueryKind::LastOfEach(order))
}

/// Against what a GROUP BY over everything says, for groups and times of every kind.
#[test]
fn the_last_of_each_group_is_found() {
    const LITERALS: [&str; 9] = ["NULL", "1", "1.0", "2.5", "'a'", "'A'", "'1'", "x'61'", "x''"];
    let mut dice = Dice(7);
    for columns in ["g, at", "g TEXT COLLATE NOCASE, at", "g INTEGER NOT NULL, at REAL"] {
        for index in ["CREATE INDEX i ON t (g, at)", ""] {
            let schema = format!("CREATE TABLE t (id INTEGER PRIMARY KEY, {columns}); {index}");
            let not_null = columns.contains("NOT NULL");
            let bench = Bench::new(&schema, &[("id", false), ("g", not_null), ("at", false)], &[0]);
            let found = || bench.rows(last_of_each(&bench, 1, 2, &[0])).rows;
            assert_eq!(found().len(), 0);
            for rows in 1..60 {
                let mut literal = || LITERALS[dice.below(LITERALS.len() as u64) as usize];
                let insert = format!("INSERT OR IGNORE INTO t (g, at) VALUES ({}, {})", literal(), literal());
                bench.connection.execute(&insert, []).unwrap();
                let ids: Vec<_> = found().into_iter().map(|mut row| row.swap_remove(0)).collect();
                let expected = "SELECT id FROM (SELECT id, g, row_number() OVER
                                (PARTITION BY g ORDER BY at DESC, id DESC) AS place FROM t) WHERE place = 1 ORDER BY g";
                let mut expected = bench.connection.prepare(expected).unwrap();
                let expected = expected.query_map([], |row| row.get::<_, i64>(0)).unwrap();
                let expected: Vec<_> = expected.map(|id| Value::Integer(id.unwrap())).collect();
                assert_eq!(ids, expected, "{rows} rows, {schema}");
            }
        }
    }
}

#[test]
fn an_index_leads_from_group_to_group() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, at INTEGER, body TEXT);
                  CREATE INDEX i ON t (g, at)";
    let columns = [("id", false), ("g", false), ("at", false), ("body", false)];
    let bench = Bench::new(schema, &columns, &[0]);
    let query = last_of_each(&bench, 1, 2, &[3]);
    let RowQueryKind::LastOfEach(order) = &query.kind else { panic!("groups") };
    let plan = |step| bench.plan(&row_text::last_of_next(&query, order, step));
    assert_eq!(plan(GroupStep::First), "SCAN t USING INDEX i", "and no sorting behind it");
    assert_eq!(plan(GroupStep::Below), "SEARCH t USING INDEX i (g<?)");
    assert_eq!(plan(GroupStep::Null), "SEARCH t USING INDEX i (g=?)");
}

/// However large the groups are, so many steps of SQLite's machine are all that it takes.
#[test]
fn the_last_of_each_group_costs_a_look_up_each() {
    let schema =
        "CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, at INTEGER); CREATE INDEX i ON t (g, at);
                  WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                  INSERT INTO t SELECT i, i % 10, i FROM n";
    let bench = Bench::new(schema, &[("id", false), ("g", false), ("at", false)], &[0]);
    let query = last_of_each(&bench, 1, 2, &[0]);
    let RowQueryKind::LastOfEach(order) = &query.kind else { panic!("groups") };
    let mut step =
        bench.connection.prepare(&row_text::last_of_next(&query, order, GroupStep::Below)).unwrap();
    let found: i64 = step.query_row([5], |row| row.get(0)).unwrap();
    assert_eq!(found, 19_994);
    assert!(step.get_status(rusqlite::StatementStatus::VmStep) < 40);
    assert_eq!(bench.rows(last_of_each(&bench, 1, 2, &[0])).rows.len(), 10);
}
