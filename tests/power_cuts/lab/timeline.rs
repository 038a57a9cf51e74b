//! The states that a database may be found in, and what had been promised when.

use super::recording::{Answer, Mark, Recording};
use super::reference::Reference;
use super::schema::Step;
use std::ops::Range;
use walwright_test_support::vfs::Event;

/// Everything that a power cut is judged by.
pub struct Timeline {
    states: Vec<State>,
    facts: Vec<Fact>,
    /// The migrations of the last opening, with which every image is opened.
    pub steps: &'static [Step],
}

/// One state of the database: what it holds after so many commands.
struct State {
    digest: u64,
    place: usize,
    /// A group ends here; what is in the middle of one is never on disk.
    whole: bool,
    /// The events after which it may be found.
    lives: Range<usize>,
}

/// Something that is so from an event on.
struct Fact {
    event: usize,
    what: What,
}

enum What {
    /// The command at this place was sent.
    Sent(usize),
    /// The command at this place was answered, and so promised.
    Promised { place: usize, deletes: bool },
    /// This sequence was handed out.
    Sequence(u64),
    /// A reader has seen the state at this place right after opening, with so many migrations.
    Opened { place: usize, version: usize },
}

/// What must be there, and what may.
#[derive(Debug, Default)]
pub struct Demands {
    /// At least so many commands.
    floor: usize,
    /// At most so many.
    ceiling: usize,
    /// A higher sequence than this must be handed out next.
    pub sequence: u64,
    /// At least so many migrations.
    pub version: usize,
    promised: Vec<(usize, bool)>,
}

/// What a content means for those who were promised something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Everything that was promised is there.
    Kept,
    /// Some of what was promised is not: writes, deletes, or both.
    Broken { write: bool, delete: bool },
    /// A group is there in part.
    Torn,
    /// It is a later state than anybody can have asked for.
    NeverSent,
    /// It is none of the states.
    Strange,
}

impl Timeline {
    /// # Panics
    /// When what the recorded run itself saw makes no sense.
    pub fn of(recording: &Recording) -> Self {
        Builder::new(recording).build()
    }

    /// What had been promised after so many events.
    pub fn demands(&self, events: usize) -> Demands {
        let mut demands = Demands::default();
        for fact in self.facts.iter().filter(|fact| fact.event < events) {
            match fact.what {
                What::Sent(place) => demands.ceiling = demands.ceiling.max(place),
                What::Promised { place, deletes } => {
                    demands.floor = demands.floor.max(place);
                    demands.promised.push((place, deletes));
                }
                What::Sequence(sequence) => demands.sequence = demands.sequence.max(sequence),
                What::Opened { place, version } => {
                    demands.floor = demands.floor.max(place);
                    demands.version = demands.version.max(version);
                }
            }
        }
        demands
    }

    /// What it means to find this content after so many events.
    pub fn judge(&self, digest: u64, events: usize, demands: &Demands) -> Standing {
        let found =
            || self.states.iter().filter(|state| state.digest == digest && state.lives.contains(&events));
        let whole = || found().filter(|state| state.whole).map(|state| state.place);
        let allowed = demands.floor..=demands.ceiling;
        if whole().any(|place| allowed.contains(&place)) {
            return Standing::Kept;
        }
        if let Some(place) = whole().filter(|place| *place < demands.floor).max() {
            let lost = |kind| demands.promised.iter().any(|(at, deletes)| *at > place && *deletes == kind);
            let (write, delete) = (lost(false), lost(true));
            // Neither: it was seen right after opening, which is a promise, too.
            return Standing::Broken { write: write || !delete, delete };
        }
        if whole().next().is_some() {
            return Standing::NeverSent;
        }
        if found().next().is_some() { Standing::Torn } else { Standing::Strange }
    }
}

/// Carries the commands out once more, in the order of their receipts.
struct Builder<'recording> {
    recording: &'recording Recording,
    steps: &'static [Step],
    reference: Reference,
    states: Vec<State>,
    facts: Vec<Fact>,
    place: usize,
}

