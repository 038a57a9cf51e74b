//! Finding the rows of a search that are wanted in another order than that of the index.
//!
//! The index gives what it finds in the order of the rowids. For a text that few rows hold all of them are looked up in
//! the table and sorted, for each page. For one that very many hold that takes most of a second. There the rows of the
//! table are gone through in the order that is wanted, as a page without a search would be, and the index is asked which
//! of them it finds, batch by batch, until a page is full. What is found is the same: it is the index that says so.
//!
//! That is slower than sorting where few rows meet the filter, or where their rowids are scattered. So it may cost a part
//! of what sorting is thought to cost, and is given up beyond that; and it is not begun where no index has the order.

use rusqlite::params_from_iter;

use super::row_query::RowFailure;
use super::row_text;
use crate::row::{PageQuery, RowPart, RowQuery, SearchTerm, Value};
use crate::sqlite::row_value::Bound;
use crate::sqlite::session::{Db, Statement, Stopped};

/// What asking the index for a range of rowids costs, in rows that it finds: some 150 where its pieces have been put
/// together, and several times that where they have not.
const RANGE_COST: f64 = 400.0;
/// Never is more found than this, for what looking may cost: it is only a guess, made from the first of them.
const MOST_FOUND: f64 = 200_000.0;
/// A batch is at most so many times as large as all before it, and the first as the least.
const GROWTH: usize = 8;
/// So many times the rows that should fill a page are asked about.
const MARGIN: f64 = 1.25;
/// What SQLite says of a statement that reads and sorts all rows before it gives the first.
const SORTS_ALL: &str = "USE TEMP B-TREE FOR ORDER BY";

/// How rows are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinderLimits {
    /// So many rows are looked up and sorted without more ado.
    pub(super) few: usize,
    /// Rows that the index is asked about at a time, at least.
    pub(super) batch: usize,
    /// What the index may be asked for, in rows that it finds, for each row that is thought to be found in all.
    pub(super) asked_each: f64,
    /// Steps of SQLite's virtual machine for each such row. Looking a row up and sorting it takes some 30.
    pub(super) steps_each: f64,
}

impl Default for FinderLimits {
    fn default() -> Self {
        Self { few: 1_000, batch: 128, asked_each: 1.0, steps_each: 4.0 }
    }
}

/// The rowids of what is found, in any order: of all, or of as many as the page can show. `None` if it is best to look
/// all of it up.
pub(super) fn find(
    db: &Db<'_>,
    query: &RowQuery,
    page: &PageQuery,
    search: &SearchTerm,
    limits: FinderLimits,
) -> Result<Option<Vec<i64>>, RowFailure> {
    let Some(first) = page.order.first() else { return Ok(None) };
    let is_rowid = |column| query.table.rowid_column == Some(column);
    match first.of {
        // The index gives them in this order.
        RowPart::Rowid | RowPart::Rank => return Ok(None),
        RowPart::Column(column) if is_rowid(column) => return Ok(None),
        RowPart::Column(_) => {}
    }
    let few = limits.few.max(page.limit);
    // From the least rowid on: FTS5 takes half as long again backward.
    let first = (Bound(&search.query), count(few) + 1);
    let found: Vec<i64> = db.query(&row_text::found_first(search), first, |row| row.get(0))?;
    if found.len() <= few {
        return Ok(Some(found));
    }
    let Some(guess) = Guess::make(db, query, &found)? else { return Ok(None) };
    let steps = guess.found * limits.steps_each;
    match db.within(steps as u64, || look(db, query, page, search, limits, &guess)) {
        // A filter may fail for rows that are not searched for, which is nobody's business.
        Err(RowFailure::Closure(error)) if error.downcast_ref::<Stopped>().is_none() => Ok(None),
        looked => looked,
    }
}

/// The rowids as an array of JSON.
pub(super) fn listed(rowids: &[i64]) -> Value {
    let numbers: Vec<_> = rowids.iter().map(i64::to_string).collect();
    Value::Text(format!("[{}]", numbers.join(",")))
}

