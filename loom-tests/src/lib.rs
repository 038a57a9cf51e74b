//! Model checks of Walwright's protocol.
//!
//! This package compiles the protocol's own source files, `src/sync.rs` and `src/protocol/`, a second time,
//! over [loom](https://docs.rs/loom)'s mutex and condition variable. loom then runs each model once for every
//! order in which its threads can take their steps. What is checked is what ships: the queue, its fair admission, the
//! answer slot, the deadline's clock and the writer's loop are the crate's own code over one mutex and one
//! condition variable, so there is no stand-in channel that could behave better than the real one.
//!
//! ```text
//! cargo test -p loom-tests                                    # preemption bound 2, also part of --workspace
//! WALWRIGHT_MODEL_BOUND=3 cargo test -p loom-tests --release  # more orders, for a nightly run
//! loom-tests/mutants/run                                      # faults seeded into the protocol must be found
//! ```
//!
//! A bound of 2 means: all orders in which at most two times a thread is interrupted that could have gone on.
//! Within it the search is exhaustive; no model has a limit of time or of runs, and a model that
//! ran in one order only fails (see `explore.rs`). `-- --nocapture` shows the number of orders of each.
//!
//! # What stands in for something else
//!
//! - `model_storage` stands for SQLite: a log with a committed and a synced mark, and a script of faults.
//! - `src/sync.rs` puts loom's primitives in the place of parking_lot's. That parking_lot itself is correct is
//!   not checked here, nor is which of several waiting threads `notify_one` wakes (loom: the one that waited
//!   longest), nor wake-ups without a reason (the callers' parker has them, the condition variables not).
//! - Time stands still. A deadline is either over from the start, and then a thread of the model may
//!   notice that at any moment, or it never comes. A timed wait likewise.
//! - Reference counts are std's: that they are right is std's matter.
//! - A `Responder` that is dropped by unwinding says nothing in a model,
//!   because loom aborts when a destructor uses its objects then. The stress test with real threads and real
//!   panics, `src/protocol/stress.rs`, covers that.
#![cfg(test)]

mod bench;
mod command;
mod explore;
mod judge;
mod model_storage;
mod models;
mod parker;
#[allow(dead_code)]
#[path = "../../src/protocol/mod.rs"]
mod protocol;
#[path = "../../src/sync.rs"]
mod sync;