impl<'recording> Builder<'recording> {
    fn new(recording: &'recording Recording) -> Self {
        let steps = recording.openings.last().expect("a store that was opened").steps;
        let reference = Reference::new(recording.seed);
        Self { recording, steps, reference, states: Vec::new(), facts: Vec::new(), place: 0 }
    }

    fn build(mut self) -> Timeline {
        self.keep(true);
        for (number, opening) in self.recording.openings.iter().enumerate() {
            let event = self.event_of(Mark::Opened(number)).expect("every opening has its mark");
            if self.reference.digest_with(opening.steps) != opening.digest {
                self.take_back_unknown(number, event);
            }
            self.reference.migrate(opening.steps);
            let version = opening.steps.len();
            self.facts.push(Fact { event, what: What::Opened { place: self.place, version } });
            self.carry_out_commands_after(number);
        }
        Timeline { states: self.states, facts: self.facts, steps: self.steps }
    }

    fn carry_out_commands_after(&mut self, opening: usize) {
        let sent = &self.recording.sent;
        let mut numbers: Vec<usize> =
            (0..sent.len()).filter(|number| sent[*number].opening == opening).collect();
        numbers.retain(|number| !matches!(sent[*number].answer, Answer::Nothing | Answer::None));
        // What is unknown came last: nothing was done after it.
        numbers.sort_by_key(|number| match sent[*number].answer {
            Answer::Done(sequence) => (sequence, 0),
            _ => (u64::MAX, *number),
        });
        for (at, number) in numbers.iter().enumerate() {
            let next = numbers.get(at + 1).map(|next| sent[*next].group);
            self.carry_out(*number, next);
        }
    }

    fn carry_out(&mut self, number: usize, next_group: Option<Option<usize>>) {
        let sent = &self.recording.sent[number];
        let steps = sent.command.steps();
        for (at, step) in steps.iter().enumerate() {
            self.reference.apply(step);
            self.place += 1;
            let is_last = at + 1 == steps.len();
            self.keep(!is_last || sent.group.is_none() || next_group != Some(sent.group));
        }
        let place = self.place;
        if let Some(event) = self.event_of(Mark::Sending(number)) {
            self.facts.push(Fact { event, what: What::Sent(place) });
        }
        if let (Answer::Done(sequence), Some(event)) = (sent.answer, self.event_of(Mark::Answered(number))) {
            self.facts.push(Fact { event, what: What::Sequence(sequence) });
            if sent.command.promises() {
                let deletes = sent.command.deletes;
                self.facts.push(Fact { event, what: What::Promised { place, deletes } });
            }
        }
    }

    /// The group that nobody knew of has turned out not to be there. Until that opening it could have been.
    fn take_back_unknown(&mut self, opening: usize, event: usize) {
        let sent = &self.recording.sent;
        let known =
            |number: &usize| sent[*number].answer == Answer::Unknown && sent[*number].opening + 1 == opening;
        let unknown = (0..sent.len()).filter(known).count();
        assert!(unknown > 0, "opening {opening} shows a state that no command has left");
        let before = self.place - unknown;
        for state in self.states.iter_mut().filter(|state| state.place > before) {
            state.lives.end = event;
        }
        self.place = before;
        self.reference.take_back(unknown);
        let steps = self.recording.openings[opening].steps;
        let digest = self.reference.digest_with(steps);
        assert_eq!(digest, self.recording.openings[opening].digest, "opening {opening} shows neither state");
    }

    fn keep(&mut self, whole: bool) {
        let digest = self.reference.digest_with(self.steps);
        self.states.push(State { digest, place: self.place, whole, lives: 0..usize::MAX });
    }

    fn event_of(&self, mark: Mark) -> Option<usize> {
        let is_it = |event: &Event| matches!(event, Event::Mark(code) if Mark::decode(*code) == mark);
        self.recording.trace.iter().position(is_it)
    }
}
