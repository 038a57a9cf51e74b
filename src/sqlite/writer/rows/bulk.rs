//! Work on many rows, piece by piece.

use std::time::{Duration, Instant};

use super::desk::TableDesk;
use super::row::{self, integer, revision_value};
use super::text::{Form, Step};
use super::{RowEffect, RowFailure};
use crate::changes::Operation;
use crate::row::{BulkCommand, BulkWork, Value, ValueRef, Values};
use crate::sqlite::session::Session;
use crate::sqlite::writer::recording::OwnChanges;
use crate::sync::Arc;

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

/// What a piece is carried out with.
pub(in crate::sqlite::writer) struct Piece<'p> {
    pub(in crate::sqlite::writer) session: &'p Session<'p>,
    pub(in crate::sqlite::writer) sequence: u64,
    /// How long it may take.
    pub(in crate::sqlite::writer) time: Duration,
    /// Where each row is told, if anybody watches.
    pub(in crate::sqlite::writer) told: Option<&'p mut OwnChanges>,
}

/// Carries out the next piece and moves `progress` on. After a failure the piece has to be undone, and `progress` is
/// worth nothing.
pub(in crate::sqlite::writer) fn carry_out_piece(
    desk: &mut TableDesk,
    bulk: &BulkCommand,
    progress: &mut BulkProgress,
    piece: Piece<'_>,
) -> Result<PieceEnd, RowFailure> {
    let Piece { session, sequence, time, told } = piece;
    let (began, is_atomic) = (Instant::now(), bulk.is_atomic);
    // Most lists and owners are small: they need no second piece, and so no second COMMIT.
    let time = if progress.is_fresh() { LONGEST_PIECE } else { time };
    let mut work = PieceWork { desk, session, sequence, began, time, is_atomic, told };
    match &bulk.work {
        BulkWork::Each(commands) => work.list(progress, commands, |work, command| {
            let effect = row::carry_out(work.desk, session, command, sequence)?;
            if let Some(told) = &mut work.told {
                told.command(command, &effect);
            }
            Ok(effect)
        }),
        BulkWork::UpdateKeys { keys, set } => work.list(progress, keys, |work, key| {
            let effect = row::update(work.desk, session, key.key(), set, sequence)?;
            if let Some(told) = &mut work.told {
                told.update(work.desk.shape(), key.key(), set.set(), &effect);
            }
            Ok(effect)
        }),
        BulkWork::DeleteWhere { column, value } => work.walk(progress, *column, value, None),
        BulkWork::UpdateWhere { column, value, set } => work.walk(progress, *column, value, Some(set.set())),
    }
}

struct PieceWork<'p, 's> {
    desk: &'p mut TableDesk,
    session: &'p Session<'s>,
    sequence: u64,
    began: Instant,
    time: Duration,
    is_atomic: bool,
    told: Option<&'p mut OwnChanges>,
}

impl PieceWork<'_, '_> {
    fn is_long_enough(&self) -> bool {
        !self.is_atomic && self.began.elapsed() >= self.time
    }

    /// The next ones of a list.
    fn list<T>(
        &mut self,
        progress: &mut BulkProgress,
        list: &[T],
        mut carry_out: impl FnMut(&mut Self, &T) -> Result<RowEffect, RowFailure>,
    ) -> Result<PieceEnd, RowFailure> {
        for one in list.iter().skip(progress.done) {
            progress.rows += carry_out(self, one)?.rows_changed;
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
            progress.rows += self.take(Step::All, column, set, &[value])?;
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
            let (is_last, rows) = self.step(walk, column, value, set)?;
            progress.rows += rows;
            if is_last {
                return Ok(PieceEnd::Finished);
            }
            walk.step = fitted(walk.step, began.elapsed(), self.time);
            if self.is_long_enough() {
                return Ok(PieceEnd::More);
            }
        }
    }

    /// One statement over the next rows. Gives whether it reached the end of the walk, and how many rows it changed.
    fn step(
        &mut self,
        walk: &mut Walk,
        column: usize,
        value: &Value,
        set: Option<Values<'_>>,
    ) -> Result<(bool, u64), RowFailure> {
        let is_first = walk.at.is_none();
        let from = walk.at.take().unwrap_or_default();
        let skipped = Value::Integer(walk.step - 1);
        let question: Vec<&Value> =
            std::iter::once(value).chain(&from).chain(&walk.end).chain([&skipped]).collect();
        let found = self.place(Form::StepEnd { is_first }, column, &question)?;
        let is_last = found.is_none();
        let to = found.unwrap_or_else(|| walk.end.clone());
        let range: Vec<&Value> = std::iter::once(value).chain(&from).chain(&to).collect();
        let rows = self.take(if is_first { Step::First } else { Step::Next }, column, set, &range)?;
        walk.at = Some(to);
        Ok((is_last, rows))
    }

    /// Deletes or updates the rows of a step, and gives how many there were.
    fn take(
        &mut self,
        step: Step,
        column: usize,
        set: Option<Values<'_>>,
        range: &[&Value],
    ) -> Result<u64, RowFailure> {
        let shape = Arc::clone(self.desk.shape());
        // What is set is no part of the key: each row is the same before and after.
        let returns_key = self.told.is_some();
        let (operation, form, revision) = match set {
            None => (Operation::Delete, Form::DeleteStep { step, returns_key }, None),
            Some(_) => {
                let revision = revision_value(&shape, 1, self.sequence);
                (Operation::Update, Form::UpdateStep { step, returns_key }, revision)
            }
        };
        let (is_update, set) = (set.is_some(), set.unwrap_or(Values::NONE));
        let change = self.desk.statement(self.session, form, std::iter::once(column).chain(set.columns()))?;
        let range = range.iter().copied().map(ValueRef::from);
        let values = set.values().chain(revision.map(ValueRef::Integer)).chain(range);
        let told = &mut self.told;
        self.session.run_for_rows(&change.statement, &change.facts, values, |row| {
            let Some(told) = told else { return };
            let key: Vec<Value> = (0..shape.key.len()).map(|at| row.value(at)).collect();
            let revision = shape.revision.filter(|_| is_update).map(|_| row.value(shape.key.len()));
            told.row_of_many(operation, key, revision.and_then(integer));
        })?;
        let rows = self.session.connection().changes();
        if let Some(told) = told {
            told.count(rows);
        }
        Ok(rows)
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
        self.session.run_for_rows(&query.statement, &query.facts, values, |row| {
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
