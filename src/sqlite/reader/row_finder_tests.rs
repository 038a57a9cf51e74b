//! What is found batch by batch, held against what is found by looking everything up.

use rusqlite::Connection;
use walwright_test_support::Rng;

use super::super::row_text::PageSource;
use super::*;
use crate::row::{
    Affinity, ColumnShape, Condition, Live, Order, OrderTerm, PageStart, RowQueryKind, TableShape,
    total_order,
};
use crate::sqlite::session::{Session, SessionState, StopCheck};
use crate::sync::Arc;

const AT: usize = 1;
const ROOM: usize = 2;

/// Cheap enough for any table of a test.
const SMALL: FinderLimits = FinderLimits { few: 4, batch: 3, asked_each: 1e6, steps_each: 1e6 };

/// A connection inside a transaction, with the table `t` and the index `t_search` of its texts.
struct Bench {
    connection: Connection,
    state: SessionState,
    shape: Arc<TableShape>,
}

impl Bench {
    fn new(schema: &str) -> Self {
        let mut connection = Connection::open_in_memory().unwrap();
        let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, at, room INTEGER NOT NULL, body TEXT);
            CREATE VIRTUAL TABLE t_search USING fts5(c0, content='', contentless_delete=1, tokenize='trigram');";
        connection.execute_batch(&format!("{table} {schema}")).unwrap();
        let state = SessionState::install(&mut connection, StopCheck::new()).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let column = |(name, not_null): (&str, bool)| ColumnShape {
            name: name.to_owned(),
            declared_type: String::new(),
            affinity: Affinity::Blob,
            not_null,
            is_generated: false,
            default: None,
        };
        let columns = [("id", false), ("at", false), ("room", true), ("body", false)];
        let shape = TableShape {
            name: "t".to_owned(),
            columns: columns.into_iter().map(column).collect(),
            key: vec![0],
            primary_key: vec![0],
            key_is_rowid: true,
            rowid_column: Some(0),
            rowid_name: Some("rowid"),
            is_strict: false,
            revision: None,
        };
        Self { connection, state, shape: Arc::new(shape) }
    }

    fn put(&self, id: i64, at: Option<i64>, room: i64, body: &str) {
        let row = "INSERT OR IGNORE INTO t VALUES (?1, ?2, ?3, ?4)";
        if self.connection.execute(row, (id, at, room, body)).unwrap() == 1 {
            self.connection.execute("DELETE FROM t_search WHERE rowid = ?1", [id]).unwrap();
            self.connection.execute("INSERT INTO t_search (rowid, c0) VALUES (?1, ?2)", (id, body)).unwrap();
        }
    }

    /// Rows from 1 on, the later the newer, of which one in `each` holds the needle.
    fn fill(&self, rows: i64, each: i64, at: impl Fn(i64) -> i64) {
        for id in 1..=rows {
            self.put(id, Some(at(id)), id % 3, if id % each == 0 { "a needle" } else { "hay" });
        }
    }

    fn query(
        &self,
        asked: &[Order],
        start: PageStart,
        backward: bool,
        limit: usize,
    ) -> (RowQuery, SearchTerm) {
        let search = SearchTerm { index: "t_search".to_owned(), query: Value::from("\"needle\"") };
        let order = total_order(&self.shape, asked).unwrap();
        let condition = Condition::default();
        let page =
            PageQuery { search: Some(Box::new(search.clone())), condition, order, start, backward, limit };
        let (table, kind) = (Arc::clone(&self.shape), RowQueryKind::Page(Box::new(page)));
        (RowQuery { table, columns: [0].into(), kind, live: None }, search)
    }

    /// What is found by these limits, if it is not better to look all of it up.
    fn find(&self, query: &RowQuery, search: &SearchTerm, limits: FinderLimits) -> Option<Vec<i64>> {
        let session = Session::new(&self.connection, &self.state);
        find(&Db::new(&session), query, page_of(query), search, limits).unwrap()
    }

    /// The ids of a page, and of the row behind it.
    fn ids(&self, query: &RowQuery, source: PageSource<'_>) -> Vec<i64> {
        let session = Session::new(&self.connection, &self.state);
        let db = Db::new(&session);
        let page = page_of(query);
        let wanted = Value::Integer(page.limit as i64 + 1);
        let statement = row_text::page(query, page, source).swap_remove(0);
        let params = statement.params.into_iter().chain([&wanted]).map(Bound);
        db.query(&statement.sql, params_from_iter(params), |row| row.get(0)).unwrap()
    }

    /// Holds one page against the whole. Whether batches were enough for it.
    #[track_caller]
    fn hold(&self, query: &RowQuery, search: &SearchTerm, limits: FinderLimits, what: &str) -> bool {
        let Some(found) = self.find(query, search, limits) else { return false };
        let list = listed(&found);
        assert_eq!(
            self.ids(query, PageSource::List(&list)),
            self.ids(query, PageSource::Search(search)),
            "{what}"
        );
        true
    }
}

