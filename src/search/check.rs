//! Comparing an index with its table.

use super::definition::{IndexDefinition, SearchMode};
use super::text::{SearchPlan, SearchText};
use crate::error::ClosureError;
use crate::row::quoted;
use crate::sqlite::SEARCH_TABLE;
use crate::sqlite::session::Db;

/// So many rows are looked for by their own texts.
const SAMPLED_ROWS: i64 = 500;
/// By so much of it.
const SAMPLED_CHARACTERS: usize = 40;

/// What [`SearchIndex::check`](super::SearchIndex::check) found.
///
/// An index that is out of step is put right by [`SearchIndex::rebuild`](super::SearchIndex::rebuild).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchCheck {
    /// Rows of the table that are not in the index.
    pub missing: u64,
    /// Rows in the index that the table does not have. They are never found and do no harm; REPLACE leaves some.
    pub left_over: u64,
    /// Of 500 rows, spread over the table, so many were not found by the beginning of their own text.
    pub not_found: u64,
    /// What FTS5 says is wrong with its structure. Then nothing else was looked at.
    pub damage: Option<String>,
    /// The index is being built: rows are missing.
    pub is_building: bool,
}

impl SearchCheck {
    /// Whether each search finds what it should, as far as the check goes.
    pub fn is_in_step(&self) -> bool {
        self.missing == 0 && self.not_found == 0 && self.damage.is_none()
    }
}

pub(super) fn check(db: &Db<'_>, index: &IndexDefinition) -> Result<SearchCheck, ClosureError> {
    let waiting = format!("SELECT 1 FROM {SEARCH_TABLE} WHERE name = ?1");
    let is_building = db.query_optional(&waiting, [&index.name], |_| Ok(()))?.is_some();
    let mut found = SearchCheck { missing: 0, left_over: 0, not_found: 0, damage: None, is_building };
    // FTS5 keeps the list of its segments from one search to the next, and looks whether it is still true only when a
    // search begins. The pragma would go by an old one, and call an index damaged that was merged in between.
    let look = format!("SELECT 1 FROM {} WHERE rowid = 0", quoted(&index.name));
    // What is wrong with it the pragma tells.
    let _ = db.query_optional(&look, [], |_| Ok(()));
    let sql = format!("PRAGMA main.integrity_check({})", quoted(&index.name));
    let said: String = db.query_row(&sql, [], |row| row.get(0))?;
    if said != "ok" {
        found.damage = Some(said);
        return Ok(found);
    }
    let (table, key) = (quoted(&index.table.name), index.key_column());
    let entries = quoted(&format!("{}_docsize", index.name));
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    found.missing = count(&format!(
        "SELECT count(*) FROM {table} WHERE NOT EXISTS (SELECT 1 FROM {entries} AS entry WHERE entry.id = {table}.{key})"
    ))?;
    found.left_over = count(&format!(
        "SELECT count(*) FROM {entries} AS entry WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.{key} = entry.id)"
    ))?;
    if found.missing == 0 {
        found.not_found = not_found(db, index)?;
    }
    Ok(found)
}

/// Of some rows, how many are not found by what they hold.
fn not_found(db: &Db<'_>, index: &IndexDefinition) -> Result<u64, ClosureError> {
    let (table, key, fts) = (quoted(&index.table.name), index.key_column(), quoted(&index.name));
    let bounds = format!("SELECT min({key}), max({key}) FROM {table}");
    let (first, last): (Option<i64>, Option<i64>) =
        db.query_row(&bounds, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(0) };
    let step = ((i128::from(last) - i128::from(first)) / i128::from(SAMPLED_ROWS)).max(1);
    let columns = index.columns.iter().filter_map(|column| index.table.columns.get(*column));
    let texts: Vec<_> =
        columns.map(|of| format!("CAST(substr({}, 1, 200) AS TEXT)", quoted(&of.name))).collect();
    let row =
        format!("SELECT {key}, {} FROM {table} WHERE {key} >= ?1 ORDER BY {key} LIMIT 1", texts.join(", "));
    let find = format!("SELECT 1 FROM {fts} WHERE {fts} MATCH ?1 AND rowid = ?2");
    let (mut row, mut find) = (db.prepare(&row)?, db.prepare(&find)?);
    let (mut not_found, mut at) = (0, i128::from(first));
    while let Ok(from) = i64::try_from(at) {
        let sample = row.query_optional([from], |row| {
            let texts = (0..index.columns.len()).map(|of| row.get::<_, Option<String>>(of + 1));
            Ok((row.get::<_, i64>(0)?, texts.collect::<Result<Vec<_>, _>>()?))
        })?;
        let Some((rowid, texts)) = sample else { break };
        for (column, text) in texts.iter().enumerate() {
            let Some(query) = text.as_deref().and_then(|text| beginning(text, index.mode)) else { continue };
            let query = format!("{{c{column}}} : ({query})");
            not_found += u64::from(find.query_optional((query, rowid), |_| Ok(()))?.is_none());
        }
        at = i128::from(rowid).max(at) + step;
    }
    Ok(not_found)
}

/// A query that the beginning of a text has to meet.
fn beginning(text: &str, mode: SearchMode) -> Option<String> {
    let end = text.char_indices().nth(SAMPLED_CHARACTERS).map_or(text.len(), |(at, _)| at);
    let beginning = &text[..end];
    // Of words only whole ones.
    let beginning = match mode {
        SearchMode::Words if end < text.len() => beginning.rsplit_once(char::is_whitespace)?.0,
        _ => beginning,
    };
    match SearchText::from(beginning).plan(mode) {
        SearchPlan::Ask(query) => Some(query),
        _ => None,
    }
}
