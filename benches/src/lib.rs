//! What the benchmarks of this package share.

pub mod baseline;
pub mod by_hand;
pub mod engine;
pub mod machine;
pub mod options;
pub mod place;
pub mod plot;
pub mod report;
pub mod small_writes;
#[path = "../peers/sqlite.rs"]
pub mod sqlite;

pub use walwright_bench_workload::{AnyError, Result};

// `sqlite` takes the one that its user names.
use walwright::rusqlite;
