//! A figure that was taken several times.

use serde::Serialize;
use std::fmt;

/// The median of several runs, with the least and the greatest.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

impl Spread {
    /// The spread of some figures; of none it is 0.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (Some(least), Some(greatest)) = (figures.first(), figures.last()) else { return Self::default() };
        let middle = figures.len() / 2;
        let median = if figures.len() % 2 == 1 {
            figures[middle]
        } else {
            f64::midpoint(figures[middle - 1], figures[middle])
        };
        Self { median, least: *least, greatest: *greatest }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, least, greatest } = self;
        if least == greatest {
            return f.pad(&format!("{median:.0}"));
        }
        f.pad(&format!("{median:.0} ({least:.0} to {greatest:.0})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of([]).median, 0.0);
    }
}
