//! A figure and the limit that it has to keep.

use serde::Serialize;
use serde::ser::SerializeStruct;
use std::fmt;

/// Which side of the limit is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    AtMost,
    AtLeast,
}

/// A figure and the limit that it has to keep.
///
/// ```
/// use walwright_bench_workload::Bar;
///
/// let bar = Bar::at_most("one client", 1.5, 1.25);
/// assert_eq!(bar.to_string(), "bar: one client: 1.50: at most 1.25: falls short");
/// ```
#[derive(Clone, Debug)]
pub struct Bar {
    name: String,
    figure: f64,
    side: Side,
    limit: f64,
}

impl Bar {
    /// A figure that is better the smaller it is.
    pub fn at_most(name: impl Into<String>, figure: f64, limit: f64) -> Self {
        Self { name: name.into(), figure, side: Side::AtMost, limit }
    }

    /// A figure that is better the larger it is.
    pub fn at_least(name: impl Into<String>, figure: f64, limit: f64) -> Self {
        Self { name: name.into(), figure, side: Side::AtLeast, limit }
    }

    /// Whether the figure keeps the limit. One that is not a number does not.
    pub fn holds(&self) -> bool {
        match self.side {
            Side::AtMost => self.figure <= self.limit,
            Side::AtLeast => self.figure >= self.limit,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::AtMost => "at most",
            Side::AtLeast => "at least",
        };
        let verdict = if self.holds() { "holds" } else { "falls short" };
        write!(f, "bar: {}: {:.2}: {side} {}: {verdict}", self.name, self.figure, self.limit)
    }
}

impl Serialize for Bar {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bar = serializer.serialize_struct("Bar", 4)?;
        bar.serialize_field("bar", &self.name)?;
        bar.serialize_field("figure", &self.figure)?;
        bar.serialize_field("limit", &self.limit)?;
        bar.serialize_field("holds", &self.holds())?;
        bar.end()
    }
}
