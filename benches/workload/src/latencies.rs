//! Latencies, kept as a histogram.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Beyond an hour nobody waits.
const LONGEST_NANOS: u64 = 60 * 60 * 1_000_000_000;
/// Digits that are kept: an error of a thousandth.
const DIGITS: u8 = 3;

/// Latencies of many operations.
#[derive(Clone)]
pub struct Latencies(Histogram<u64>);

/// Some of them, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
}

impl Percentiles {
    pub const HEADERS: [&'static str; 4] = ["p50 ms", "p99 ms", "p99.9 ms", "max ms"];

    /// The cells of a table.
    pub fn cells(this: Option<&Self>) -> [String; 4] {
        let Some(Self { p50_ms, p99_ms, p999_ms, max_ms }) = this else { return ["-"; 4].map(String::from) };
        [p50_ms, p99_ms, p999_ms, max_ms].map(|ms| format!("{ms:.2}"))
    }
}

impl Latencies {
    #[expect(clippy::new_without_default, reason = "it allocates")]
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_NANOS, DIGITS).expect("sound bounds"))
    }

    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(LONGEST_NANOS));
    }

    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("histograms of the same bounds");
    }

    /// How many operations.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency that so many of all operations do not exceed, in milliseconds.
    pub fn percentile(&self, percent: f64) -> f64 {
        milliseconds(self.0.value_at_percentile(percent))
    }

    /// `None`: there is not a single one.
    pub fn percentiles(&self) -> Option<Percentiles> {
        (!self.0.is_empty()).then(|| Percentiles {
            p50_ms: self.percentile(50.0),
            p99_ms: self.percentile(99.0),
            p999_ms: self.percentile(99.9),
            max_ms: milliseconds(self.0.max()),
        })
    }
}

fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
