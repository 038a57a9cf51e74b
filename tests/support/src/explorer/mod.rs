//! The disks that a power cut may leave, chosen from a recorded trace.
//!
//! A cut is tried at every moment at which something becomes durable, and at the end: just before a sync
//! takes effect the most is undecided, so that what could be left at any other moment could be left at one
//! of these, too. Which of the pending changes survive is a [`Choice`]: every combination when there
//! are few, else prefixes, each alone, all but one, and some that are drawn; and each write torn between
//! its sectors. Changes that a failed sync has dropped are lost in one half of the choices and undecided
//! in the other.
//!
//! The choices of one cut are far more than can be tried of a long trace, so there is a budget. It is spread
//! evenly over the cuts; what a cut does not use goes to those that follow. The seed decides what is
//! tried, so that the same trace, budget and seed give the same images.

mod choice;

pub use choice::Choice;

use crate::rng::Rng;
use crate::vfs::{Disk, Event, Fate, Image, Pending};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many choices are tried for each new image that a cut may find.
const TRIES: usize = 4;

/// An exploration of one trace.
#[derive(Clone, Copy, Debug)]
pub struct Explorer<'trace> {
    trace: &'trace [Event],
    budget: usize,
    seed: u64,
}

/// One disk that a power cut may leave.
#[derive(Debug)]
pub struct Wreck {
    /// So many events of the trace had happened; the next one had not taken effect.
    pub events: usize,
    /// What became of the changes that were pending.
    pub choice: Choice,
    /// Whether the dropped pages of failed syncs were among the changes that the choice is about. If
    /// not they are lost.
    pub dropped_too: bool,
    /// What is on the disk. The same content has the same number.
    pub number: u64,
    /// The files, if no earlier wreck had the same content.
    pub image: Option<Image>,
}

impl<'trace> Explorer<'trace> {
    /// Tries up to `budget` different images of `trace`.
    pub fn new(trace: &'trace [Event], budget: usize, seed: u64) -> Self {
        Self { trace, budget, seed }
    }

    /// How many cuts there are.
    pub fn cuts(&self) -> usize {
        self.trace.iter().filter(|event| settles(event)).count() + 1
    }

    /// Calls `visit` with one wreck after the other, in the order of the cuts.
    ///
    /// A content that was there before comes again without its image: what had been promised by then may
    /// be more than at the earlier cut.
    pub fn explore(&self, mut visit: impl FnMut(Wreck)) {
        let mut disk = Disk::default();
        let mut seen = HashSet::new();
        let mut rng = Rng::new(self.seed);
        let mut cuts = self.cuts();
        let mut budget = self.budget;
        for events in 0..=self.trace.len() {
            let next = self.trace.get(events);
            if next.is_none_or(settles) {
                budget -= cut(&disk, events, budget.div_ceil(cuts), &mut seen, &mut rng, &mut visit);
                cuts -= 1;
            }
            if let Some(event) = next {
                disk.apply(event);
            }
        }
    }
}

/// Whether something becomes durable by the event.
fn settles(event: &Event) -> bool {
    match event {
        Event::Sync { .. } | Event::SyncDirectory { .. } => true,
        Event::Delete { durable, .. } => *durable,
        _ => false,
    }
}

/// Tries choices at one cut until `quota` new images were found. Gives how many were.
fn cut(
    disk: &Disk,
    events: usize,
    quota: usize,
    seen: &mut HashSet<u64>,
    rng: &mut Rng,
    visit: &mut impl FnMut(Wreck),
) -> usize {
    let pending = disk.pending();
    let living: Vec<&Pending<'_>> = pending.iter().filter(|change| !change.dropped).collect();
    let mut choices: Vec<_> = Choice::all(&living, rng).into_iter().map(|choice| (choice, false)).collect();
    if living.len() < pending.len() {
        let all: Vec<&Pending<'_>> = pending.iter().collect();
        let with_dropped = Choice::all(&all, rng).into_iter().map(|choice| (choice, true));
        choices = interleave(choices, with_dropped.collect());
    }
    // Of changes that are overwritten, most choices leave the same.
    choices.truncate(quota * TRIES);
    let mut found = 0;
    for (choice, dropped_too) in choices {
        if found == quota {
            break;
        }
        let chosen = |change: &&Pending<'_>| dropped_too || !change.dropped;
        let changes: Vec<usize> = pending.iter().filter(chosen).map(|change| change.event).collect();
        let fates = choice.fates(changes.len());
        let image = disk.image_with_fates(&|change| {
            changes.binary_search(&change.event).map_or(Fate::Lost, |position| fates[position])
        });
        let number = number_of(&image);
        let is_new = seen.insert(number);
        found += usize::from(is_new);
        visit(Wreck { events, choice, dropped_too, number, image: is_new.then_some(image) });
    }
    found
}