/// Goes through the rows in their order. `None` if that gets too dear.
fn look(
    db: &Db<'_>,
    query: &RowQuery,
    page: &PageQuery,
    search: &SearchTerm,
    limits: FinderLimits,
    guess: &Guess,
) -> Result<Option<Vec<i64>>, RowFailure> {
    // One more than the page takes shows that there are more.
    let wanted = page.limit.saturating_add(1);
    // As if each number were a row, which it mostly is.
    let expected = (wanted as f64 * guess.rowids_each * MARGIN) as usize;
    let least = limits.batch.max(page.limit.saturating_mul(2));
    let mut look = Look {
        ask: db.prepare(&row_text::found_between(search))?,
        search,
        rowids_each: guess.rowids_each,
        left: guess.found * limits.asked_each,
        batch: Vec::new(),
        batch_size: expected.clamp(least, least.saturating_mul(GROWTH)),
        least,
        seen: 0,
        found: Vec::new(),
        wanted,
    };
    let all = Value::Integer(i64::MAX);
    for statement in row_text::rowids(query, page) {
        let params = || params_from_iter(statement.params.iter().copied().chain([&all]).map(Bound));
        let plan = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let plan: Vec<String> = db.query(&plan, params(), |row| row.get(3))?;
        if plan.iter().any(|line| line == SORTS_ALL) {
            return Ok(None);
        }
        let mut prepared = db.prepare(&statement.sql)?;
        let mut rows = prepared.query(params())?;
        while let Some(row) = rows.next()? {
            look.batch.push(row.get(0)?);
            if look.batch.len() < look.batch_size {
                continue;
            }
            if !look.ask()? {
                return Ok(None);
            }
            if look.found.len() >= wanted {
                return Ok(Some(look.found));
            }
        }
    }
    Ok(if look.ask()? { Some(look.found) } else { None })
}

/// How much is found in all, going by what was found first.
struct Guess {
    /// One row in so many numbers is found.
    rowids_each: f64,
    found: f64,
}

impl Guess {
    /// `None` if the table is empty.
    fn make(db: &Db<'_>, query: &RowQuery, found: &[i64]) -> Result<Option<Self>, RowFailure> {
        let ends =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
        let (Some(least), Some(greatest)) = db.query_row(&row_text::ends(&query.table), [], ends)? else {
            return Ok(None);
        };
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(None) };
        let rowids_each = span(*first, *last) / found.len() as f64;
        let in_all = span(least, greatest) / rowids_each;
        Ok(Some(Self { rowids_each, found: in_all.max(found.len() as f64).min(MOST_FOUND) }))
    }
}

/// A walk over rows of which the index says which it finds.
struct Look<'a> {
    ask: Statement<'a>,
    search: &'a SearchTerm,
    rowids_each: f64,
    /// What the index may be asked for yet, in rows that it finds.
    left: f64,
    /// Rows that it has not been asked about, in order.
    batch: Vec<i64>,
    batch_size: usize,
    /// A batch is not smaller.
    least: usize,
    seen: usize,
    /// What it finds, in order.
    found: Vec<i64>,
    wanted: usize,
}

impl Look<'_> {
    /// Asks which rows of the batch are found. Whether that was not too dear.
    fn ask(&mut self) -> Result<bool, RowFailure> {
        let mut sorted = self.batch.clone();
        sorted.sort_unstable();
        let ranges = ranges(&sorted, self.rowids_each * RANGE_COST);
        let cost = |(from, to): (i64, i64)| RANGE_COST + span(from, to) / self.rowids_each;
        if ranges.iter().copied().map(cost).sum::<f64>() > self.left {
            return Ok(false);
        }
        let mut found: Vec<i64> = Vec::new();
        for (from, to) in ranges {
            // There may be more of them than elsewhere.
            let most = self.left.max(0.0) as i64 + 1;
            let params = (Bound(&self.search.query), from, to, most);
            let mut rows = self.ask.query_map(params, |row| row.get::<_, i64>(0))?;
            self.left -= RANGE_COST + (span(from, to) / self.rowids_each).max(rows.len() as f64);
            found.append(&mut rows);
            if self.left < 0.0 {
                return Ok(false);
            }
        }
        self.seen += self.batch.len();
        let is_found = |rowid: &i64| found.binary_search(rowid).is_ok();
        self.found.extend(self.batch.drain(..).filter(is_found));
        self.batch_size = self.next_size();
        Ok(true)
    }

    /// As many as should fill the page, and some.
    fn next_size(&self) -> usize {
        let missing = self.wanted.saturating_sub(self.found.len());
        let most = self.seen.saturating_mul(GROWTH);
        let each = self.seen as f64 / self.found.len() as f64;
        // None found yet: infinitely many, and so the most.
        ((missing as f64 * each * MARGIN) as usize).min(most).max(self.least)
    }
}

/// Ranges that hold all of these, smallest first. Gaps that are wider than `gap` lie between them.
fn ranges(sorted: &[i64], gap: f64) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for rowid in sorted {
        match ranges.last_mut() {
            Some((_, to)) if span(*to, *rowid) <= gap => *to = *rowid,
            _ => ranges.push((*rowid, *rowid)),
        }
    }
    ranges
}

/// How many numbers there are from one to the other.
fn span(from: i64, to: i64) -> f64 {
    (to as f64 - from as f64).abs() + 1.0
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX - 1)
}

#[cfg(test)]
#[path = "row_finder_tests.rs"]
mod tests;
