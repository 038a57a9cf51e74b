//! The sweep: every I/O call of every scene fails, one at a time, once and from then on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use walwright::rusqlite::ffi;
use walwright_test_support::vfs::{FaultPlan, FileKind, Operation};
use walwright_test_support::{FaultVfs, Scratch, watchdog};

use crate::run::Run;
use crate::scene::{SCENES, Scene};
use crate::template::Template;

/// A run that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(60);
/// Positions tried of each kind of fault in each scene; `WALWRIGHT_FAULTS` sets another number, and `all`
/// tries every one. `WALWRIGHT_SCENE` plays only the scenes whose name holds its text.
const POSITIONS: u64 = 5;
/// Runs in which a fault struck that a plain `cargo test` must come to.
const LEAST_RUNS: usize = 600;
/// And for each kind of fault.
const LEAST_RUNS_OF_A_KIND: usize = 8;

/// A way in which a call can fail.
struct Fault {
    name: &'static str,
    plan: fn() -> FaultPlan,
    /// The engine must stop if this strikes while it writes: nobody can tell any more what is durable.
    stops: bool,
    /// A full disk: nothing stops, and all is well when there is room.
    passes: bool,
    /// Whether it is also tried from then on.
    lasts: bool,
}

/// All ways. A read is short only in the WAL: SQLite takes half a page of the database for a page that
/// ends in zeros, and the half of a journal for its end, so a disk that does this damages the file.
const FAULTS: &[Fault] = &[
    fault("read: I/O error", || FaultPlan::fail(Operation::Read)),
    fault("read: short", || FaultPlan::short_read().on(FileKind::Wal)),
    fault("write: I/O error", || FaultPlan::fail(Operation::Write)),
    Fault {
        passes: true,
        ..fault("write: disk full", || FaultPlan::fail(Operation::Write).with_code(ffi::SQLITE_FULL))
    },
    Fault { stops: true, ..fault("sync: I/O error", || FaultPlan::fail(Operation::Sync)) },
    Fault {
        stops: true,
        ..fault("sync: I/O error that drops the pages", FaultPlan::fail_sync_dropping_pages)
    },
    fault("truncate: I/O error", || FaultPlan::fail(Operation::Truncate)),
    fault("lock: I/O error", || FaultPlan::fail(Operation::Lock)),
    fault("lock: busy", || FaultPlan::fail(Operation::Lock).with_code(ffi::SQLITE_BUSY)),
    fault("shared-memory lock: I/O error", || FaultPlan::fail(Operation::SharedMemoryLock)),
    // Not from then on: SQLite tries for ten seconds before it gives up a snapshot, and no program holds
    // these locks for so long.
    Fault {
        lasts: false,
        ..fault("shared-memory lock: busy", || {
            FaultPlan::fail(Operation::SharedMemoryLock).with_code(ffi::SQLITE_BUSY)
        })
    },
    fault("open: refused", || FaultPlan::fail(Operation::Open)),
    fault("delete: I/O error", || FaultPlan::fail(Operation::Delete)),
];

const fn fault(name: &'static str, plan: fn() -> FaultPlan) -> Fault {
    Fault { name, plan, stops: false, passes: false, lasts: true }
}

/// How often the planned call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Times {
    Once,
    FromThenOn,
}

