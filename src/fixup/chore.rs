//! Carrying fix-ups out: one chore for all of them, so that they keep their order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};

use super::board::{FixupBoard, FixupState, FixupsError};
use super::fixup::{Fixup, FixupProgress, FixupStep};
use crate::error::{ClosureError, WriteError};
use crate::handle::Engine;
use crate::keeper::{Chore, ChoreStep, SliceRows, slice, slice_value};
use crate::row::Value;
use crate::sqlite::FIXUP_TABLE;
use crate::sqlite::row_value::{Bound, copied};
use crate::sqlite::session::Tx;
use crate::sqlite::writer::WriteOutput;
use crate::sync::{Arc, now};

/// The fix-ups that a file remembers as done.
pub(crate) fn done_before(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let is_there = connection
        .query_row("SELECT 1 FROM main.sqlite_schema WHERE name = ?1", [FIXUP_TABLE], |_| Ok(()))
        .optional()?;
    if is_there.is_none() {
        return Ok(Vec::new());
    }
    let mut statement =
        connection.prepare(&format!("SELECT name FROM main.{FIXUP_TABLE} WHERE is_done ORDER BY name"))?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The chore of what is still to be done; `None` if that is nothing.
pub(crate) fn fixup_chore(
    engine: &Arc<Engine>,
    fixups: Vec<Fixup>,
    done: &[String],
) -> Option<Box<dyn Chore>> {
    engine.fixups.begin(fixups.iter().map(|fixup| fixup.name.clone()), done);
    let waiting: VecDeque<Fixup> = fixups.into_iter().filter(|fixup| !done.contains(&fixup.name)).collect();
    if waiting.is_empty() {
        engine.fixups.end(Ok(()));
        return None;
    }
    Some(Box::new(FixupChore {
        engine: engine.clone(),
        waiting,
        rows: SliceRows::new(),
        time: Duration::ZERO,
    }))
}

struct FixupChore {
    engine: Arc<Engine>,
    /// The first is at work.
    waiting: VecDeque<Fixup>,
    rows: SliceRows,
    /// What the last step was given.
    time: Duration,
}

/// What a step did.
struct StepEnd {
    is_done: bool,
    took: Duration,
}

impl FixupChore {
    fn board(&self) -> &FixupBoard {
        &self.engine.fixups
    }
}

impl Chore for FixupChore {
    fn name(&self) -> &str {
        "fix-ups"
    }

    fn is_of_program(&self) -> bool {
        true
    }

    fn next(&mut self, time: Duration, _: Instant) -> ChoreStep {
        let Some(fixup) = self.waiting.front().cloned() else {
            self.board().end(Ok(()));
            return ChoreStep::Over;
        };
        self.time = time;
        self.board().change(&fixup.name, |line| line.state = FixupState::Running);
        let rows = self.rows.rows();
        ChoreStep::Slice(slice(move |tx| step(tx, &fixup, rows)))
    }

    fn done(&mut self, result: Result<WriteOutput, WriteError>) {
        let Some(name) = self.waiting.front().map(|fixup| fixup.name.clone()) else { return };
        match result {
            Err(error) => self.board().change(&name, |line| line.last_error = Some(error.to_string())),
            Ok(output) => {
                let changed = output.receipt.rows_changed;
                let Some(StepEnd { is_done, took }) = slice_value(output) else { return };
                self.rows.fit(took, self.time);
                self.board().change(&name, |line| {
                    line.steps += 1;
                    // One of them is the place.
                    line.rows += changed.saturating_sub(1);
                    line.last_error = None;
                    line.state = if is_done { FixupState::Done } else { FixupState::Running };
                });
                if is_done {
                    tracing::info!(fixup = name, "a fix-up is done");
                    self.waiting.pop_front();
                    self.rows = SliceRows::new();
                }
            }
        }
    }
}

impl Drop for FixupChore {
    fn drop(&mut self) {
        // Without effect if they are done.
        self.board().end(Err(FixupsError::Closed));
    }
}

/// Carries out one step and keeps its place, all in one transaction.
fn step(tx: &Tx<'_>, fixup: &Fixup, rows: u32) -> Result<StepEnd, ClosureError> {
    let began = now();
    let place = place(tx, &fixup.name)?;
    let progress = (fixup.step)(&FixupStep { tx, place, rows })?;
    let (at, is_done) = match progress {
        FixupProgress::More { at } => (at, false),
        FixupProgress::Done => (Value::Null, true),
    };
    tx.with_engine_tables(|| {
        let sql = format!(
            "INSERT INTO main.{FIXUP_TABLE} (name, at, is_done) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET at = excluded.at, is_done = excluded.is_done"
        );
        tx.execute(&sql, params![fixup.name, Bound(&at), is_done])
    })?;
    Ok(StepEnd { is_done, took: now().saturating_duration_since(began) })
}

/// Where a fix-up stands. Makes the table for it if it is not there.
fn place(tx: &Tx<'_>, name: &str) -> Result<Value, ClosureError> {
    let is_there =
        tx.query_optional("SELECT 1 FROM main.sqlite_schema WHERE name = ?1", [FIXUP_TABLE], |_| Ok(()))?;
    if is_there.is_none() {
        tx.with_engine_tables(|| {
            tx.execute_batch(&format!(
                "CREATE TABLE main.{FIXUP_TABLE} (
                     name TEXT PRIMARY KEY NOT NULL,
                     at,
                     is_done INTEGER NOT NULL
                 ) WITHOUT ROWID"
            ))
        })?;
    }
    let sql = format!("SELECT at FROM main.{FIXUP_TABLE} WHERE name = ?1");
    let place = tx.query_optional(&sql, [name], |row| copied(0, row.get_ref(0)?))?;
    Ok(place.unwrap_or_default())
}
