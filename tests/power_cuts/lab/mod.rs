//! Runs the engine, cuts the power at every sync, and looks at what is left with the engine itself.
//!
//! One *trial* goes like this. A [`Workload`] drives a store through a VFS that records what becomes of its
//! files; everything that was sent, and every answer, leaves a mark in the recording. The same commands are
//! carried out one after the other by a plain SQLite in memory, which gives the states that the database may
//! be found in. Then the explorer rebuilds the disks that power cuts may leave, and each is opened
//! with Walwright and held against what had been promised when the power went.
//!
//! The integration test `power_cuts` and the example `power_loss` share this module.

mod command;
mod content;
mod findings;
mod look;
mod nested;
mod recording;
mod reference;
mod rig;
mod rows;
mod schema;
mod script;
mod timeline;
mod trial;
mod workloads;

pub use findings::Findings;
pub use rig::Device;
pub use trial::{Dose, try_out};
pub use workloads::all;
