//! What the figures come to: how a store scales, and how far apart the stores are.

use crate::load::Load;
use crate::options::StoreName::{self, Baseline, Walwright};
use crate::rows::{DeleteRow, ForwardRow};
use crate::table::Table;

/// What Walwright's design asks for at this delay, between these numbers of connections.
const ASKED_AT_MS: u64 = 5;
const ASKED_FEWEST: usize = 1;
const ASKED_MOST: usize = 64;
const ASKED_GROWTH: f64 = 3.0;
const ASKED_GAIN: f64 = 40.0;

/// The ratios of wall times between the fewest and the most connections at once, and between the stores.
pub fn table(forwards: &[ForwardRow], deletes: &[DeleteRow]) -> Table {
    let mut table = Table::new(&["sync delay", "wall times", "ratio", "asked for"]);
    let mut delays: Vec<u64> = forwards.iter().map(|row| row.sync_delay_ms).collect();
    delays.dedup();
    for delay in delays {
        let forwards = || forwards.iter().filter(|row| row.sync_delay_ms == delay);
        let counts = || forwards().filter_map(|row| together(row.connections));
        let (Some(fewest), Some(most)) = (counts().min(), counts().max()) else { continue };
        let wall = |store: StoreName, count: usize| {
            forwards()
                .find(|row| row.store == store && row.connections == Load::Together(count))
                .map(|row| row.wall_s)
        };
        let deleted = |store| {
            deletes.iter().find(|row| row.sync_delay_ms == delay && row.store == store).map(|row| row.wall_s)
        };
        let asked_here = delay == ASKED_AT_MS && (fewest, most) == (ASKED_FEWEST, ASKED_MOST);
        let mut add = |what: String, numerator: Option<f64>, denominator: Option<f64>, asked: String| {
            if let (Some(numerator), Some(denominator)) = (numerator, denominator) {
                let ratio = format!("{:.1}", numerator / denominator);
                table.row([
                    format!("{delay} ms"),
                    what,
                    ratio,
                    if asked_here { asked } else { String::new() },
                ]);
            }
        };

        if fewest < most {
            for store in [Baseline, Walwright] {
                let asked =
                    if store == Walwright { format!("at most {ASKED_GROWTH}") } else { String::new() };
                let what = format!("{store}: {most} connections / {fewest}");
                add(what, wall(store, most), wall(store, fewest), asked);
            }
        }
        let asked = format!("at least {ASKED_GAIN}");
        add(
            format!("{most} connections: baseline / walwright"),
            wall(Baseline, most),
            wall(Walwright, most),
            asked,
        );
        add("delete: baseline / walwright".to_owned(), deleted(Baseline), deleted(Walwright), String::new());
    }
    table
}

fn together(load: Load) -> Option<usize> {
    match load {
        Load::Together(count) => Some(count),
        Load::Sequential => None,
    }
}
