//! The handle: what programs call, and the requests on their way to the engine's threads.

mod batch;
mod blocking;
mod builder;
mod changes;
mod close;
mod engine;
mod latch;
mod open;
mod packed;
pub(crate) mod params;
mod process;
mod read;
mod receipt;
pub(crate) mod rows;
mod stats;
mod store;
mod threads;
mod write;

pub(crate) use blocking::{MustNotWait, block_on, may_wait};
pub(crate) use engine::Engine;
pub(crate) use latch::Latch;
pub(crate) use process::Process;
pub(crate) use write::{may_wait_for_write, settle};

pub use batch::Batch;
pub use builder::StoreBuilder;
pub use changes::ChangeStream;
pub use close::{Close, CloseFuture};
pub use open::{Open, OpenFuture};
pub use params::{IntoParams, InvalidValue, Params};
pub use read::{Read, ReadFuture};
pub use receipt::{Applied, Receipt};
pub use rows::{ColumnIndex, ResultRow, ResultRows};
pub use stats::{Stats, StoreState};
pub use store::Store;
pub use write::{Pending, Submit, Write, WriteFuture};