fn page_of(query: &RowQuery) -> &PageQuery {
    let RowQueryKind::Page(page) = &query.kind else { panic!("a page") };
    page
}

fn by(column: usize, descending: bool) -> Order {
    Order { column, descending }
}

/// A number for the next row: in step with the time, against it, or neither.
fn id(rng: &mut Rng, kind: usize, at: i64) -> i64 {
    match kind {
        0 => at,
        1 => 1_000 - at,
        2 => rng.below(1_000) as i64,
        3 => (rng.below(usize::MAX) as i64) - (rng.below(1_000) as i64),
        _ => *rng.pick(&[i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]),
    }
}

fn start(rng: &mut Rng, bench: &Bench, order: &[OrderTerm]) -> PageStart {
    let ids: Vec<i64> = {
        let mut ids = bench.connection.prepare("SELECT id FROM t").unwrap();
        ids.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    if ids.is_empty() || rng.once_in(3) {
        return PageStart::Edge;
    }
    let id = *rng.pick(&ids);
    let value = |term: &OrderTerm| {
        let RowPart::Column(column) = term.of else { panic!("a column") };
        let sql = format!("SELECT {} FROM t WHERE id = ?1", bench.shape.columns[column].name);
        let value: Option<i64> = bench.connection.query_row(&sql, [id], |row| row.get(0)).unwrap();
        value.map_or(Value::Null, Value::Integer)
    };
    PageStart::Behind(order.iter().map(value).collect())
}

/// Rows that come and go, with and without what the index has of them, in orders of every kind, with cursors, filters
/// and rows that have expired.
#[test]
fn batches_find_what_sorting_finds() {
    let mut found = [0_u32; 2];
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let index = *rng.pick(&["", "CREATE INDEX by_at ON t (at)", "CREATE INDEX by_room ON t (room, at)"]);
        let bench = Bench::new(index);
        let (kind, share) = (rng.below(5), 1 + rng.below(12));
        for step in 0..rng.below(200) as i64 {
            let at = if rng.once_in(10) { None } else { Some(step / 5) };
            let body = if rng.once_in(share) { "x needle" } else { "hay" };
            let (id, room) = (id(&mut rng, kind, step), rng.below(3) as i64);
            bench.put(id, at, room, body);
            if rng.once_in(8) {
                let gone: Option<i64> = bench
                    .connection
                    .query_row("SELECT min(id) FROM t WHERE id >= ?1", [id], |row| row.get(0))
                    .unwrap();
                bench.connection.execute("DELETE FROM t WHERE id = ?1", [gone]).unwrap();
                // What REPLACE takes away stays in the index.
                if rng.once_in(2) {
                    bench.connection.execute("DELETE FROM t_search WHERE rowid = ?1", [gone]).unwrap();
                }
            }
        }
        for _ in 0..40 {
            let asked = rng.pick(&[vec![AT], vec![ROOM], vec![ROOM, AT], vec![AT, ROOM], vec![]]).clone();
            let asked: Vec<_> = asked.into_iter().map(|of| by(of, rng.once_in(2))).collect();
            let order = total_order(&bench.shape, &asked).unwrap();
            let start = start(&mut rng, &bench, &order);
            let (mut query, search) = bench.query(&asked, start, rng.once_in(2), 1 + rng.below(9));
            if let RowQueryKind::Page(page) = &mut query.kind
                && rng.once_in(2)
            {
                page.condition = Condition { sql: "t.room = ?".to_owned(), params: vec![Value::Integer(1)] };
            }
            if rng.once_in(3) {
                query.live = Some(Box::new(Live { column: AT, now: Value::Integer(rng.below(30) as i64) }));
            }
            let limits = FinderLimits {
                few: rng.below(30),
                batch: 1 + rng.below(20),
                asked_each: *rng.pick(&[0.5, 10.0, 1e6]),
                steps_each: *rng.pick(&[8.0, 1e6]),
            };
            let is_found = bench.hold(&query, &search, limits, &format!("seed {seed}"));
            found[usize::from(is_found)] += 1;
        }
    }
    assert!(found.iter().all(|times| *times > 300), "{found:?}");
}