fn interleave<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    loop {
        let pair = [first.next(), second.next()];
        if pair.iter().all(Option::is_none) {
            return all;
        }
        all.extend(pair.into_iter().flatten());
    }
}

fn number_of(image: &Image) -> u64 {
    let mut hasher = DefaultHasher::new();
    image.files().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::{FileId, SyncEffect};
    use std::collections::BTreeSet;

    const FILE: FileId = FileId::for_tests(1);

    fn found(content: &[u8]) -> Event {
        Event::Found { file: FILE, path: "/dir/db".into(), content: content.into() }
    }

    fn write(offset: u64, data: &[u8]) -> Event {
        Event::Write { file: FILE, offset, data: data.into() }
    }

    fn sync(covers: usize) -> Event {
        Event::Sync { file: FILE, covers, effect: SyncEffect::Durable }
    }

    fn contents(trace: &[Event], budget: usize, seed: u64) -> Vec<(usize, Option<Vec<u8>>)> {
        let mut contents = Vec::new();
        Explorer::new(trace, budget, seed).explore(|wreck| {
            let content = |image: Image| image.get("/dir/db").unwrap_or_default().to_vec();
            contents.push((wreck.events, wreck.image.map(content)));
        });
        contents
    }

    #[test]
    fn every_combination_of_two_writes_is_left_and_nothing_else() {
        let trace = [found(b".."), write(0, b"a"), write(1, b"b"), sync(3)];
        let images: BTreeSet<_> = contents(&trace, 100, 1)
            .into_iter()
            .filter_map(|(events, content)| Some((events, content?)))
            .collect();
        let at_the_sync = [b"..", b".b", b"a.", b"ab"].map(|content| (3, content.to_vec()));
        // What the sync has made durable is no new image at the end.
        assert_eq!(images, BTreeSet::from(at_the_sync));
    }

    #[test]
    fn a_content_comes_again_without_its_image() {
        let trace = [found(b".."), write(0, b"a"), sync(2), write(1, b"b")];
        let at_the_end: Vec<_> =
            contents(&trace, 100, 1).into_iter().filter(|(events, _)| *events == 4).collect();
        assert_eq!(at_the_end, [(4, None), (4, Some(b"ab".to_vec()))]);
    }

    #[test]
    fn the_budget_is_spread_over_the_cuts_and_kept() {
        let mut trace = vec![found(&[0; 64])];
        for round in 0..10 {
            trace.extend((0..10).map(|at| write(at * 6, &[round + 1, at as u8])));
            trace.push(sync(trace.len()));
        }
        trace.extend((0..10).map(|at| write(at * 6, b"at the end")));
        let images: Vec<_> =
            contents(&trace, 55, 3).into_iter().filter(|(_, content)| content.is_some()).collect();
        assert_eq!(images.len(), 55);
        let cuts: BTreeSet<_> = images.iter().map(|(events, _)| events).collect();
        assert!(cuts.len() >= 10, "{cuts:?}");
        assert_eq!(contents(&trace, 55, 3), contents(&trace, 55, 3));
        assert_ne!(contents(&trace, 55, 3), contents(&trace, 55, 4));
    }

    #[test]
    fn dropped_pages_are_lost_and_undecided() {
        let dropped = Event::Sync { file: FILE, covers: 2, effect: SyncEffect::DroppedPages };
        let trace = [found(b".."), write(0, b"a"), dropped, write(1, b"b"), sync(4)];
        let last: BTreeSet<_> =
            contents(&trace, 100, 1).into_iter().filter_map(|(_, content)| content).collect();
        assert_eq!(last, BTreeSet::from([b"..", b".b", b"a.", b"ab"].map(|content| content.to_vec())));
    }
}
