//! What the keeper does for an index: puts in the rows that were there before it, and puts its pieces together.
//!
//! **Building.** The walk goes over the table by its rowids, and keeps its place in the transaction of each slice. So a
//! kill loses nothing, and two walks over one index do each other no harm. Triggers put in what changes meanwhile,
//! wherever the walk stands; the walk takes out again whatever is there of a slice before it puts the slice in.
//!
//! **Merging.** Each command that changes a row adds a small segment to the index, and searches look into all of
//! them. FTS5 would put them together by itself, in the command that happens to come when there are enough: with 200,000
//! rows in the index one insert in a hundred took 36 ms and some 100 ms, where most take 0.2 ms. So that is left to
//! the keeper (`automerge` is 0), a few pages at a time: the same inserts then take 0.4 ms at their 99th
//! percentile. If the keeper does not get through, 64 segments of one age are put together at once
//! (`crisismerge`), which costs the command that does it a few milliseconds: searches stay fast. The walk
//! waits for merging, or it would leave so many segments that putting them together at once takes seconds.

use std::time::{Duration, Instant};

use super::definition::IndexDefinition;
use super::schema;
use super::state::{BuildEnd, IndexState, SearchIndexes};
use crate::error::{ClosureError, WriteError};
use crate::handle::Engine;
use crate::keeper::{Chore, ChoreStep, SliceRows, slice, slice_value};
use crate::row::quoted;
use crate::sqlite::SEARCH_TABLE;
use crate::sqlite::session::Tx;
use crate::sqlite::writer::WriteOutput;
use crate::sync::{Arc, now};

/// Pages of the index that are put together in one go, about.
const MERGED_PAGES: u32 = 8;
/// So long may a slice take while the index is built, which is longer than others may. Each one leaves a segment to be
/// put together with others, and waits for a sync and for the keeper's rest behind it: with slices of 2 ms on a slow
/// disk a table of a million rows took the better part of an hour.
const BUILDING_SLICE: Duration = Duration::from_millis(8);
/// So often is looked whether there is something to put together, if anything was written at all.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A slice of rows ends behind the one that makes it larger than this, so that long texts make short slices.
const SLICE_BYTES: u64 = 128 * 1024;

/// The chore of one index, for as long as its state is not stopped.
pub(super) struct IndexChore {
    name: String,
    index: Arc<IndexDefinition>,
    state: Arc<IndexState>,
    engine: Arc<Engine>,
    rows: SliceRows,
    time: Duration,
    /// The version of the schema in which the index was as it should be.
    checked: Option<i64>,
    is_gone: bool,
    /// How often the index had been opened when the last slice was sent.
    opened: u64,
    /// Commands that the writer had carried out when there was nothing left to do.
    idle_at: Option<u64>,
}

/// What a slice did.
pub(super) struct Sliced {
    pub(super) what: Work,
    /// All rows are in.
    pub(super) is_ready: bool,
    /// The version of the schema.
    schema: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Put rows in.
    Rows { took: Duration },
    /// Put segments together; there may be more.
    Merged,
    /// There was nothing to do.
    Idle,
    /// There is no such index any more.
    Gone,
}

impl IndexChore {
    pub(super) fn new(index: Arc<IndexDefinition>, state: Arc<IndexState>, engine: Arc<Engine>) -> Self {
        let name = chore_name(&index.name);
        let (rows, time) = (SliceRows::new(), Duration::ZERO);
        Self {
            name,
            index,
            state,
            engine,
            rows,
            time,
            checked: None,
            is_gone: false,
            opened: 0,
            idle_at: None,
        }
    }

    fn written(&self) -> u64 {
        self.engine.board.commands.get()
    }
}

/// The name of the chore of an index.
pub(super) fn chore_name(index: &str) -> String {
    format!("search index {index}")
}

impl Drop for IndexChore {
    fn drop(&mut self) {
        self.state.end(if self.is_gone { BuildEnd::Dropped } else { BuildEnd::Closed });
    }
}

impl Chore for IndexChore {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self, time: Duration, _: Instant) -> ChoreStep {
        if self.is_gone || self.state.is_stopped() {
            self.is_gone = true;
            return ChoreStep::Over;
        }
        // Its own look may be one of the commands that it counts.
        let is_quiet = self.idle_at.is_some_and(|then| self.written() <= then + 1);
        if is_quiet && self.state.is_ready() {
            return ChoreStep::Rest(LOOK_EVERY);
        }
        self.time = if self.state.is_ready() { time } else { time.max(BUILDING_SLICE) };
        self.opened = self.state.opened();
        let (index, rows, checked) = (Arc::clone(&self.index), self.rows.rows(), self.checked);
        let time = self.time;
        ChoreStep::Slice(slice(move |tx| carry_out(tx, &index, rows, time, checked)))
    }

    fn done(&mut self, result: Result<WriteOutput, WriteError>) {
        let Some(Sliced { what, is_ready, schema }) = result.ok().and_then(slice_value) else { return };
        self.checked = (what != Work::Gone).then_some(schema);
        self.idle_at = (what == Work::Idle).then(|| self.written());
        match what {
            Work::Rows { took } => self.rows.fit(took, self.time),
            Work::Merged | Work::Idle => {}
            Work::Gone if !SearchIndexes::is_gone(&self.engine, &self.state, self.opened) => {}
            Work::Gone => {
                tracing::warn!(index = self.index.name, "a search index was dropped or changed by others");
                self.is_gone = true;
            }
        }
        if is_ready {
            SearchIndexes::complete(&self.engine, &self.state, self.opened);
        }
    }
}

