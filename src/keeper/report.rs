//! What the chores tell about themselves.

use std::time::{Duration, Instant};

use crate::sync::Mutex;

/// How work in the background is doing. See [`Stats::chores`](crate::Stats::chores).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChoreStats {
    /// What it is, and of which table.
    pub name: String,
    /// Commands that it sent and that did their work.
    pub slices: u64,
    /// Rows that they changed or removed, for a retention policy those of its table alone; for giving space back, pages
    /// of the file.
    pub rows: u64,
    /// Commands that failed. They left nothing, and are tried again after a rest that grows to a minute.
    pub failures: u64,
    /// Why the last one failed, if that was the last thing that happened.
    pub last_error: Option<String>,
    /// For how long it has had more to do without a pause. If that keeps growing, it does not keep up.
    pub working_for: Option<Duration>,
    /// How long ago the first of what is left should have been done, as of its last command and if that can be told:
    /// how far a sweep of expired rows is behind.
    pub behind: Option<Duration>,
}

/// One line for each chore that is not over.
#[derive(Default)]
pub(crate) struct ChoreReports(Mutex<Vec<ChoreReport>>);

struct ChoreReport {
    stats: ChoreStats,
    working_since: Option<Instant>,
}

impl ChoreReports {
    /// A chore is there. A name that was there before starts anew.
    pub(super) fn add(&self, name: &str) {
        let stats = ChoreStats {
            name: name.to_owned(),
            slices: 0,
            rows: 0,
            failures: 0,
            last_error: None,
            working_for: None,
            behind: None,
        };
        let mut reports = self.0.lock();
        reports.retain(|report| report.stats.name != name);
        reports.push(ChoreReport { stats, working_since: None });
    }

    /// A chore is over.
    pub(super) fn remove(&self, name: &str) {
        self.0.lock().retain(|report| report.stats.name != name);
    }

    /// A slice did its work.
    pub(super) fn slice(&self, name: &str, rows: u64) {
        self.change(name, |report| {
            report.stats.slices += 1;
            report.stats.rows += rows;
            report.stats.last_error = None;
        });
    }

    /// A slice failed, or the chore itself did.
    pub(super) fn failure(&self, name: &str, error: String) {
        self.change(name, |report| {
            report.stats.failures += 1;
            report.stats.last_error = Some(error);
        });
    }

    /// Since when the chore has been at work without a pause, and how far it is behind.
    pub(super) fn working(&self, name: &str, since: Option<Instant>, behind: Option<Duration>) {
        self.change(name, |report| {
            report.working_since = since;
            report.stats.behind = behind;
        });
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut ChoreReport)) {
        if let Some(report) = self.0.lock().iter_mut().find(|report| report.stats.name == name) {
            change(report);
        }
    }

    /// All lines, as of `now`.
    pub(crate) fn stats(&self, now: Instant) -> Vec<ChoreStats> {
        let reports = self.0.lock();
        let stats = reports.iter().map(|report| ChoreStats {
            working_for: report.working_since.map(|since| now.saturating_duration_since(since)),
            ..report.stats.clone()
        });
        stats.collect()
    }
}
