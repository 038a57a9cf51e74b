//! The chore of the rule that keeps the newest rows of each group.

use std::time::{Duration, Instant};

use rusqlite::params_from_iter;

use super::grown::GrownGroups;
use super::plan::SweepPlan;
use super::policy::Rule;
use crate::error::{ClosureError, WriteError};
use crate::keeper::{Chore, ChoreStep, SliceRows, peek_slice_value, slice, slice_value};
use crate::row::Value;
use crate::sqlite::row_value::{Bound, copied};
use crate::sqlite::session::Tx;
use crate::sqlite::writer::WriteOutput;
use crate::sync::{Arc, now};

/// Groups grow again and again: looked at once a second they cost less than one look a row.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);
/// Between two looks at all groups, and at least so many times as long as the last one took.
const BETWEEN_FULL_LOOKS: Duration = Duration::from_secs(1);
const FULL_LOOK_SHARE: u32 = 20;
/// Groups that one slice is given at most.
const GROUPS_A_SLICE: usize = 64;

/// Looks at groups, and removes what is older than their newest rows.
pub(super) struct NewestChore {
    plan: Arc<SweepPlan>,
    grown: Arc<GrownGroups>,
    count: u32,
    rows: SliceRows,
    time: Duration,
    /// Groups that grew and were not looked at yet.
    listed: Vec<Value>,
    /// A look at all groups that is under way.
    full: Option<FullLook>,
    /// One that is due and has to wait.
    full_is_due: bool,
    full_not_before: Option<Instant>,
    /// A round has ended.
    rest: bool,
}

struct FullLook {
    began: Instant,
    /// The last group that was looked at.
    at: Option<Value>,
}

/// What a slice is to look at.
enum Groups {
    Listed(Vec<Value>),
    /// All of them behind this one.
    Behind(Option<Value>),
}

/// What a slice did.
struct Looked {
    /// Groups that it is done with.
    done: usize,
    /// The last of them.
    at: Option<Value>,
    /// There is no group left.
    is_end: bool,
    removed: u64,
    /// What the last deletion took, and what the look before it did, which cannot be shortened.
    deleting: Option<(Duration, Duration)>,
}

impl NewestChore {
    pub(super) fn new(plan: SweepPlan) -> Self {
        let (count, grown) = match &plan.rule {
            Rule::Newest { count, .. } => (*count, Arc::clone(&plan.grown)),
            // Not reached: made for this rule.
            _ => (u32::MAX, Arc::default()),
        };
        Self {
            plan: Arc::new(plan),
            grown,
            count,
            rows: SliceRows::new(),
            time: Duration::ZERO,
            listed: Vec::new(),
            full: None,
            // Nobody knows what grew before.
            full_is_due: true,
            full_not_before: None,
            rest: false,
        }
    }

    fn take_grown(&mut self, now: Instant) {
        let taken = self.grown.take();
        self.listed.extend(taken.groups);
        self.full_is_due |= taken.any;
        if self.full_is_due && self.full_not_before.is_none_or(|at| at <= now) {
            self.full_is_due = false;
            // All of them are among all.
            self.listed.clear();
            self.full = Some(FullLook { began: now, at: None });
        }
    }

    fn groups(&self) -> Groups {
        match &self.full {
            Some(look) => Groups::Behind(look.at.clone()),
            None => Groups::Listed(self.listed.iter().take(GROUPS_A_SLICE).cloned().collect()),
        }
    }

    fn has_work(&self) -> bool {
        self.full.is_some() || !self.listed.is_empty()
    }
}

impl Chore for NewestChore {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn next(&mut self, time: Duration, now: Instant) -> ChoreStep {
        if !self.has_work() {
            if std::mem::take(&mut self.rest) {
                return ChoreStep::Rest(BETWEEN_ROUNDS);
            }
            self.take_grown(now);
        }
        if !self.has_work() {
            return match self.full_not_before {
                Some(at) if self.full_is_due => ChoreStep::Rest(at.saturating_duration_since(now)),
                _ => ChoreStep::Sleep,
            };
        }
        self.time = time;
        let (plan, count, rows) = (Arc::clone(&self.plan), self.count, self.rows.rows());
        let groups = self.groups();
        ChoreStep::Slice(slice(move |tx| look(tx, &plan, &groups, count, rows, time)))
    }

