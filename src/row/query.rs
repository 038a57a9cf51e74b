//! What a table's handle asks a reader.

use super::quote::quoted;
use super::shape::TableShape;
use super::value::Value;
use crate::sync::Arc;

/// A question about the rows of one table.
#[derive(Clone, PartialEq)]
pub(crate) struct RowQuery {
    pub(crate) table: Arc<TableShape>,
    /// The columns to return, places in the shape.
    pub(crate) columns: Arc<[usize]>,
    pub(crate) kind: RowQueryKind,
    /// Rows that have expired are as good as gone. Boxed: it is rare, and a query is moved often.
    pub(crate) live: Option<Box<Live>>,
}

/// Which rows have not expired: those with NULL in the column, and those with more than the value.
#[derive(Clone, PartialEq)]
pub(crate) struct Live {
    pub(crate) column: usize,
    /// What the clock says, in the column's unit.
    pub(crate) now: Value,
}

#[derive(Clone, PartialEq)]
pub(crate) enum RowQueryKind {
    /// The rows with these keys, in the order of the keys; a key that is not there gives no row.
    Keys(Vec<Vec<Value>>),
    /// For each of these keys, whether there is a row with it.
    Exist(Vec<Vec<Value>>),
    /// How many rows meet the condition.
    Count(Condition),
    /// Rows that meet the condition, in order.
    /// Boxed: it is much larger than the others.
    Page(Box<PageQuery>),
    /// The last row of each group: of the rows that are equal in the first term of the order, which descends in all
    /// of them. Smallest group first.
    LastOfEach(Vec<OrderTerm>),
}

/// A condition in SQL with its parameters (`?`, by position). Empty: every row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Condition {
    pub(crate) sql: String,
    pub(crate) params: Vec<Value>,
}

impl Condition {
    /// Adds SQL and the parameters in it behind what is there.
    pub(crate) fn add(&mut self, sql: &str, params: &[Value]) {
        self.sql += sql;
        self.params.extend_from_slice(params);
    }
}

/// A part of the rows, in order.
#[derive(Clone, PartialEq)]
pub(crate) struct PageQuery {
    /// Only rows that this finds. Boxed, since most pages are of no search.
    pub(crate) search: Option<Box<SearchTerm>>,
    pub(crate) condition: Condition,
    /// As [`total_order`] makes it.
    pub(crate) order: Vec<OrderTerm>,
    pub(crate) start: PageStart,
    /// Away from the start against the order. The rows come in that direction too, nearest first.
    pub(crate) backward: bool,
    pub(crate) limit: usize,
}

/// What a search index is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchTerm {
    /// The name of the index, which is one of the page's table, whose rowid is a column of it.
    pub(crate) index: String,
    /// A query in the index's own language.
    pub(crate) query: Value,
}

/// Where a page starts.
#[derive(Clone, PartialEq)]
pub(crate) enum PageStart {
    /// At the first row in the page's direction.
    Edge,
    /// Behind the row with these values, one for each term of the order.
    Behind(Vec<Value>),
}

/// One column of an order that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) column: usize,
    pub(crate) descending: bool,
}

/// One term of an order in which no two rows have the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderTerm {
    pub(crate) of: RowPart,
    pub(crate) descending: bool,
    /// It may be NULL, which SQLite sorts before everything else.
    pub(crate) nullable: bool,
}

/// What can be asked of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowPart {
    /// A column, by its place in the shape.
    Column(usize),
    Rowid,
    /// How well it fits what was searched for, the best first; all alike where no index was asked.
    Rank,
}

/// Completes an order so that it is total: behind the columns asked for come those of the key, in the direction of
/// the last one asked for, so that one index can serve all of it.
///
/// A key that may hold NULL does not tell such rows apart; there the rowid comes last. `None` if it has no name.
pub(crate) fn total_order(table: &TableShape, asked: &[Order]) -> Option<Vec<OrderTerm>> {
    let descending = asked.last().is_some_and(|order| order.descending);
    let key = table.key.iter().map(|column| Order { column: *column, descending });
    let mut terms: Vec<OrderTerm> = Vec::with_capacity(asked.len() + table.key.len() + 1);
    for Order { column, descending } in asked.iter().copied().chain(key) {
        let of = RowPart::Column(column);
        // Rows that are equal in a column stay so when it is asked for again.
        if terms.iter().any(|term| term.of == of) {
            continue;
        }
        let is_rowid = table.key_is_rowid && table.key.contains(&column);
        terms.push(OrderTerm { of, descending, nullable: !is_rowid && is_nullable(table, column) });
        if is_rowid {
            return Some(terms);
        }
    }
    if table.key.is_empty() || table.key.iter().any(|column| is_nullable(table, *column)) {
        table.rowid_name?;
        terms.push(OrderTerm { of: RowPart::Rowid, descending, nullable: false });
    }
    Some(terms)
}

fn is_nullable(table: &TableShape, column: usize) -> bool {
    table.columns.get(column).is_none_or(|column| !column.not_null)
}

