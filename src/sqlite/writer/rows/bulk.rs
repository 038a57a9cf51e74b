//! Work on many rows, piece by piece.

use std::time::{Duration, Instant};

use super::desk::TableDesk;
use super::row::{self, revision_value};
use super::text::{Form, Step};
use super::{RowEffect, RowFailure};
use crate::row::{BulkCommand, BulkWork, Value, ValueRef, Values};
use crate::sqlite::session::Session;

/// A piece takes about a quarter as long as the last COMMITs did, within these bounds: whoever sends a small
/// command meanwhile waits for a piece and its COMMIT, and where the disk is slow, short pieces would gain him
/// little. The first piece may take the longest time.
const SHORTEST_PIECE: Duration = Duration::from_micros(100);
const LONGEST_PIECE: Duration = Duration::from_millis(2);
/// Rows of the first step of a walk; later ones are fitted to the time that they take.
const FIRST_STEP: i64 = 16;
/// Rows of a step at most.
const LARGEST_STEP: i64 = 1024;
/// Rows of a list between two looks at the clock.
const ROWS_A_LOOK: usize = 8;

/// How long the next piece may take, when the last COMMIT took `commit` and the piece before was given `before`.
pub(in crate::sqlite::writer) fn piece_time(before: Duration, commit: Duration) -> Duration {
    ((before + commit / 4) / 2).clamp(SHORTEST_PIECE, LONGEST_PIECE)
}

/// How far bulk work has come.
#[derive(Clone, Default)]
pub(crate) struct BulkProgress {
    /// Rows changed.
    pub(crate) rows: u64,
    /// Commands of the list that are done.
    done: usize,
    /// Where a walk over the table stands.
    walk: Option<Walk>,
}

impl BulkProgress {
    fn is_fresh(&self) -> bool {
        self.done == 0 && self.walk.is_none()
    }
}

/// A walk over the rows whose column holds a value, in the order of their places (rowid or key).
#[derive(Clone)]
struct Walk {
    /// The place of the last row when the walk began: rows that come later are not its business, so it ends.
    end: Vec<Value>,
    /// Where the last step ended.
    at: Option<Vec<Value>>,
    /// Rows of the next step.
    step: i64,
}

/// How a piece ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sqlite::writer) enum PieceEnd {
    /// There is more to do.
    More,
    Finished,
}

/// Carries out the next piece and moves `progress` on. After a failure the piece has to be undone, and `progress` is
/// worth nothing.
pub(in crate::sqlite::writer) fn carry_out_piece(
    desk: &mut TableDesk,
    session: &Session<'_>,
    bulk: &BulkCommand,
    progress: &mut BulkProgress,
    sequence: u64,
    time: Duration,
) -> Result<PieceEnd, RowFailure> {
    let (began, is_atomic) = (Instant::now(), bulk.is_atomic);
    // Most lists and owners are small: they need no second piece, and so no second COMMIT.
    let time = if progress.is_fresh() { LONGEST_PIECE } else { time };
    let mut piece = Piece { desk, session, sequence, began, time, is_atomic };
    match &bulk.work {
        BulkWork::Each(commands) => {
            piece.list(progress, commands, |desk, command| row::carry_out(desk, session, command, sequence))
        }
        BulkWork::UpdateKeys { keys, set } => {
            piece.list(progress, keys, |desk, key| row::update(desk, session, key.key(), set.set(), sequence))
        }
        BulkWork::DeleteWhere { column, value } => piece.walk(progress, *column, value, None),
        BulkWork::UpdateWhere { column, value, set } => piece.walk(progress, *column, value, Some(set.set())),
    }
}

struct Piece<'p, 's> {
    desk: &'p mut TableDesk,
    session: &'p Session<'s>,
    sequence: u64,
    began: Instant,
    time: Duration,
    is_atomic: bool,
}

impl Piece<'_, '_> {
    fn is_long_enough(&self) -> bool {
        !self.is_atomic && self.began.elapsed() >= self.time
    }

    /// The next ones of a list.
    fn list<T>(
        &mut self,
        progress: &mut BulkProgress,
        list: &[T],
        mut carry_out: impl FnMut(&mut TableDesk, &T) -> Result<RowEffect, RowFailure>,
    ) -> Result<PieceEnd, RowFailure> {
        for one in list.iter().skip(progress.done) {
            progress.rows += carry_out(self.desk, one)?.rows_changed;
            progress.done += 1;
            if progress.done.is_multiple_of(ROWS_A_LOOK) && self.is_long_enough() {
                break;
            }
        }
        Ok(if progress.done < list.len() { PieceEnd::More } else { PieceEnd::Finished })
    }

