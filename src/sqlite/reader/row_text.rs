//! The SQL of questions about rows.

use crate::row::{
    Condition, OrderTerm, PageQuery, PageStart, RowPart, RowQuery, SearchTerm, TableShape, Value, column_sql,
    quoted,
};

/// What a search finds, under names that no table and no column of a user has by chance.
const FOUND: &str = "\"walwright found\"";
const FOUND_ROWID: &str = "\"walwright rowid\"";
const FOUND_RANK: &str = "\"walwright rank\"";

/// Where the rows of a page come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PageSource<'q> {
    /// From the table.
    Table,
    /// What a search finds.
    Search(&'q SearchTerm),
    /// The rows with these rowids, an array of JSON.
    List(&'q Value),
}

/// A statement and its parameters, in order.
#[derive(Debug, PartialEq)]
pub(super) struct RowStatement<'q> {
    pub(super) sql: String,
    pub(super) params: Vec<&'q Value>,
}

/// Finds one row by its key, whose values are the parameters, and what [`now`] gives.
pub(super) fn by_key(query: &RowQuery) -> String {
    let table = &*query.table;
    let key: Vec<_> = table.key.iter().map(|column| format!("{} = ?", column_sql(table, *column))).collect();
    format!("{}{}", select(query, PageSource::Table), where_all(query, "", &key.join(" AND ")))
}

/// Counts the rows that meet the condition.
pub(super) fn count<'q>(query: &'q RowQuery, condition: &'q Condition) -> RowStatement<'q> {
    let from = quoted(&query.table.name);
    let sql = format!("SELECT count(*) FROM {from}{}", where_all(query, &condition.sql, ""));
    RowStatement { sql, params: condition.params.iter().chain(now(query)).collect() }
}

/// Which group a jump from group to group looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupStep {
    /// The greatest one.
    First,
    /// The greatest one below the parameter.
    Below,
    /// That of the rows whose group is NULL.
    Null,
}

/// Finds the last row of a group, in an order that descends in all terms and begins with the group. What [`now`] gives
/// is the last parameter.
pub(super) fn last_of_next(query: &RowQuery, order: &[OrderTerm], step: GroupStep) -> String {
    let names: Vec<_> =
        order.iter().map(|term| part_name(&query.table, term.of, PageSource::Table)).collect();
    let group = names.first().map_or("", String::as_str);
    let of_group = match step {
        GroupStep::First => String::new(),
        GroupStep::Below => format!("{group} < ?"),
        GroupStep::Null => format!("{group} IS NULL"),
    };
    let order: Vec<_> = names.iter().map(|name| format!("{name} DESC")).collect();
    let select = select(query, PageSource::Table);
    format!("{select}{} ORDER BY {} LIMIT 1", where_all(query, "", &of_group), order.join(", "))
}

/// Finds the rows of a page. One statement after the other gives them in order, until there are enough; one more
/// parameter follows, how many rows are still wanted.
///
/// Each statement takes the rows that are the same as the start in the first terms and behind it in the next: one
/// range of an index on the columns of the order, read from where it begins. One statement for all of them would
/// read every row that is equal to the start in the first term, for each page: SQLite looks up an OR of ranges by
/// what they share, and a row value (`(at, id) > (?, ?)`) without its INTEGER PRIMARY KEY. And neither finds NULL.
///
/// A search is one statement: what it finds it finds anew in each, and sorts. So is a list.
pub(super) fn page<'q>(
    query: &'q RowQuery,
    page: &'q PageQuery,
    source: PageSource<'q>,
) -> Vec<RowStatement<'q>> {
    in_order(query, page, source, &select(query, source))
}

/// Gives the rowids of the rows of a page, in order, as if nothing were searched for.
pub(super) fn rowids<'q>(query: &'q RowQuery, page: &'q PageQuery) -> Vec<RowStatement<'q>> {
    let table = &*query.table;
    let select = format!("SELECT {} FROM {}", rowid_sql(table), quoted(&table.name));
    in_order(query, page, PageSource::Table, &select)
}

/// The least and the greatest rowid of the table.
pub(super) fn ends(table: &TableShape) -> String {
    let (key, table) = (rowid_sql(table), quoted(&table.name));
    format!("SELECT (SELECT min({key}) FROM {table}), (SELECT max({key}) FROM {table})")
}

