//! What the store does while the power goes.

mod checkpoints;
mod concurrent;
mod conversion;
mod deletes;
mod failed_syncs;
mod migrations;
mod mixed;
mod reopening;
mod rows;

use super::rig::Rig;
use walwright_test_support::Rng;

/// One way to use a store.
pub struct Workload {
    pub name: &'static str,
    /// Drives the rig; the same seed does the same.
    pub run: fn(&mut Rig, &mut Rng),
}

/// All workloads.
pub fn all() -> &'static [Workload] {
    &[
        Workload { name: "mixed levels", run: mixed::mixed_levels },
        Workload { name: "closures and batches", run: mixed::closures_and_batches },
        Workload { name: "row commands", run: rows::row_commands },
        Workload { name: "work in pieces", run: rows::pieces },
        Workload { name: "empty deletes", run: deletes::empty },
        Workload { name: "cascades and triggers", run: deletes::cascades },
        Workload { name: "checkpoints", run: checkpoints::small_logs },
        Workload { name: "pinned readers", run: checkpoints::pinned },
        Workload { name: "conversion", run: conversion::clean },
        Workload { name: "hot journal", run: conversion::hot_journal },
        Workload { name: "migrations", run: migrations::run },
        Workload { name: "reopening", run: reopening::run },
        Workload { name: "failed WAL sync", run: failed_syncs::of_the_wal },
        Workload { name: "failed checkpoint", run: failed_syncs::of_the_database },
        Workload { name: "concurrent clients", run: concurrent::run },
    ]
}
