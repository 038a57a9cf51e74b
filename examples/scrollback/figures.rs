//! How long operations took.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the daemon does with its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Open,
    Append,
    Backfill,
    Backlog,
    Search,
    Mentions,
}

impl Operation {
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Append, Self::Backfill, Self::Backlog, Self::Search, Self::Mentions];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Append => "append",
            Self::Backfill => "backfill",
            Self::Backlog => "backlog",
            Self::Search => "search",
            Self::Mentions => "mentions",
        }
    }
}

/// What was measured in one part of a run. Clones write into the same.
#[derive(Clone, Default)]
pub struct Figures(Arc<Mutex<Vec<(Operation, Duration)>>>);

/// Some of it, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    pub count: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Figures {
    pub fn record(&self, operation: Operation, took: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((operation, took));
    }

    /// What was measured of an operation, in all of these parts; `None` if nothing was.
    pub fn summary(parts: &[&Self], operation: Operation) -> Option<Summary> {
        let mut all = Vec::new();
        for part in parts {
            let part = part.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(part.iter().filter(|(of, _)| *of == operation).map(|(_, took)| *took));
        }
        all.sort_unstable();
        let at = |share: f64| {
            let place = (share * all.len() as f64).ceil() as usize;
            all.get(place.saturating_sub(1)).map(|took| took.as_micros() as f64 / 1e3)
        };
        Some(Summary { count: all.len(), p50_ms: at(0.5)?, p99_ms: at(0.99)?, max_ms: at(1.0)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_measured() {
        let (one, two) = (Figures::default(), Figures::default());
        for ms in 1..=100 {
            let figures = if ms % 2 == 0 { &one } else { &two };
            figures.record(Operation::Append, Duration::from_millis(ms));
        }
        let all = Figures::summary(&[&one, &two], Operation::Append).expect("a hundred");
        assert_eq!(all, Summary { count: 100, p50_ms: 50.0, p99_ms: 99.0, max_ms: 100.0 });
        assert_eq!(Figures::summary(&[&one], Operation::Search), None);
    }
}
