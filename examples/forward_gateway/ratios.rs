//! What the figures come to: how a store scales, and how far apart the stores are.

use crate::load::Load;
use crate::options::StoreName::{self, Baseline, Walwright};
use crate::rows::{DeleteRow, ForwardRow};
use crate::table::Table;

/// What Walwright's design asks for, at this sync delay and between these numbers of connections.
const ASKED_AT_MS: u64 = 5;
const ASKED_BETWEEN: (usize, usize) = (1, 64);
const ASKED_GROWTH: &str = "at most 3";
const ASKED_GAIN: &str = "at least 40";

/// The ratios of wall times at every delay. A ratio whose halves were not both measured is left out.
pub fn table(forwards: &[ForwardRow], deletes: &[DeleteRow]) -> Table {
    let mut delays: Vec<u64> = forwards.iter().map(|row| row.sync_delay_ms).collect();
    delays.sort_unstable();
    delays.dedup();

    let mut table = Table::new(&["sync delay", "wall times", "ratio", "asked for"]);
    for delay in delays {
        let walls = Walls { delay, forwards, deletes };
        for (what, ratio, asked) in walls.ratios() {
            if let Some(ratio) = ratio {
                table.row([format!("{delay} ms"), what, format!("{ratio:.1}"), asked.to_owned()]);
            }
        }
    }
    table
}

/// The wall times at one delay.
struct Walls<'rows> {
    delay: u64,
    forwards: &'rows [ForwardRow],
    deletes: &'rows [DeleteRow],
}

type Ratio = (String, Option<f64>, &'static str);

impl Walls<'_> {
    fn ratios(&self) -> Vec<Ratio> {
        let (fewest, most) = self.fewest_and_most();
        let asked_here = self.delay == ASKED_AT_MS && (fewest, most) == ASKED_BETWEEN;
        let asked = |what: &'static str| if asked_here { what } else { "" };
        let growth = |store| {
            let ratio = quotient(self.forward(store, most), self.forward(store, fewest));
            (format!("{store}: {most} connections / {fewest}"), ratio.filter(|_| fewest < most))
        };
        let (baseline, baseline_growth) = growth(Baseline);
        let (walwright, walwright_growth) = growth(Walwright);
        let gain = quotient(self.forward(Baseline, most), self.forward(Walwright, most));
        let delete_gain = quotient(self.delete(Baseline), self.delete(Walwright));
        vec![
            (baseline, baseline_growth, ""),
            (walwright, walwright_growth, asked(ASKED_GROWTH)),
            (format!("{most} connections: baseline / walwright"), gain, asked(ASKED_GAIN)),
            ("delete: baseline / walwright".to_owned(), delete_gain, ""),
        ]
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

    fn forward(&self, store: StoreName, connections: usize) -> Option<f64> {
        let load = Load::Together(connections);
        let wanted =
            |row: &&ForwardRow| (row.store, row.sync_delay_ms, row.connections) == (store, self.delay, load);
        self.forwards.iter().find(wanted).map(|row| row.wall_s)
    }

    fn delete(&self, store: StoreName) -> Option<f64> {
        let wanted = |row: &&DeleteRow| (row.store, row.sync_delay_ms) == (store, self.delay);
        self.deletes.iter().find(wanted).map(|row| row.wall_s)
    }
}

fn quotient(numerator: Option<f64>, denominator: Option<f64>) -> Option<f64> {
    Some(numerator? / denominator?)
}
