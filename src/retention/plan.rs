//! A policy that has found its table and its index, and the SQL that carries it out.
//!
//! Every query names its index (`INDEXED BY`). If the index is dropped under the running store, the policy then fails
//! and says so, instead of reading the whole table for each slice.

use super::grown::{GroupWatch, GrownGroups};
use super::policy::{Retention, Rule};
use crate::error::ClosureError;
use crate::row::quoted;
use crate::sync::Arc;

/// What a sweep has to know of its table. Names are as in the schema.
#[derive(Clone, Debug)]
pub(crate) struct SweepTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// What tells its rows apart in SQL: the rowid by one of its names, or the columns of the primary key.
    pub(crate) place: Vec<String>,
}

/// How a sweep finds rows.
#[derive(Clone, Debug)]
pub(crate) enum SweepIndex {
    Named(String),
    /// The table itself is in the order: its rowid is the column.
    Rowid,
}

/// A policy that can be carried out.
#[derive(Clone)]
pub(crate) struct SweepPlan {
    pub(crate) name: String,
    pub(crate) table: SweepTable,
    pub(crate) rule: Rule,
    pub(crate) index: SweepIndex,
    /// What the writer tells the chore.
    pub(super) grown: Arc<GrownGroups>,
}

impl SweepTable {
    /// A column's name in the schema, by its name in any case.
    fn column(&self, named: &str) -> Option<&str> {
        self.columns.iter().map(String::as_str).find(|column| column.eq_ignore_ascii_case(named))
    }
}

impl SweepPlan {
    pub(crate) fn new(policy: &Retention, table: SweepTable, index: SweepIndex) -> Self {
        Self { name: policy.name(), table, rule: policy.rule.clone(), index, grown: Arc::default() }
    }

    /// What the writer has to look after.
    pub(crate) fn watch(&self) -> Option<GroupWatch> {
        let Rule::Newest { group, .. } = &self.rule else { return None };
        let column = self.table.column(group).unwrap_or(group).to_owned();
        Some(GroupWatch {
            chore: self.name.clone(),
            table: self.table.name.clone(),
            column,
            grown: Arc::clone(&self.grown),
        })
    }

    /// Every query of the rule: if SQLite can prepare them, the index will do.
    pub(crate) fn queries(&self) -> Vec<String> {
        match self.rule {
            Rule::Expires { .. } | Rule::OlderThan { .. } => {
                vec![self.first_due(), self.next_due(), self.delete_due()]
            }
            Rule::FileAtMost { .. } => vec![self.first(), self.delete_first()],
            Rule::Newest { .. } => {
                vec![
                    self.first_group(),
                    self.next_group(),
                    self.boundary(),
                    self.delete_older(),
                    self.delete_older_null(),
                ]
            }
        }
    }

    /// The time of the row that is due first: of those up to `?1`.
    pub(super) fn first_due(&self) -> String {
        let column = self.column(0);
        format!("SELECT {column} FROM {} WHERE {column} <= ?1 ORDER BY {column} LIMIT 1", self.source())
    }

    /// The time of the row that is due next: of those past `?1`.
    pub(super) fn next_due(&self) -> String {
        let column = self.column(0);
        format!("SELECT {column} FROM {} WHERE {column} > ?1 ORDER BY {column} LIMIT 1", self.source())
    }

    /// Deletes rows up to `?1`, first ones first, `?2` at most.
    pub(super) fn delete_due(&self) -> String {
        let column = self.column(0);
        self.delete(&format!("{column} <= ?1 ORDER BY {column} LIMIT ?2"))
    }

    /// Deletes the first `?1` rows.
    pub(super) fn delete_first(&self) -> String {
        let column = self.column(0);
        self.delete(&format!("{column} IS NOT NULL ORDER BY {column} LIMIT ?1"))
    }

    /// Whether there is a first row.
    pub(super) fn first(&self) -> String {
        let column = self.column(0);
        format!("SELECT 1 FROM {} WHERE {column} IS NOT NULL ORDER BY {column} LIMIT 1", self.source())
    }

    /// Fails if no row was deleted although some had to be. SQLite takes that for success: a trigger of the program's
    /// has said `RAISE(IGNORE)`. Nothing behind these rows would ever be reached.
    pub(super) fn must_have_deleted(&self, deleted: u64) -> Result<(), ClosureError> {
        if deleted > 0 {
            return Ok(());
        }
        let table = &self.table.name;
        Err(ClosureError::message(format!(
            "a trigger of table {table} keeps the rows that are to go (RAISE(IGNORE)); have it let them go, or give \
             them another time"
        )))
    }

    /// The first group.
    pub(super) fn first_group(&self) -> String {
        let group = self.column(0);
        format!("SELECT {group} FROM {} WHERE {group} IS NOT NULL ORDER BY {group} LIMIT 1", self.source())
    }

    /// The group behind group `?1`.
    pub(super) fn next_group(&self) -> String {
        let group = self.column(0);
        format!("SELECT {group} FROM {} WHERE {group} > ?1 ORDER BY {group} LIMIT 1", self.source())
    }

    /// The order and the place of the newest row of group `?1` that has `?2` newer ones.
    pub(super) fn boundary(&self) -> String {
        let (group, order) = (self.column(0), self.column(1));
        let place: Vec<String> = self.table.place.iter().map(|part| format!("{part} DESC")).collect();
        format!(
            "SELECT {order}, {} FROM {} WHERE {group} = ?1 ORDER BY {order} DESC, {} LIMIT 1 OFFSET ?2",
            self.table.place.join(", "),
            self.source(),
            place.join(", "),
        )
    }

    /// Deletes the oldest rows of group `?1` up to the row with order `?2` and the place from `?4` on, `?3` at most.
    pub(super) fn delete_older(&self) -> String {
        let (group, order) = (self.column(0), self.column(1));
        let up_to = self.up_to();
        self.delete(&format!(
            "{group} = ?1 AND ({order} IS NULL OR {order} < ?2 OR ({order} = ?2 AND {up_to})) \
             ORDER BY {order}, {} LIMIT ?3",
            self.table.place.join(", "),
        ))
    }

    /// The same where the order is NULL; `?2` is not looked at.
    pub(super) fn delete_older_null(&self) -> String {
        let (group, order) = (self.column(0), self.column(1));
        let up_to = self.up_to();
        self.delete(&format!(
            "{group} = ?1 AND {order} IS NULL AND ?2 IS NULL AND {up_to} ORDER BY {order}, {} LIMIT ?3",
            self.table.place.join(", "),
        ))
    }

    fn up_to(&self) -> String {
        let values: Vec<String> = (4..).take(self.table.place.len()).map(|at| format!("?{at}")).collect();
        format!("({}) <= ({})", self.table.place.join(", "), values.join(", "))
    }

    fn delete(&self, found: &str) -> String {
        let place = self.table.place.join(", ");
        format!(
            "DELETE FROM {} WHERE ({place}) IN (SELECT {place} FROM {} WHERE {found})",
            quoted(&self.table.name),
            self.source(),
        )
    }

    fn source(&self) -> String {
        let table = quoted(&self.table.name);
        match &self.index {
            SweepIndex::Named(index) => format!("{table} INDEXED BY {}", quoted(index)),
            SweepIndex::Rowid => format!("{table} NOT INDEXED"),
        }
    }

    /// A column of the rule, by its name in the schema.
    fn column(&self, at: usize) -> String {
        let named = self.rule.columns()[at];
        quoted(self.table.column(named).unwrap_or(named))
    }
}