/// Gives the rowids that a search finds, smallest first. The parameters are its query, and how many are wanted.
pub(super) fn found_first(search: &SearchTerm) -> String {
    let index = quoted(&search.index);
    format!("SELECT rowid FROM {index} WHERE {index} MATCH ? ORDER BY rowid LIMIT ?")
}

/// The same from one rowid to another: two more parameters, behind the query.
pub(super) fn found_between(search: &SearchTerm) -> String {
    let index = quoted(&search.index);
    format!(
        "SELECT rowid FROM {index} WHERE {index} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?"
    )
}

fn in_order<'q>(
    query: &'q RowQuery,
    page: &'q PageQuery,
    source: PageSource<'q>,
    select: &str,
) -> Vec<RowStatement<'q>> {
    let table = &*query.table;
    let terms = directed(table, page, source);
    let ranges = match &page.start {
        PageStart::Edge => vec![Range::default()],
        PageStart::Behind(values) => ranges(&terms[..telling(table, page, values)], values),
    };
    let ranges = if source == PageSource::Table { ranges } else { vec![any_of(ranges)] };
    let statement = |range: Range<'q>| {
        let mut sql = select.to_owned() + &where_all(query, &page.condition.sql, &range.sql);
        for (at, term) in terms[range.settled..].iter().enumerate() {
            sql += if at == 0 { " ORDER BY " } else { ", " };
            sql += &term.name;
            sql += if term.descending { " DESC" } else { "" };
        }
        sql += " LIMIT ?";
        let params = source.param().into_iter().chain(&page.condition.params);
        RowStatement { sql, params: params.chain(range.params).chain(now(query)).collect() }
    };
    ranges.into_iter().map(statement).collect()
}

impl<'q> PageSource<'q> {
    fn param(self) -> Option<&'q Value> {
        match self {
            Self::Table => None,
            Self::Search(search) => Some(&search.query),
            Self::List(rowids) => Some(rowids),
        }
    }
}

/// A term of the order in the page's own direction.
struct Directed {
    name: String,
    descending: bool,
    nullable: bool,
}

fn directed(table: &TableShape, page: &PageQuery, source: PageSource<'_>) -> Vec<Directed> {
    let direct = |term: &OrderTerm| Directed {
        name: part_name(table, term.of, source),
        descending: term.descending != page.backward,
        nullable: term.nullable,
    };
    page.order.iter().map(direct).collect()
}

/// How many terms tell the start from every other row: a key without NULL does it without the rowid, which
/// VACUUM may change.
fn telling(table: &TableShape, page: &PageQuery, values: &[Value]) -> usize {
    let is_null = |column: &usize| {
        let at = page.order.iter().position(|term| term.of == RowPart::Column(*column));
        at.and_then(|at| values.get(at)).is_none_or(Value::is_null)
    };
    let terms = page.order.len().min(values.len());
    let by_rowid = page.order.last().is_some_and(|term| term.of == RowPart::Rowid);
    let needs_rowid = table.key.is_empty() || table.key.iter().any(is_null);
    if by_rowid && !needs_rowid { terms.min(page.order.len() - 1) } else { terms }
}

/// Rows that follow each other in the order.
#[derive(Default)]
struct Range<'q> {
    sql: String,
    params: Vec<&'q Value>,
    /// In so many of the first terms all of them are equal.
    settled: usize,
}

/// The rows behind the one with these values, nearest first.
fn ranges<'q>(terms: &[Directed], values: &'q [Value]) -> Vec<Range<'q>> {
    let mut ranges = Vec::new();
    for at in (0..terms.len()).rev() {
        let (term, value) = (&terms[at], &values[at]);
        let mut same = Range { settled: at, ..Range::default() };
        for (term, value) in terms.iter().zip(values).take(at) {
            same.and_is(term, value);
        }
        let null_is_behind = term.descending && term.nullable && !value.is_null();
        // Nothing comes after NULL where it comes last.
        if !(term.descending && value.is_null()) {
            let mut behind = Range { params: same.params.clone(), sql: same.sql.clone(), ..same };
            behind.and_behind(term, value);
            ranges.push(behind);
        }
        if null_is_behind {
            same.and_is(term, &Value::Null);
            same.settled += 1;
            ranges.push(same);
        }
    }
    ranges
}

