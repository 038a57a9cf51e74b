//! What every benchmark has in common, whichever store it measures: the rows that are written, the SQL that
//! writes them, the loads, and the figures. Peers pin SQLites of their own, so nothing here may link one.

mod bar;
mod closed_loop;
mod latencies;
mod open_loop;
pub mod peer;
mod session;
mod spread;
mod subject;

pub use bar::Bar;
pub use closed_loop::{ClosedLoop, Done};
pub use latencies::{Latencies, Percentiles};
pub use open_loop::{Arrived, OpenLoop};
pub use session::{INSERT, REVOKE, SCHEMA, Session, TABLE};
pub use spread::Spread;
pub use subject::{Pattern, Subject};

/// Whatever went wrong, to be shown to a person.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;
/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, AnyError>;
