//! Power cuts: whatever the disk holds afterwards, the store opens, is whole, and keeps its promises.

mod lab;

use lab::{Device, Dose, Findings, Workload, all, try_out};
use std::time::Instant;

/// What one run of `cargo test` tries of each workload: about 10,000 disks in all.
const DOSE: Dose = Dose { images: 700, second_cut_every: 80 };

#[test]
fn every_disk_that_a_power_cut_may_leave_keeps_the_promises() {
    let mut all_findings = Findings::default();
    for workload in all() {
        let begun = Instant::now();
        let findings = try_out(workload, Device::Honest, 1, DOSE);
        println!("{:<24} {:>6} disks in {:.1?}", workload.name, findings.states, begun.elapsed());
        all_findings += &findings;
    }
    println!("{} disks", all_findings.states);
    assert!(all_findings.are_none(), "{all_findings:#?}");
}

/// The explorer sees: on a device that only says that it has flushed, every promise is broken.
#[test]
fn a_device_that_lies_about_its_flush_is_seen() {
    let dose = Dose { images: 200, second_cut_every: 1_000 };
    let seen = |name: &str| {
        let named = |workload: &&Workload| workload.name == name;
        try_out(all().iter().find(named).expect("a workload of that name"), Device::Lying, 1, dose)
    };
    let findings = seen("mixed levels");
    assert!(findings.lost_acks > 0, "{findings:#?}");
    let findings = seen("empty deletes");
    assert!(findings.resurrected_deletes > 0, "{findings:#?}");
    let findings = seen("checkpoints");
    assert!(findings.integrity_failures > 0, "{findings:#?}");
}
