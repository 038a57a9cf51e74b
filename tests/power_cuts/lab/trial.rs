//! One trial: a workload is recorded, its power cuts are explored, and each disk is judged.

use super::findings::Findings;
use super::look::{Bench, Look};
use super::nested;
use super::rig::{Device, Rig};
use super::timeline::{Demands, Standing, Timeline};
use super::workloads::Workload;
use std::collections::HashMap;
use walwright_test_support::vfs::Image;
use walwright_test_support::{Explorer, FaultVfs, Rng};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Dose {
    /// So many different disks, at most, beside those of second cuts.
    pub images: usize,
    /// After one disk in so many the power goes a second time.
    pub second_cut_every: usize,
}

/// Records the workload and explores its power cuts.
///
/// # Panics
/// When the recorded run itself does not go as it should.
pub fn try_out(workload: &Workload, device: Device, seed: u64, dose: Dose) -> Findings {
    let mut rig = Rig::new(device);
    (workload.run)(&mut rig, &mut Rng::new(seed));
    let recording = rig.finish();
    let timeline = Timeline::of(&recording);
    let mut trial = Trial::new(workload, &timeline, seed, dose);
    Explorer::new(&recording.trace, dose.images, seed).explore(|wreck| {
        let words = || {
            format!("cut after {} events, {:?}, dropped {}", wreck.events, wreck.choice, wreck.dropped_too)
        };
        trial.visit(wreck.events, wreck.number, wreck.image.as_ref(), words);
    });
    trial.findings
}

struct Trial<'a> {
    workload: &'a Workload,
    timeline: &'a Timeline,
    seed: u64,
    dose: Dose,
    bench: Bench,
    second_vfs: &'static FaultVfs,
    /// What was found on each disk, and whether it was reported.
    looks: HashMap<u64, (Look, bool)>,
    demands: (usize, Demands),
    findings: Findings,
}

impl<'a> Trial<'a> {
    fn new(workload: &'a Workload, timeline: &'a Timeline, seed: u64, dose: Dose) -> Self {
        Self {
            workload,
            timeline,
            seed,
            dose,
            bench: Bench::new(),
            second_vfs: FaultVfs::unique("second-cut"),
            looks: HashMap::new(),
            demands: (0, timeline.demands(0)),
            findings: Findings::default(),
        }
    }

    /// Judges one disk. One that was looked at before is judged anew: more may have been promised since.
    fn visit(&mut self, events: usize, number: u64, image: Option<&Image>, words: impl Fn() -> String) {
        if self.demands.0 != events {
            self.demands = (events, self.timeline.demands(events));
        }
        if let Some(image) = image {
            let look = self.bench.look(image, self.timeline.steps);
            self.looks.insert(number, (look, false));
            self.findings.states += 1;
        }
        let Some((look, reported)) = self.looks.get(&number).cloned() else { return };
        if !reported && self.report(&look, Allowed::ByTimeline(events), 0, 0, &words) {
            self.looks.insert(number, (look, true));
        } else if let Some(image) = image
            && self.findings.states.is_multiple_of(self.dose.second_cut_every as u64)
        {
            self.cut_again(events, image, words);
        }
    }

    fn cut_again(&mut self, events: usize, image: &Image, words: impl Fn() -> String) {
        let steps = self.timeline.steps;
        for second in nested::explore(self.second_vfs, &self.bench, image, steps, self.seed) {
            self.findings.states += 1;
            let allowed = second.allowed.map_or(Allowed::ByTimeline(events), Allowed::These);
            let version = if second.opened { steps.len() } else { 0 };
            let words = || format!("{}, then {}", words(), second.words);
            self.report(&second.look, allowed, second.sequence, version, &words);
        }
    }

    /// Counts what is wrong with a disk. Gives whether anything is.
    fn report(
        &mut self,
        look: &Look,
        allowed: Allowed,
        sequence: u64,
        version: usize,
        words: &impl Fn() -> String,
    ) -> bool {
        let (demands, findings) = (&self.demands.1, &mut self.findings);
        let mut wrong = look.complaints.clone();
        if wrong.is_empty() {
            let standing = match allowed {
                Allowed::ByTimeline(events) => self.timeline.judge(look.digest, events, demands),
                Allowed::These(digests) if digests.contains(&look.digest) => Standing::Kept,
                Allowed::These(_) => Standing::Broken { write: true, delete: false },
            };
            match standing {
                Standing::Kept => {}
                Standing::Broken { write, delete } => {
                    findings.lost_acks += u64::from(write);
                    findings.resurrected_deletes += u64::from(delete);
                    findings.tell(|| format!("{}: {}: {standing:?}", self.workload.name, words()));
                    return true;
                }
                Standing::Torn | Standing::NeverSent | Standing::Strange => {
                    wrong.push(format!("{standing:?}"))
                }
            }
            if look.version < demands.version.max(version) {
                wrong.push(format!("only {} migrations are there", look.version));
            }
            if look.sequence <= demands.sequence.max(sequence) {
                findings.repeated_sequences += 1;
                wrong.push(format!("sequence {} is handed out again", look.sequence));
            }
        }
        if wrong.is_empty() {
            return false;
        }
        findings.integrity_failures += 1;
        findings.tell(|| format!("{}: {}: {}", self.workload.name, words(), wrong.join("; ")));
        true
    }
}

/// The contents that a disk may have.
enum Allowed {
    /// Those that the first cut, after so many events, may leave.
    ByTimeline(usize),
    /// One of these.
    These(Vec<u64>),
}
