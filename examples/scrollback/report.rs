//! What was measured: a row for each store and operation, and what the ratios have to hold.

use crate::Result;
use crate::figures::{Figures, Operation, Summary};
use crate::load::BACKFILL;
use crate::options::Options;
use crate::table::Table;
use serde::Serialize;
use std::fmt::{self, Display};
use std::io::{Write, stdout};

/// What is asked for at this sync delay.
const ASKED_AT_MS: u64 = 5;
const LEAST_GAIN: f64 = 50.0;
const GREATEST_GROWTH: f64 = 2.0;

/// A row of `--json`.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    store: &'static str,
    operation: &'static str,
    count: usize,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

/// What was measured on one store.
pub struct Measured {
    pub store: &'static str,
    pub opening: Figures,
    /// Without backfills, and with them.
    pub quiet: Figures,
    pub busy: Figures,
}

impl Measured {
    pub fn new(store: &'static str) -> Self {
        let figures = Figures::default;
        Self { store, opening: figures(), quiet: figures(), busy: figures() }
    }

    fn rows(&self) -> Vec<Row> {
        let row = |operation: Operation| {
            let summary = Figures::summary(&[&self.opening, &self.quiet, &self.busy], operation)?;
            let Summary { count, p50_ms, p99_ms, max_ms } = summary;
            Some(Row { store: self.store, operation: operation.as_str(), count, p50_ms, p99_ms, max_ms })
        };
        Operation::ALL.into_iter().filter_map(row).collect()
    }
}

/// Prints the rows, and what holds, as the options ask.
pub fn print(options: &Options, seed: &Measured, walwright: &Measured) -> Result<()> {
    let rows: Vec<Row> = [seed, walwright].into_iter().flat_map(Measured::rows).collect();
    let mut out = stdout().lock();
    if options.json {
        for row in &rows {
            writeln!(out, "{}", serde_json::to_string(row)?)?;
        }
        for bar in bars(options, seed, walwright) {
            eprintln!("{bar}");
        }
        return Ok(());
    }
    writeln!(out, "\n{}", table(&rows))?;
    writeln!(out, "{}", beside(&[seed, walwright]))?;
    for bar in bars(options, seed, walwright) {
        writeln!(out, "{bar}")?;
    }
    Ok(())
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["store", "operation", "count", "p50 ms", "p99 ms", "max ms"]).grouped_by(1);
    for row in rows {
        let [p50, p99, max] = [row.p50_ms, row.p99_ms, row.max_ms].map(|ms| format!("{ms:.2}"));
        table.row([row.store.to_owned(), row.operation.to_owned(), row.count.to_string(), p50, p99, max]);
    }
    table
}

/// Each operation without backfills and beside them.
fn beside(stores: &[&Measured]) -> Table {
    let headers = ["store", "operation", "p99 ms", "beside backfills: p99 ms", "count"];
    let mut table = Table::new(&headers).grouped_by(1);
    for store in stores {
        for operation in [Operation::Append, Operation::Backlog, Operation::Search, Operation::Mentions] {
            let of = |figures| Figures::summary(&[figures], operation);
            let cell =
                |summary: Option<Summary>| summary.map_or("-".to_owned(), |of| format!("{:.2}", of.p99_ms));
            let (quiet, busy) = (of(&store.quiet), of(&store.busy));
            let count = busy.map_or(0, |busy| busy.count).to_string();
            table.row([
                store.store.to_owned(),
                operation.as_str().to_owned(),
                cell(quiet),
                cell(busy),
                count,
            ]);
        }
    }
    table
}

/// A figure and its limit.
#[derive(Debug)]
struct Bar {
    name: String,
    figure: f64,
    limit: String,
    /// `None`: it is asked for at another sync delay.
    holds: Option<bool>,
}

impl Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, figure, limit, holds } = self;
        let verdict = match holds {
            Some(true) => "holds".to_owned(),
            Some(false) => "falls short".to_owned(),
            None => format!("asked for at {ASKED_AT_MS} ms a sync"),
        };
        write!(f, "bar: {name}: {figure:.1}: {limit}: {verdict}")
    }
}

fn bars(options: &Options, seed: &Measured, walwright: &Measured) -> Vec<Bar> {
    let asked = |holds: bool| (options.sync_delay_ms() == ASKED_AT_MS).then_some(holds);
    let mut bars = Vec::new();
    let backfill = |of: &Measured| Figures::summary(&[&of.busy], Operation::Backfill).map(|of| of.p50_ms);
    if let (Some(seed), Some(ours)) = (backfill(seed), backfill(walwright)) {
        let figure = seed / ours;
        bars.push(Bar {
            name: format!("backfill of {BACKFILL} durable messages, times faster than the seed"),
            figure,
            limit: format!("at least {LEAST_GAIN:.0}"),
            holds: asked(figure >= LEAST_GAIN),
        });
    }
    for operation in [Operation::Backlog, Operation::Search, Operation::Mentions] {
        let p99 = |figures| Figures::summary(&[figures], operation).map(|of| of.p99_ms);
        if let (Some(quiet), Some(busy)) = (p99(&walwright.quiet), p99(&walwright.busy)) {
            let figure = busy / quiet;
            bars.push(Bar {
                name: format!("{} beside backfills, p99 over that without", operation.as_str()),
                figure,
                limit: format!("at most {GREATEST_GROWTH:.0}"),
                holds: asked(figure <= GREATEST_GROWTH),
            });
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn measured(store: &'static str, backfill_ms: u64, beside_ms: u64) -> Measured {
        let measured = Measured::new(store);
        measured.busy.record(Operation::Backfill, Duration::from_millis(backfill_ms));
        measured.quiet.record(Operation::Backlog, Duration::from_millis(2));
        measured.busy.record(Operation::Backlog, Duration::from_millis(beside_ms));
        measured
    }

    #[test]
    fn bars_hold_or_fall_short() {
        let options = |ms| Options {
            rows: 1,
            time: Duration::ZERO,
            sync_delay: Duration::from_millis(ms),
            dir: None,
            json: false,
        };
        let (seed, ours) = (measured("seed", 1_000, 900), measured("walwright", 20, 5));
        let said: Vec<_> = bars(&options(5), &seed, &ours).iter().map(Bar::to_string).collect();
        assert_eq!(
            said,
            [
                "bar: backfill of 500 durable messages, times faster than the seed: 50.0: at least 50: holds",
                "bar: backlog beside backfills, p99 over that without: 2.5: at most 2: falls short",
            ]
        );
        let elsewhere = bars(&options(0), &seed, &ours);
        assert!(elsewhere.iter().all(|bar| bar.holds.is_none()), "{elsewhere:?}");
    }

    #[test]
    fn a_row_has_the_fields_that_programs_read() {
        let row = &measured("seed", 1, 1).rows()[0];
        let json = serde_json::to_string(row).expect("a row");
        assert_eq!(
            json,
            r#"{"store":"seed","operation":"backfill","count":1,"p50_ms":1.0,"p99_ms":1.0,"max_ms":1.0}"#
        );
    }
}