/// The rows of all these ranges.
fn any_of(ranges: Vec<Range<'_>>) -> Range<'_> {
    let all: Vec<_> = ranges.iter().map(|range| range.sql.as_str()).filter(|sql| !sql.is_empty()).collect();
    let sql = if all.len() > 1 { format!("(({}))", all.join(") OR (")) } else { all.concat() };
    // No range at all: nothing comes behind the start.
    let sql = if ranges.is_empty() { "0".to_owned() } else { sql };
    Range { sql, params: ranges.into_iter().flat_map(|range| range.params).collect(), settled: 0 }
}

impl<'q> Range<'q> {
    fn and_is(&mut self, term: &Directed, value: &'q Value) {
        match value {
            Value::Null => self.and(&term.name, "IS NULL", None),
            value => self.and(&term.name, "= ?", Some(value)),
        }
    }

    fn and_behind(&mut self, term: &Directed, value: &'q Value) {
        match value {
            Value::Null => self.and(&term.name, "IS NOT NULL", None),
            value => self.and(&term.name, if term.descending { "< ?" } else { "> ?" }, Some(value)),
        }
    }

    /// The column stands on the left: its collation and its affinity decide how values compare.
    fn and(&mut self, name: &str, test: &str, value: Option<&'q Value>) {
        if !self.sql.is_empty() {
            self.sql += " AND ";
        }
        self.sql += name;
        self.sql += " ";
        self.sql += test;
        self.params.extend(value);
    }
}

fn select(query: &RowQuery, source: PageSource<'_>) -> String {
    let table = &*query.table;
    let mut parts: Vec<_> = query.selected().into_iter().map(|part| part_name(table, part, source)).collect();
    if parts.is_empty() {
        parts.push("1".to_owned());
    }
    format!("SELECT {} FROM {}", parts.join(", "), from(query, source))
}

/// The rows, of a search each with what the index says of it.
///
/// What is found stands in a query of its own, so that its columns cannot be taken for those of the table, and first:
/// CROSS JOIN keeps SQLite from looking every row of the table up in the index.
fn from(query: &RowQuery, source: PageSource<'_>) -> String {
    let table = quoted(&query.table.name);
    let found = match source {
        PageSource::Table => return table,
        PageSource::Search(search) => {
            let (index, is_ranked) = (quoted(&search.index), query.selected().contains(&RowPart::Rank));
            let rank = if is_ranked { format!(", rank AS {FOUND_RANK}") } else { String::new() };
            format!("SELECT rowid AS {FOUND_ROWID}{rank} FROM {index} WHERE {index} MATCH ?")
        }
        PageSource::List(_) => format!("SELECT value AS {FOUND_ROWID} FROM json_each(?)"),
    };
    let key = rowid_sql(&query.table);
    format!("({found}) AS {FOUND} CROSS JOIN {table} ON {key} = {FOUND}.{FOUND_ROWID}")
}

/// The column that is the rowid: a table that is searched has one.
fn rowid_sql(table: &TableShape) -> String {
    table.rowid_column.map(|column| column_sql(table, column)).unwrap_or_default()
}

/// All conditions together. The parameters are in their order: those of the condition, of the range, and [`now`].
fn where_all(query: &RowQuery, condition: &str, range: &str) -> String {
    let condition = Some(condition).filter(|sql| !sql.is_empty()).map(|sql| format!("({sql})"));
    let range = Some(range).filter(|sql| !sql.is_empty()).map(str::to_owned);
    let live = query.live.as_ref().map(|live| {
        let column = column_sql(&query.table, live.column);
        format!("({column} IS NULL OR {column} > ?)")
    });
    let all: Vec<_> = [condition, range, live].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
}

/// The parameter by which rows that have expired are left out, if they are.
pub(super) fn now(query: &RowQuery) -> Option<&Value> {
    query.live.as_ref().map(|live| &live.now)
}

fn part_name(table: &TableShape, part: RowPart, source: PageSource<'_>) -> String {
    match (part, source) {
        // The index gives rows in the order of their rowids, and from a given one on, without any sorting.
        (RowPart::Column(column), PageSource::Search(_)) if table.rowid_column == Some(column) => {
            format!("{FOUND}.{FOUND_ROWID}")
        }
        (RowPart::Column(column), _) => column_sql(table, column),
        (RowPart::Rowid, _) => format!("{}.{}", quoted(&table.name), table.rowid_name.unwrap_or("rowid")),
        (RowPart::Rank, PageSource::Search(_)) => format!("{FOUND}.{FOUND_RANK}"),
        // A number as it stands would be taken for the number of a column in an ORDER BY.
        (RowPart::Rank, _) => "(0.0 + 0.0)".to_owned(),
    }
}
