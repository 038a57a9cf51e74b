//! The chore of rules that remove the oldest rows: by a time, or while the file is too large.

use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;

use super::clock::WallClock;
use super::plan::SweepPlan;
use super::policy::{Rule, TimeUnit};
use crate::error::{ClosureError, WriteError};
use crate::keeper::{Chore, ChoreStep, SliceRows, peek_slice_value, slice, slice_value};
use crate::sqlite::session::Tx;
use crate::sqlite::writer::{WriteOutput, WriteTask};
use crate::sync::{Arc, now};

/// Between two looks while nothing is due: also when the next row is due later, since others may come before it, and
/// the clock may step.
const LOOK: Duration = Duration::from_secs(10);
/// Rows that expire one after the other are removed a few at a time.
const SHORTEST_REST: Duration = Duration::from_millis(500);

/// Removes the rows that come first by a column, as long as they are due.
pub(super) struct SweepChore {
    plan: Arc<SweepPlan>,
    clock: WallClock,
    rows: SliceRows,
    /// What the last slice was given.
    time: Duration,
    /// The last slice found nothing more to do.
    rest: Option<Duration>,
    behind: Option<Duration>,
}

/// What a slice did.
struct Swept {
    took: Duration,
    removed: u64,
    /// It has removed all that was due.
    is_done: bool,
    /// The column of the first row that was due, and of the first that is not.
    first: Option<i64>,
    next: Option<i64>,
}

impl SweepChore {
    pub(super) fn new(plan: SweepPlan, clock: WallClock) -> Self {
        Self {
            plan: Arc::new(plan),
            clock,
            rows: SliceRows::new(),
            time: Duration::ZERO,
            rest: None,
            behind: None,
        }
    }

    /// The unit of the time column, and the time up to which rows are due.
    fn due(&self) -> Option<(TimeUnit, i64)> {
        let now = self.clock.nanoseconds();
        match &self.plan.rule {
            Rule::Expires { unit, .. } => Some((*unit, unit.floor(now))),
            Rule::OlderThan { unit, age, .. } => {
                // An age that long has nobody.
                let age = i128::try_from(age.as_nanos()).unwrap_or(i128::MAX);
                Some((*unit, unit.floor(now.saturating_sub(age))))
            }
            Rule::Newest { .. } | Rule::FileAtMost { .. } => None,
        }
    }

    fn task(&self) -> WriteTask {
        let (plan, rows) = (Arc::clone(&self.plan), self.rows.rows());
        match (&self.plan.rule, self.due()) {
            (Rule::FileAtMost { bytes, .. }, _) => {
                let bytes = *bytes;
                slice(move |tx| shrink(tx, &plan, bytes, rows))
            }
            (_, Some((_, due))) => slice(move |tx| sweep(tx, &plan, due, rows)),
            // Not reached: the other rules go by time.
            (_, None) => slice(|_| {
                Ok(Swept { took: Duration::ZERO, removed: 0, is_done: true, first: None, next: None })
            }),
        }
    }

    /// How long until there may be something to do again.
    fn until_next(&self, next: Option<i64>) -> Duration {
        let Some(((unit, due), next)) = self.due().zip(next) else { return LOOK };
        unit.duration(i128::from(next) - i128::from(due)).clamp(SHORTEST_REST, LOOK)
    }
}

impl Chore for SweepChore {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn next(&mut self, time: Duration, _: Instant) -> ChoreStep {
        if let Some(rest) = self.rest.take() {
            return ChoreStep::Rest(rest);
        }
        self.time = time;
        ChoreStep::Slice(self.task())
    }

    fn done(&mut self, result: Result<WriteOutput, WriteError>) {
        // After a failure the next slice tries the same rows again.
        let Some(swept) = result.ok().and_then(slice_value::<Swept>) else { return };
        self.rows.fit(swept.took, self.time);
        self.rest = swept.is_done.then(|| self.until_next(swept.next));
        self.behind = match (self.due(), swept.first) {
            (Some((unit, due)), Some(first)) if !swept.is_done => {
                Some(unit.duration(i128::from(due) - i128::from(first)))
            }
            _ => None,
        };
    }

    fn behind(&self) -> Option<Duration> {
        self.behind
    }

    fn rows(&self, output: &WriteOutput) -> u64 {
        peek_slice_value::<Swept>(output).map_or(0, |swept| swept.removed)
    }
}

/// Deletes rows that are due.
fn sweep(tx: &Tx<'_>, plan: &SweepPlan, due: i64, rows: u32) -> Result<Swept, ClosureError> {
    let time = |sql: &str| {
        tx.query_optional(sql, [due], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Integer(time) => Some(time),
                ValueRef::Real(time) => Some(time as i64),
                // Neither is a time.
                _ => None,
            })
        })
    };
    let first = time(&plan.first_due())?.flatten();
    let began = now();
    let deleted = match first {
        None => 0,
        Some(_) => tx.execute(&plan.delete_due(), [due, i64::from(rows)])?,
    };
    let took = now().saturating_duration_since(began);
    let mut is_done = deleted < u64::from(rows);
    if is_done && first.is_some() && time(&plan.first_due())?.is_some() {
        // A trigger has kept some of them, or has made others that are due.
        is_done = false;
        plan.must_have_deleted(deleted)?;
    }
    let next = if is_done { time(&plan.next_due())?.flatten() } else { None };
    Ok(Swept { took, removed: deleted, is_done, first, next })
}

/// Deletes the first rows if the pages in use are too many.
fn shrink(tx: &Tx<'_>, plan: &SweepPlan, bytes: u64, rows: u32) -> Result<Swept, ClosureError> {
    let began = now();
    // None of them is ever negative.
    let number = |sql| tx.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    let is_small = pages.saturating_mul(number("PRAGMA page_size")?) <= bytes;
    let removed = if is_small { 0 } else { tx.execute(&plan.delete_first(), [rows])? };
    if !is_small && removed == 0 && tx.query_optional(&plan.first(), [], |_| Ok(()))?.is_some() {
        plan.must_have_deleted(removed)?;
    }
    let took = now().saturating_duration_since(began);
    Ok(Swept { took, removed, is_done: removed == 0, first: None, next: None })
}