    fn walk(
        &mut self,
        progress: &mut BulkProgress,
        column: usize,
        value: &Value,
        set: Option<Values<'_>>,
    ) -> Result<PieceEnd, RowFailure> {
        if set.is_none() {
            // Its steps would tell, but there may be none.
            self.session.note_delete();
        }
        if !self.desk.shape().can_be_walked(set.unwrap_or(Values::NONE).columns()) {
            self.take(Step::All, column, set, &[value])?;
            progress.rows += self.session.connection().changes();
            return Ok(PieceEnd::Finished);
        }
        if progress.walk.is_none() {
            let Some(end) = self.place(Form::WalkEnd, column, &[value])? else {
                return Ok(PieceEnd::Finished);
            };
            progress.walk = Some(Walk { end, at: None, step: FIRST_STEP });
        }
        let Some(walk) = &mut progress.walk else { return Ok(PieceEnd::Finished) };
        loop {
            let began = Instant::now();
            let is_last = self.step(walk, column, value, set)?;
            progress.rows += self.session.connection().changes();
            if is_last {
                return Ok(PieceEnd::Finished);
            }
            walk.step = fitted(walk.step, began.elapsed(), self.time);
            if self.is_long_enough() {
                return Ok(PieceEnd::More);
            }
        }
    }

    /// One statement over the next rows. Gives whether it reached the end of the walk.
    fn step(
        &mut self,
        walk: &mut Walk,
        column: usize,
        value: &Value,
        set: Option<Values<'_>>,
    ) -> Result<bool, RowFailure> {
        let is_first = walk.at.is_none();
        let from = walk.at.take().unwrap_or_default();
        let skipped = Value::Integer(walk.step - 1);
        let question: Vec<&Value> =
            std::iter::once(value).chain(&from).chain(&walk.end).chain([&skipped]).collect();
        let found = self.place(Form::StepEnd { is_first }, column, &question)?;
        let is_last = found.is_none();
        let to = found.unwrap_or_else(|| walk.end.clone());
        let range: Vec<&Value> = std::iter::once(value).chain(&from).chain(&to).collect();
        self.take(if is_first { Step::First } else { Step::Next }, column, set, &range)?;
        walk.at = Some(to);
        Ok(is_last)
    }

    /// Deletes or updates the rows of a step.
    fn take(
        &mut self,
        step: Step,
        column: usize,
        set: Option<Values<'_>>,
        range: &[&Value],
    ) -> Result<(), RowFailure> {
        let range = range.iter().copied().map(ValueRef::from);
        let Some(set) = set else {
            let form = Form::DeleteStep(step);
            let delete = self.desk.statement(self.session, form, std::iter::once(column))?;
            return Ok(self.session.run_for_rows(&delete.statement, delete.facts, range, |_| {})?);
        };
        let revision = revision_value(self.desk.shape(), 1, self.sequence);
        let columns = std::iter::once(column).chain(set.columns());
        let update = self.desk.statement(self.session, Form::UpdateStep(step), columns)?;
        let values = set.values().chain(revision.as_ref().map(ValueRef::from)).chain(range);
        Ok(self.session.run_for_rows(&update.statement, update.facts, values, |_| {})?)
    }

    fn place(
        &mut self,
        form: Form,
        column: usize,
        values: &[&Value],
    ) -> Result<Option<Vec<Value>>, RowFailure> {
        let shape = self.desk.shape();
        let parts = if shape.rowid_name.is_some() { 1 } else { shape.walk_columns().len() };
        let query = self.desk.statement(self.session, form, std::iter::once(column))?;
        let mut found = None;
        let values = values.iter().copied().map(ValueRef::from);
        self.session.run_for_rows(&query.statement, query.facts, values, |row| {
            found = Some((0..parts).map(|at| row.value(at)).collect());
        })?;
        Ok(found)
    }
}

/// As many rows as take about a quarter of a piece's time.
fn fitted(step: i64, took: Duration, piece: Duration) -> i64 {
    if took < piece / 8 {
        (step * 2).min(LARGEST_STEP)
    } else if took > piece / 2 {
        (step / 2).max(1)
    } else {
        step
    }
}