#[test]
fn a_page_of_a_common_text_is_found_in_its_first_rows() {
    let bench = Bench::new("CREATE INDEX by_at ON t (at)");
    bench.fill(30_000, 10, |id| id / 3);
    let (query, search) = bench.query(&[by(AT, true)], PageStart::Edge, false, 20);
    let found = bench.find(&query, &search, FinderLimits::default()).unwrap();
    assert!((21..100).contains(&found.len()), "{}", found.len());
    assert_eq!(found[..3], [30_000, 29_990, 29_980]);
    // Behind a cursor, the other way, and in the order of a column whose rows lie between those of others.
    let behind = PageStart::Behind(vec![Value::Integer(200), Value::Integer(600)]);
    let (query, search) = bench.query(&[by(AT, true)], behind, true, 20);
    assert_eq!(bench.find(&query, &search, FinderLimits::default()).unwrap()[..2], [610, 620]);
}

#[test]
fn few_are_found_at_once_and_the_order_of_the_key_needs_none_of_it() {
    let bench = Bench::new("");
    bench.fill(100, 10, |id| id);
    let (query, search) = bench.query(&[by(AT, true)], PageStart::Edge, false, 3);
    assert_eq!(bench.find(&query, &search, FinderLimits::default()).unwrap().len(), 10);
    let (query, search) = bench.query(&[by(0, true)], PageStart::Edge, false, 3);
    assert_eq!(bench.find(&query, &search, SMALL), None);
}

/// An order without an index, rows that are scattered, and a filter that few of them meet.
#[test]
fn what_gets_too_dear_is_given_up() {
    let bench = Bench::new("");
    bench.fill(30_000, 10, |id| id);
    let (query, search) = bench.query(&[by(AT, true)], PageStart::Edge, false, 20);
    assert_eq!(bench.find(&query, &search, SMALL), None, "it is seen beforehand");

    let scattered = Bench::new("CREATE INDEX by_at ON t (at)");
    scattered.fill(30_000, 10, |id| id * 7_919 % 30_011);
    let (query, search) = scattered.query(&[by(AT, true)], PageStart::Edge, false, 20);
    assert_eq!(scattered.find(&query, &search, FinderLimits::default()), None);
    assert!(scattered.hold(&query, &search, SMALL, "scattered"));

    let filtered = Bench::new("CREATE INDEX by_at ON t (at)");
    filtered.fill(30_000, 10, |id| id);
    let (mut query, search) = filtered.query(&[by(AT, true)], PageStart::Edge, false, 20);
    if let RowQueryKind::Page(page) = &mut query.kind {
        page.condition = Condition { sql: "t.id % 10000 = ?".to_owned(), params: vec![Value::Integer(0)] };
    }
    assert_eq!(filtered.find(&query, &search, FinderLimits::default()), None);
    assert!(filtered.hold(&query, &search, SMALL, "filtered"));
    // Nothing of it outlives the search.
    let session = Session::new(&filtered.connection, &filtered.state);
    let db = Db::new(&session);
    let rows: i64 = db.query_row("SELECT count(*) FROM t WHERE room + id > 0", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 30_000);
}

/// A filter is asked about rows that the text is not in, which nobody searched for.
#[test]
fn a_filter_that_fails_for_other_rows_fails_nothing() {
    let bench = Bench::new("CREATE INDEX by_at ON t (at)");
    bench.fill(60, 2, |id| id);
    let (mut query, search) = bench.query(&[by(AT, true)], PageStart::Edge, false, 5);
    if let RowQueryKind::Page(page) = &mut query.kind {
        let sql = "json_extract(iif(t.body = 'hay', '{', '[1]'), '$[0]') = ?".to_owned();
        page.condition = Condition { sql, params: vec![Value::Integer(1)] };
    }
    assert_eq!(bench.find(&query, &search, SMALL), None);
    assert_eq!(bench.ids(&query, PageSource::Search(&search)).len(), 6);
}

#[test]
fn ranges_hold_all_and_leave_wide_gaps_out() {
    assert_eq!(ranges(&[], 5.0), []);
    assert_eq!(ranges(&[1, 3, 9, 10, 30], 5.0), [(1, 3), (9, 10), (30, 30)]);
    assert_eq!(ranges(&[i64::MIN, 0, i64::MAX], 1.0), [(i64::MIN, i64::MIN), (0, 0), (i64::MAX, i64::MAX)]);
}