    fn done(&mut self, result: Result<WriteOutput, WriteError>) {
        let Some(looked) = result.ok().and_then(slice_value::<Looked>) else { return };
        if let Some((took, before)) = looked.deleting {
            self.rows.fit(took, self.time.max(before));
        }
        match &mut self.full {
            Some(look) if looked.is_end => {
                let now = now();
                let took = now.saturating_duration_since(look.began);
                let rest = BETWEEN_FULL_LOOKS.max(took.saturating_mul(FULL_LOOK_SHARE));
                self.full_not_before = now.checked_add(rest);
                self.full = None;
            }
            Some(look) => look.at = looked.at.or(look.at.take()),
            None => drop(self.listed.drain(..looked.done.min(self.listed.len()))),
        }
        self.rest = !self.has_work();
    }

    fn rows(&self, output: &WriteOutput) -> u64 {
        peek_slice_value::<Looked>(output).map_or(0, |looked| looked.removed)
    }
}

/// Looks at groups until the time is up.
fn look(
    tx: &Tx<'_>,
    plan: &SweepPlan,
    groups: &Groups,
    count: u32,
    rows: u32,
    time: Duration,
) -> Result<Looked, ClosureError> {
    let began = now();
    let mut looked = Looked { done: 0, at: None, is_end: false, removed: 0, deleting: None };
    loop {
        let group = match groups {
            Groups::Listed(listed) => listed.get(looked.done).cloned(),
            Groups::Behind(at) => group_behind(tx, plan, looked.at.as_ref().or(at.as_ref()))?,
        };
        let Some(group) = group else {
            looked.is_end = true;
            return Ok(looked);
        };
        let looking = now();
        if let Some(boundary) = boundary(tx, plan, &group, count)? {
            let deleting = now();
            let deleted = delete(tx, plan, &group, &boundary, rows)?;
            // The row at the boundary is one of them.
            plan.must_have_deleted(deleted)?;
            looked.removed += deleted;
            let took = now().saturating_duration_since(deleting);
            looked.deleting = Some((took, deleting.saturating_duration_since(looking)));
            if deleted >= u64::from(rows) {
                return Ok(looked);
            }
        }
        looked.at = Some(group);
        looked.done += 1;
        if now().saturating_duration_since(began) >= time {
            return Ok(looked);
        }
    }
}

fn group_behind(tx: &Tx<'_>, plan: &SweepPlan, at: Option<&Value>) -> Result<Option<Value>, ClosureError> {
    let sql = if at.is_some() { plan.next_group() } else { plan.first_group() };
    tx.query_optional(&sql, params_from_iter(at.map(Bound)), |row| copied(0, row.get_ref(0)?))
}

/// Order and place of the newest row that has to go.
fn boundary(
    tx: &Tx<'_>,
    plan: &SweepPlan,
    group: &Value,
    count: u32,
) -> Result<Option<Vec<Value>>, ClosureError> {
    let values = [group.clone(), Value::from(count)];
    let columns = 1 + plan.table.place.len();
    tx.query_optional(&plan.boundary(), params_from_iter(values.iter().map(Bound)), |row| {
        (0..columns).map(|at| copied(at, row.get_ref(at)?)).collect()
    })
}

/// Deletes the oldest rows up to the boundary.
fn delete(
    tx: &Tx<'_>,
    plan: &SweepPlan,
    group: &Value,
    boundary: &[Value],
    rows: u32,
) -> Result<u64, ClosureError> {
    let (order, place) = boundary.split_at(1);
    let sql = if order.iter().all(Value::is_null) { plan.delete_older_null() } else { plan.delete_older() };
    let rows = Value::from(rows);
    let values = std::iter::once(group).chain(order).chain([&rows]).chain(place);
    tx.execute(&sql, params_from_iter(values.map(Bound)))
}
