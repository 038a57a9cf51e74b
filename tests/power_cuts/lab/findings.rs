//! What was counted and found.

use std::ops::AddAssign;

/// How many different disks were looked at, and what was wrong with them.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Disks that were opened.
    pub states: u64,
    /// Those on which something was missing that had been promised: an answered write, or what a reader had
    /// seen right after opening.
    pub lost_acks: u64,
    /// Those on which an answered delete was undone.
    pub resurrected_deletes: u64,
    /// Those that were damaged, torn, strange, out of order, or of no use to the engine.
    pub integrity_failures: u64,
    /// Those of them on which a commit sequence would have been used twice.
    pub repeated_sequences: u64,
    /// The first few, in words.
    pub details: Vec<String>,
}

/// So many findings are told in words.
const TOLD: usize = 8;

impl Findings {
    /// Whether nothing was found.
    pub fn are_none(&self) -> bool {
        self.lost_acks + self.resurrected_deletes + self.integrity_failures == 0
    }

    pub fn tell(&mut self, detail: impl FnOnce() -> String) {
        if self.details.len() < TOLD {
            self.details.push(detail());
        }
    }
}

impl AddAssign<&Self> for Findings {
    fn add_assign(&mut self, other: &Self) {
        self.states += other.states;
        self.lost_acks += other.lost_acks;
        self.resurrected_deletes += other.resurrected_deletes;
        self.integrity_failures += other.integrity_failures;
        self.repeated_sequences += other.repeated_sequences;
        let room = TOLD.saturating_sub(self.details.len());
        self.details.extend(other.details.iter().take(room).cloned());
    }
}
