//! Power cuts: whatever the disk holds afterwards, the store opens, is whole, and keeps its promises.
//!
//! `examples/power_loss` tries the same with more seeds and more disks.

mod lab;

use lab::{Device, Dose, Findings, all, try_out};

/// What one run of `cargo test` tries of each workload: about 10,000 disks in all.
const DOSE: Dose = Dose { images: 680, second_cut_every: 80 };

/// A dose that is enough to see that promises are broken.
const TASTE: Dose = Dose { images: 200, second_cut_every: 1_000 };

/// One test for each workload, so that they share the processors.
macro_rules! keeps_its_promises {
    ($($test:ident: $workload:literal,)*) => {
        $(#[test]
        fn $test() {
            let findings = findings($workload, Device::Honest, DOSE);
            println!("{}: {} disks", $workload, findings.states);
            assert!(findings.are_none(), "{findings:#?}");
            assert!(findings.states * 4 > DOSE.images as u64 * 3, "only {} disks", findings.states);
        })*

        #[test]
        fn no_workload_is_left_out() {
            let names: Vec<_> = all().iter().map(|workload| workload.name).collect();
            assert_eq!(names, [$($workload),*]);
        }
    };
}

keeps_its_promises! {
    mixed_levels: "mixed levels",
    closures_and_batches: "closures and batches",
    row_commands: "row commands",
    work_in_pieces: "work in pieces",
    empty_deletes: "empty deletes",
    cascades_and_triggers: "cascades and triggers",
    checkpoints: "checkpoints",
    pinned_readers: "pinned readers",
    conversion: "conversion",
    hot_journal: "hot journal",
    migrations: "migrations",
    reopening: "reopening",
    failed_wal_sync: "failed WAL sync",
    failed_checkpoint: "failed checkpoint",
    concurrent_clients: "concurrent clients",
}

/// The explorer sees: on a device that only says that it has flushed, every promise is broken.
#[test]
fn a_device_that_lies_about_its_flush_is_seen() {
    let lost = findings("mixed levels", Device::Lying, TASTE);
    assert!(lost.lost_acks > 0, "{lost:#?}");
    let undone = findings("empty deletes", Device::Lying, TASTE);
    assert!(undone.resurrected_deletes > 0, "{undone:#?}");
    let damaged = findings("checkpoints", Device::Lying, TASTE);
    assert!(damaged.integrity_failures > 0, "{damaged:#?}");
    let repeated = findings("reopening", Device::Lying, TASTE);
    assert!(repeated.repeated_sequences > 0, "{repeated:#?}");
}

fn findings(name: &str, device: Device, dose: Dose) -> Findings {
    let workload = all().iter().find(|workload| workload.name == name);
    try_out(workload.expect("a workload of that name"), device, 1, dose)
}