/// Does what is to be done next: puts segments together for as long as `time`, and if there are none left puts in so
/// many rows.
pub(super) fn carry_out(
    tx: &Tx<'_>,
    index: &IndexDefinition,
    rows: u32,
    time: Duration,
    checked: Option<i64>,
) -> Result<Sliced, ClosureError> {
    let began = now();
    let schema: i64 = tx.query_row("PRAGMA main.schema_version", [], |row| row.get(0))?;
    if checked != Some(schema) && !schema::is_same(tx, index)? {
        return Ok(Sliced { what: Work::Gone, is_ready: false, schema });
    }
    let mut what = Work::Idle;
    while merge(tx, index)? {
        what = Work::Merged;
        if now().saturating_duration_since(began) >= time {
            let is_ready = !schema::is_waiting(tx, index)?;
            return Ok(Sliced { what, is_ready, schema });
        }
    }
    if !schema::is_waiting(tx, index)? {
        return Ok(Sliced { what, is_ready: true, schema });
    }
    let began = now();
    let is_ready = put_in(tx, index, rows)?;
    Ok(Sliced { what: Work::Rows { took: now().saturating_duration_since(began) }, is_ready, schema })
}

/// Puts the next rows in, as many as `rows`. Whether these were the last.
fn put_in(tx: &Tx<'_>, index: &IndexDefinition, rows: u32) -> Result<bool, ClosureError> {
    let place = format!("SELECT next, last FROM {SEARCH_TABLE} WHERE name = ?1");
    let (next, last): (i64, i64) =
        tx.query_row(&place, [&index.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (count, end) = find_end(tx, index, (next, last), rows)?;
    if count > 0 {
        let (fts, table) = (quoted(&index.name), quoted(&index.table.name));
        let (key, names, texts) = (index.key_column(), index.index_columns(), index.table_columns());
        tx.execute(&format!("DELETE FROM {fts} WHERE rowid BETWEEN ?1 AND ?2"), (next, end))?;
        let put = format!(
            "INSERT INTO {fts} (rowid, {names}) SELECT {key}, {texts} FROM {table} \
             WHERE {key} BETWEEN ?1 AND ?2 ORDER BY {key}"
        );
        tx.execute(&put, (next, end))?;
        // Otherwise it would be written at the end of the command, and the time that it takes would not be seen.
        tx.execute(&format!("INSERT INTO {fts} ({fts}) VALUES ('flush')"), [])?;
    }
    let is_last = count == 0 || end == last;
    tx.with_engine_tables(|| {
        if is_last {
            tx.execute(&format!("DELETE FROM {SEARCH_TABLE} WHERE name = ?1"), [&index.name])
        } else {
            let step = format!("UPDATE {SEARCH_TABLE} SET next = ?2, done = done + ?3 WHERE name = ?1");
            tx.execute(&step, (&index.name, end + 1, count))
        }
    })?;
    Ok(is_last)
}

/// How many rows the next slice has, and the rowid of its last.
fn find_end(
    tx: &Tx<'_>,
    index: &IndexDefinition,
    (next, last): (i64, i64),
    rows: u32,
) -> Result<(u32, i64), ClosureError> {
    let (key, table) = (index.key_column(), quoted(&index.table.name));
    let sizes: Vec<_> = index
        .columns
        .iter()
        .filter_map(|column| index.table.columns.get(*column))
        .map(|column| format!("coalesce(octet_length({}), 0)", quoted(&column.name)))
        .collect();
    let sql = format!(
        "SELECT {key}, {} FROM {table} WHERE {key} BETWEEN ?1 AND ?2 ORDER BY {key} LIMIT ?3",
        sizes.join(" + ")
    );
    let (mut count, mut end, mut bytes) = (0, next, 0_u64);
    let mut statement = tx.prepare(&sql)?;
    let mut found = statement.query((next, last, rows))?;
    while let Some(row) = found.next()? {
        (count, end) = (count + 1, row.get(0)?);
        bytes = bytes.saturating_add(row.get::<_, i64>(1)?.unsigned_abs());
        if bytes > SLICE_BYTES {
            break;
        }
    }
    Ok((count, end))
}

/// Whether there was something to put together.
fn merge(tx: &Tx<'_>, index: &IndexDefinition) -> Result<bool, ClosureError> {
    let fts = quoted(&index.name);
    let changes = || tx.query_row("SELECT total_changes()", [], |row| row.get::<_, i64>(0));
    let before = changes()?;
    tx.execute(&format!("INSERT INTO {fts} ({fts}, rank) VALUES ('merge', {MERGED_PAGES})"), [])?;
    // FTS5 says so: the command itself counts as one change.
    Ok(changes()? - before > 1)
}
