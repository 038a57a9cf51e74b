//! What was found, as a table and as one line for programs.

use crate::lab::Findings;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// The last line of a run.
#[derive(Serialize)]
pub struct Summary {
    pub seed: u64,
    pub states: u64,
    pub lost_acks: u64,
    pub resurrected_deletes: u64,
    pub integrity_failures: u64,
    pub seconds: f64,
}

impl Summary {
    pub fn new(seed: u64, findings: &Findings, took: Duration) -> Self {
        Self {
            seed,
            states: findings.states,
            lost_acks: findings.lost_acks,
            resurrected_deletes: findings.resurrected_deletes,
            integrity_failures: findings.integrity_failures,
            seconds: (took.as_secs_f64() * 1_000.0).round() / 1_000.0,
        }
    }
}

/// One line for each workload.
pub fn table(rows: &[(&str, Findings)]) -> String {
    let mut table = String::new();
    let mut line = |cells: [&str; 5]| {
        let [name, states, lost, back, broken] = cells;
        // Writing to a string does not fail.
        let _ = writeln!(table, "  {name:<24}{states:>8}{lost:>12}{back:>22}{broken:>20}");
    };
    line(["workload", "disks", "lost acks", "resurrected deletes", "integrity failures"]);
    for (name, findings) in rows {
        if findings.states == 0 {
            line([name, "-", "time was up", "", ""]);
            continue;
        }
        let numbers =
            [findings.states, findings.lost_acks, findings.resurrected_deletes, findings.integrity_failures];
        let [states, lost, back, broken] = numbers.map(|number| number.to_string());
        line([name, &states, &lost, &back, &broken]);
    }
    table
}
