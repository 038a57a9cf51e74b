//! Which of the pending changes survive: the choices that are tried at one cut.

use crate::rng::Rng;
use crate::vfs::{Change, Fate, Pending};

/// The unit in which a device writes: a write can be torn between two of them.
const SECTOR: u64 = 512;

/// So many changes are tried in every combination.
const EXHAUSTIVE: usize = 6;

/// So many further combinations are drawn when there are more changes than that.
const DRAWN: usize = 64;

/// What a power cut does to the changes that were pending. Positions count the changes in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All are lost.
    Nothing,
    /// All are kept.
    Everything,
    /// Those are kept whose bit is set.
    Subset(u64),
    /// The first so many are kept.
    Prefix(usize),
    /// Only this one is kept.
    Alone(usize),
    /// Only this one is lost.
    AllBut(usize),
    /// Each is kept or lost, as the seed says.
    Drawn(u64),
    /// One write is torn; the changes before it are kept, those after it lost.
    TornAfterPrefix(usize, Fate),
    /// One write is torn; all other changes are kept.
    TornAmongAll(usize, Fate),
}

impl Choice {
    /// The choices for these changes, the two extremes first, the others in an order that `rng` draws.
    pub(super) fn all(changes: &[&Pending<'_>], rng: &mut Rng) -> Vec<Self> {
        if changes.is_empty() {
            return vec![Self::Nothing];
        }
        let count = changes.len();
        let mut choices = Vec::new();
        if count <= EXHAUSTIVE {
            choices.extend((1..(1 << count) - 1).map(Self::Subset));
        } else {
            choices.extend((1..count).map(Self::Prefix));
            choices.extend((0..count).map(Self::Alone));
            // The last one is a prefix.
            choices.extend((0..count - 1).map(Self::AllBut));
            choices.extend((0..DRAWN).map(|_| Self::Drawn(rng.next())));
        }
        for (position, change) in changes.iter().enumerate() {
            for fate in tears(change) {
                choices.push(Self::TornAfterPrefix(position, fate));
                choices.push(Self::TornAmongAll(position, fate));
            }
        }
        rng.shuffle(&mut choices);
        choices.splice(0..0, [Self::Nothing, Self::Everything]);
        choices
    }

    /// The fate of each of `count` changes.
    pub(super) fn fates(&self, count: usize) -> Vec<Fate> {
        let keep = |kept: &dyn Fn(usize) -> bool| {
            let fate = |position| if kept(position) { Fate::Kept } else { Fate::Lost };
            (0..count).map(fate).collect::<Vec<_>>()
        };
        let torn = |mut fates: Vec<Fate>, position: usize, fate| {
            fates[position] = fate;
            fates
        };
        match *self {
            Self::Nothing => keep(&|_| false),
            Self::Everything => keep(&|_| true),
            Self::Subset(bits) => keep(&|position| bits >> position & 1 == 1),
            Self::Prefix(length) => keep(&|position| position < length),
            Self::Alone(one) => keep(&|position| position == one),
            Self::AllBut(one) => keep(&|position| position != one),
            Self::Drawn(seed) => {
                let mut rng = Rng::new(seed);
                (0..count).map(|_| if rng.once_in(2) { Fate::Kept } else { Fate::Lost }).collect()
            }
            Self::TornAfterPrefix(one, fate) => torn(keep(&|position| position < one), one, fate),
            Self::TornAmongAll(one, fate) => torn(keep(&|_| true), one, fate),
        }
    }
}

/// The ways to tear a change: a write that lies in more than one sector keeps some at its head or tail.
fn tears(change: &Pending<'_>) -> Vec<Fate> {
    let Change::Write { offset, data } = change.change else { return Vec::new() };
    let first = (SECTOR - offset % SECTOR) as usize;
    let cuts = (first..data.len()).step_by(SECTOR as usize);
    cuts.flat_map(|cut| [Fate::Head(cut), Fate::Tail(cut)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(event: usize, offset: u64, data: &[u8]) -> Pending<'_> {
        let change = Change::Write { offset, data };
        Pending { event, path: Path::new("/db"), change, dropped: false }
    }

    #[test]
    fn few_changes_are_tried_in_every_combination() {
        let changes: Vec<_> = (0..3).map(|event| write(event, 0, b"x")).collect();
        let choices = Choice::all(&changes.iter().collect::<Vec<_>>(), &mut Rng::new(1));
        let mut fates: Vec<_> = choices.iter().map(|choice| format!("{:?}", choice.fates(3))).collect();
        fates.sort_unstable();
        fates.dedup();
        assert_eq!(fates.len(), 8);
    }

    #[test]
    fn a_write_is_torn_between_the_sectors_of_the_file() {
        let data = [0; 1100];
        let fates = tears(&write(0, 500, &data));
        let heads: Vec<_> = fates.iter().filter(|fate| matches!(fate, Fate::Head(_))).collect();
        assert_eq!(heads, [&Fate::Head(12), &Fate::Head(524), &Fate::Head(1036)]);
        assert_eq!(fates.len(), 6);
        assert!(tears(&write(0, 512, &data[..512])).is_empty());
    }

    #[test]
    fn many_changes_are_lost_and_kept_one_by_one() {
        let changes: Vec<_> = (0..20).map(|event| write(event, 0, b"x")).collect();
        let choices = Choice::all(&changes.iter().collect::<Vec<_>>(), &mut Rng::new(1));
        for expected in [Choice::Prefix(7), Choice::Alone(19), Choice::AllBut(0)] {
            assert!(choices.contains(&expected), "{expected:?}");
        }
        assert_eq!(choices, Choice::all(&changes.iter().collect::<Vec<_>>(), &mut Rng::new(1)));
        assert_ne!(choices, Choice::all(&changes.iter().collect::<Vec<_>>(), &mut Rng::new(2)));
    }
}
