//! What the figures come to: how a store scales, and how far apart the stores are.

use crate::load::Load;
use crate::options::StoreName::{self, Baseline, Pipelined, Walwright};
use crate::rows::{DeleteRow, ForwardRow};
use crate::table::Table;

/// What Walwright's design asks for, at this sync delay and between these numbers of connections.
const ASKED_AT_MS: u64 = 5;
const ASKED_BETWEEN: (usize, usize) = (1, 64);
const ASKED_GROWTH: &str = "at most 3";
const ASKED_GAIN: &str = "at least 40";

/// The ratios of times at every delay. A ratio whose halves were not both measured is left out.
pub fn table(forwards: &[ForwardRow], deletes: &[DeleteRow]) -> Table {
    let mut delays: Vec<u64> = forwards.iter().map(|row| row.sync_delay_ms).collect();
    delays.sort_unstable();
    delays.dedup();

    let mut table = Table::new(&["sync delay", "", "ratio", "asked for"]).grouped_by(1);
    for delay in delays {
        let times = Times { delay, forwards, deletes };
        for Ratio { what, value, asked } in times.ratios() {
            if let Some(value) = value {
                table.row([format!("{delay} ms"), what, format!("{value:.1}"), asked.to_owned()]);
            }
        }
    }
    table
}

struct Ratio {
    what: String,
    value: Option<f64>,
    asked: &'static str,
}

/// The times at one delay.
struct Times<'rows> {
    delay: u64,
    forwards: &'rows [ForwardRow],
    deletes: &'rows [DeleteRow],
}

impl Times<'_> {
    fn ratios(&self) -> Vec<Ratio> {
        let (fewest, most) = self.fewest_and_most();
        let asked_here = self.delay == ASKED_AT_MS && (fewest, most) == ASKED_BETWEEN;
        let asked = |what: &'static str| if asked_here { what } else { "" };

        let growth = |store, time: fn(&ForwardRow) -> f64| {
            let of = |connections| self.forward(store, connections).map(time);
            quotient(of(most), of(fewest)).filter(|_| fewest < most)
        };
        let mut ratios = Vec::new();
        let growths = [(Baseline, ""), (Walwright, asked(ASKED_GROWTH)), (Pipelined, asked(ASKED_GROWTH))];
        for (store, limit) in growths {
            let what = format!("{store}, {most} connections / {fewest}: wall");
            ratios.push(Ratio { what, value: growth(store, |row| row.wall_s), asked: limit });
            let what = format!("{store}, {most} connections / {fewest}: last response");
            ratios.push(Ratio { what, value: growth(store, |row| row.responses_s), asked: "" });
        }

        let gain = |store, time: fn(&ForwardRow) -> f64| {
            let of = |store| self.forward(store, most).map(time);
            quotient(of(Baseline), of(store))
        };
        for store in [Walwright, Pipelined] {
            let what = format!("baseline / {store}, {most} connections: wall");
            ratios.push(Ratio { what, value: gain(store, |row| row.wall_s), asked: asked(ASKED_GAIN) });
            let what = format!("baseline / {store}, {most} connections: last response");
            ratios.push(Ratio { what, value: gain(store, |row| row.responses_s), asked: "" });
            let what = format!("baseline / {store}, delete: wall");
            let value = quotient(self.delete(Baseline), self.delete(store));
            ratios.push(Ratio { what, value, asked: "" });
        }
        ratios
    }

    fn fewest_and_most(&self) -> (usize, usize) {
        let counts = || {
            self.forwards.iter().filter_map(|row| match row.connections {
                Load::Together(count) => Some(count),
                Load::Sequential => None,
            })
        };
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }

    fn forward(&self, store: StoreName, connections: usize) -> Option<&ForwardRow> {
        let wanted = (store, self.delay, Load::Together(connections));
        self.forwards.iter().find(|row| (row.store, row.sync_delay_ms, row.connections) == wanted)
    }

    fn delete(&self, store: StoreName) -> Option<f64> {
        let wanted = (store, self.delay);
        self.deletes.iter().find(|row| (row.store, row.sync_delay_ms) == wanted).map(|row| row.wall_s)
    }
}

fn quotient(numerator: Option<f64>, denominator: Option<f64>) -> Option<f64> {
    Some(numerator? / denominator?)
}