/// A column in SQL. With its table before it: SQLite takes a quoted name by itself for a text if there is no such
/// column any more.
pub(crate) fn column_sql(table: &TableShape, column: usize) -> String {
    let column = table.columns.get(column).map_or("", |column| column.name.as_str());
    format!("{}.{}", quoted(&table.name), quoted(column))
}

impl RowQuery {
    /// What is asked of each row: its columns, and behind them what else a cursor, or the way to the next group, needs.
    pub(crate) fn selected(&self) -> Vec<RowPart> {
        let mut parts: Vec<_> = self.columns.iter().copied().map(RowPart::Column).collect();
        let order = match &self.kind {
            RowQueryKind::Page(page) => page.order.as_slice(),
            RowQueryKind::LastOfEach(order) => order.get(..1).unwrap_or_default(),
            RowQueryKind::Keys(_) | RowQueryKind::Exist(_) | RowQueryKind::Count(_) => &[],
        };
        for term in order {
            if !parts.contains(&term.of) {
                parts.push(term.of);
            }
        }
        parts
    }

    fn lists(&self) -> (&[Vec<Value>], &[Value], &[Value]) {
        match &self.kind {
            RowQueryKind::Keys(keys) | RowQueryKind::Exist(keys) => (keys, &[], &[]),
            RowQueryKind::LastOfEach(_) => (&[], &[], &[]),
            RowQueryKind::Count(condition) => (&[], &condition.params, &[]),
            RowQueryKind::Page(page) => match &page.start {
                PageStart::Edge => (&[], &page.condition.params, &[]),
                PageStart::Behind(values) => (&[], &page.condition.params, values),
            },
        }
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        let (keys, params, start) = self.lists();
        let search = self.search().map(|search| &search.query);
        keys.iter().flatten().chain(params).chain(start).chain(search)
    }

    /// What a search index is asked for, if one is.
    pub(crate) fn search(&self) -> Option<&SearchTerm> {
        match &self.kind {
            RowQueryKind::Page(page) => page.search.as_deref(),
            _ => None,
        }
    }

    /// The memory that it holds beside itself, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let (keys, ..) = self.lists();
        let sql = match &self.kind {
            RowQueryKind::Keys(_) | RowQueryKind::Exist(_) => 0,
            RowQueryKind::LastOfEach(order) => order.len() * size_of::<OrderTerm>(),
            RowQueryKind::Count(condition) => condition.sql.len(),
            RowQueryKind::Page(page) => page.condition.sql.len() + page.order.len() * size_of::<OrderTerm>(),
        };
        let values: usize = self.values().map(|value| size_of::<Value>() + value.bytes()).sum();
        size_of_val(keys) + sql + values
    }

    /// The size of the largest text or BLOB that is sent along, in bytes.
    pub(crate) fn largest_value(&self) -> usize {
        self.values().map(Value::bytes).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::{Affinity, ColumnShape};
    use super::*;

    fn shape(columns: &[(&str, bool)], key: &[usize]) -> TableShape {
        let column = |(name, not_null): &(&str, bool)| ColumnShape {
            name: (*name).to_owned(),
            declared_type: String::new(),
            affinity: Affinity::Blob,
            not_null: *not_null,
            is_generated: false,
            default: None,
        };
        TableShape {
            name: "t".to_owned(),
            columns: columns.iter().map(column).collect(),
            key: key.to_vec(),
            primary_key: key.to_vec(),
            key_is_rowid: false,
            rowid_column: None,
            rowid_name: Some("rowid"),
            is_strict: false,
            revision: None,
        }
    }

    fn order(table: &TableShape, asked: &[(usize, bool)]) -> Option<Vec<(RowPart, bool, bool)>> {
        let asked: Vec<_> = asked
            .iter()
            .map(|(column, descending)| Order { column: *column, descending: *descending })
            .collect();
        let terms = total_order(table, &asked)?;
        Some(terms.iter().map(|term| (term.of, term.descending, term.nullable)).collect())
    }

    #[test]
    fn the_key_follows_and_the_rowid_follows_a_key_that_may_be_null() {
        use RowPart::{Column, Rowid};
        let mut table = shape(&[("id", true), ("at", false)], &[0]);
        assert_eq!(order(&table, &[]), Some(vec![(Column(0), false, false)]));
        let by_at = vec![(Column(1), true, true), (Column(0), true, false)];
        assert_eq!(order(&table, &[(1, true)]), Some(by_at.clone()));
        assert_eq!(order(&table, &[(1, true), (1, false), (0, true)]), Some(by_at));

        table.columns[0].not_null = false;
        let by_id = Some(vec![(Column(0), true, true), (Rowid, true, false)]);
        assert_eq!(order(&table, &[(0, true)]), by_id);
        table.rowid_name = None;
        assert_eq!(order(&table, &[]), None);
        table.key_is_rowid = true;
        assert_eq!(order(&table, &[(0, true), (1, false)]), Some(vec![(Column(0), true, false)]));
    }
}
