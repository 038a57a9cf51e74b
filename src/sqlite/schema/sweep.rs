//! Finding the table and the index of a retention policy.

use rusqlite::Connection;

use super::error::ShapeError;
use super::indexes::{Index, read_indexes};
use super::shape::{find_table, is_rowid_alias, read_columns, rowid_name};
use crate::error::RetentionFailure;
use crate::retention::{Retention, SweepIndex, SweepPlan, SweepTable};
use crate::row::{Affinity, ColumnShape, quoted};

/// Looks whether the policy can be carried out, and by which index.
///
/// Which indexes will do, SQLite says itself: the statements name the index, and cannot be prepared with one that does
/// not fit. So a partial index is taken where it holds every row that the statements ask for.
pub(crate) fn plan_sweep(connection: &Connection, policy: &Retention) -> Result<SweepPlan, RetentionFailure> {
    let found = find_table(connection, &policy.table)?;
    let (columns, primary_key) = read_columns(connection, &found).map_err(ShapeError::from)?;
    let indexes = read_indexes(connection, &found.name).map_err(ShapeError::from)?;
    let wanted = policy.rule.columns();
    let wanted_places: Vec<usize> =
        wanted.iter().map(|name| find_column(&columns, name)).collect::<Result<_, _>>()?;
    if let Some(name) = policy.rule.time_column()
        && columns[find_column(&columns, name)?].affinity == Affinity::Text
    {
        return Err(RetentionFailure::TextColumn { column: name.to_owned() });
    }
    let place = match rowid_name(&columns) {
        Some(name) if !found.is_without_rowid => vec![name.to_owned()],
        _ => primary_key.iter().map(|at| quoted(&columns[*at].name)).collect(),
    };
    if place.is_empty() {
        return Err(RetentionFailure::NoKey);
    }
    let is_alias = !found.is_without_rowid && is_rowid_alias(&columns, &primary_key, &indexes);
    let by_rowid = (is_alias && wanted_places == primary_key).then_some(SweepIndex::Rowid);
    let begins = |index: &&Index| {
        let first = index.columns.iter().map(|column| column.column).take(wanted_places.len());
        first.eq(wanted_places.iter().copied().map(Some))
    };
    let named = indexes.iter().filter(begins).map(|index| SweepIndex::Named(index.name.clone()));
    let table = SweepTable {
        name: found.name,
        columns: columns.into_iter().map(|column| column.name).collect(),
        place,
    };
    for index in by_rowid.into_iter().chain(named) {
        let plan = SweepPlan::new(policy, table.clone(), index);
        if plan.queries().iter().all(|sql| connection.prepare(sql).is_ok()) {
            return Ok(plan);
        }
    }
    Err(RetentionFailure::NoIndex { columns: wanted.into_iter().map(str::to_owned).collect() })
}

fn find_column(columns: &[ColumnShape], name: &str) -> Result<usize, RetentionFailure> {
    let place = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
    place.ok_or_else(|| RetentionFailure::NoSuchColumn { column: name.to_owned() })
}