#[test]
fn every_io_call_may_fail() {
    let positions = match std::env::var("WALWRIGHT_FAULTS").as_deref() {
        Ok("all") => u64::MAX,
        Ok(number) => number.parse().expect("WALWRIGHT_FAULTS is a number or `all`"),
        Err(_) => POSITIONS,
    };
    let only = std::env::var("WALWRIGHT_SCENE").unwrap_or_default();
    let began = Instant::now();
    let vfs = FaultVfs::unique("sweep");
    vfs.skip_real_syncs(true);
    let mut struck = BTreeMap::<(&str, Times), usize>::new();
    for scene in SCENES.iter().filter(|scene| scene.name.contains(&only)) {
        let (before, template) = (struck.values().sum::<usize>(), (scene.template)());
        for fault in FAULTS {
            let calls = count(vfs, scene, &template, fault);
            let times = [Times::Once, Times::FromThenOn];
            for times in times.into_iter().filter(|times| fault.lasts || *times == Times::Once) {
                for nth in spread(calls, positions) {
                    let ran = Ran { vfs, scene, template: &template, fault, times, nth };
                    *struck.entry((fault.name, times)).or_default() += usize::from(ran.run());
                }
            }
        }
        let runs = struck.values().sum::<usize>() - before;
        println!("{:>5} runs: {} ({:.1?} so far)", runs, scene.name, began.elapsed());
    }
    for ((fault, times), runs) in &struck {
        println!("{runs:>5} runs: {fault}, {times:?}");
    }
    let total: usize = struck.values().sum();
    println!("{total:>5} runs in all, {:.1?}", began.elapsed());
    if !only.is_empty() {
        return;
    }
    assert!(total >= LEAST_RUNS, "only {total} runs");
    for fault in FAULTS {
        let runs: usize =
            struck.iter().filter(|((name, _), _)| *name == fault.name).map(|(_, runs)| runs).sum();
        assert!(runs >= LEAST_RUNS_OF_A_KIND, "only {runs} runs of {}", fault.name);
    }
}

/// How many calls of a scene a fault could strike.
fn count(vfs: &'static FaultVfs, scene: &Scene, template: &Template, fault: &Fault) -> u64 {
    let ran = Ran { vfs, scene, template, fault, times: Times::Once, nth: u64::MAX };
    assert!(!ran.run());
    vfs.matched()
}

/// Up to `most` of the numbers from 1 to `calls`, the first and the last among them.
fn spread(calls: u64, most: u64) -> Vec<u64> {
    if calls <= most {
        return (1..=calls).collect();
    }
    let mut all: Vec<u64> = (0..most).map(|at| 1 + at * (calls - 1) / (most - 1).max(1)).collect();
    all.dedup();
    all
}

/// One run, so that whatever panics can be told which it was.
#[derive(Clone, Copy)]
struct Ran<'a> {
    vfs: &'static FaultVfs,
    scene: &'a Scene,
    template: &'a Template,
    fault: &'a Fault,
    times: Times,
    nth: u64,
}

impl Ran<'_> {
    /// Plays the scene and compares. Gives whether the fault struck.
    fn run(self) -> bool {
        let (vfs, prepare, play) = (self.vfs, self.scene.prepare, self.scene.play);
        let (stops, passes) = (self.fault.stops, self.fault.passes);
        let folder = Scratch::new();
        let mut run = Run::new(vfs, self.template.copy_to(folder.path()), self.template.rows());
        let plan = (self.fault.plan)().nth(self.nth);
        let plan = if self.times == Times::Once { plan } else { plan.from_then_on() };
        let images = folder.subdirectory("after");
        let told = Told(self);
        let struck = watchdog(LIMIT, move || {
            prepare(&mut run);
            let was_open = run.store().is_some();
            vfs.arm(plan);
            play(&mut run);
            let struck = vfs.fired() > 0;
            if run.store().is_some() {
                assert!(!(passes && run.has_failed()), "a full disk stopped the store");
                // Opening and closing sync as well; they answer for themselves.
                let must_stop = struck && stops && was_open && run.has_never_closed();
                assert!(!must_stop || run.has_failed(), "a sync failed, and the store goes on");
            }
            run.conclude(&images);
            struck
        });
        drop(told);
        struck
    }
}

/// Says which run it was, if it panics.
struct Told<'a>(Ran<'a>);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Ran { scene, fault, times, nth, .. } = self.0;
            eprintln!("in the scene `{}`: {}, call {nth}, {times:?}", scene.name, fault.name);
        }
    }
}
