//! What Walwright's tests, examples and its power-loss explorer share. Not published.
//!
//! - [`vfs`]: a SQLite VFS that counts, delays, holds, fails and records I/O, and that can say what
//!   a power cut would have left on the disk.
//! - [`explorer`]: the disks that power cuts may leave, chosen from a recording.
//! - [`probe`]: a look at a database file from outside the engine.
//! - [`disk`]: which filesystem a path is on, and how long a sync takes there.
//! - [`gate`], [`watchdog()`]: tests that wait for an event instead of sleeping, and never hang.
//! - [`rng`]: seeded numbers.
//! - [`scratch`]: a temporary directory on a real filesystem.
//!
//! Everything here is for tests: broken preconditions panic.
#![warn(missing_docs)]

pub mod disk;
pub mod explorer;
mod fingerprint;
pub mod gate;
pub mod probe;
pub mod rng;
pub mod scratch;
pub mod vfs;
mod watchdog;

pub use explorer::Explorer;
pub use fingerprint::fingerprint;
pub use gate::Gate;
pub use probe::Probe;
pub use rng::Rng;
pub use scratch::Scratch;
pub use vfs::FaultVfs;
pub use watchdog::watchdog;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long anything in this package waits for another thread before it panics.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Locks `mutex` also when a panicking test has poisoned it: what it guards is then still whole,
/// and a second panic would only hide the first.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
