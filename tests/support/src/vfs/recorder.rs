//! Takes down what happens, in the order in which it happens.

use super::FileKind;
use super::base::Base;
use super::trace::{DatabaseCreation, Event, FileId};
use crate::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The recording of one VFS, and the files that it knows by name.
#[derive(Default)]
pub(super) struct Recorder {
    /// Shared by calls that change a file's content, exclusive for what changes names and for the
    /// start of a recording: a file is taken down before or after a write, never in its middle.
    order: RwLock<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The file that has a name now.
    names: BTreeMap<PathBuf, FileId>,
    /// The open ones, and how often each is open.
    open: BTreeMap<FileId, Open>,
    next: u64,
    recording: Option<Recording>,
    /// How many recordings there have been.
    recordings: u64,
}

struct Open {
    path: PathBuf,
    kind: FileKind,
    handles: usize,
}

struct Recording {
    creation: DatabaseCreation,
    events: Vec<Event>,
    /// The files whose content at the start is taken down.
    met: BTreeSet<FileId>,
}

/// The moment at which a sync began.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    recording: u64,
    events: usize,
}

/// Names do not change, and recordings do not start, while this lives.
pub(super) type Changing<'recorder> = RwLockReadGuard<'recorder, ()>;

/// Nothing else happens while this lives.
pub(super) type Alone<'recorder> = RwLockWriteGuard<'recorder, ()>;

impl Recorder {
    /// To be held while a file's content is changed and the change is taken down.
    pub(super) fn changing(&self) -> Changing<'_> {
        self.order.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be held while names are made or removed and that is taken down.
    pub(super) fn alone(&self) -> Alone<'_> {
        self.order.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn start(&self, creation: DatabaseCreation, base: &Base) {
        let _alone = self.alone();
        let state = &mut *lock(&self.state);
        state.recordings += 1;
        let recording =
            state.recording.insert(Recording { creation, events: Vec::new(), met: BTreeSet::new() });
        for (id, open) in &state.open {
            recording.meet(*id, &open.path, open.kind, base);
        }
    }

    /// Ends the recording and returns it.
    pub(super) fn stop(&self) -> Vec<Event> {
        lock(&self.state).recording.take().map_or_else(Vec::new, |recording| recording.events)
    }

    /// The recording so far.
    pub(super) fn events(&self) -> Vec<Event> {
        lock(&self.state).recording.as_ref().map_or_else(Vec::new, |recording| recording.events.clone())
    }

    /// Calls `read` with the recording so far.
    pub(super) fn with_events<T>(&self, read: impl FnOnce(&[Event]) -> T) -> T {
        let state = lock(&self.state);
        read(state.recording.as_ref().map_or(&[], |recording| &recording.events))
    }

    /// Takes down what `event` returns, if anything is recorded.
    pub(super) fn record(&self, event: impl FnOnce() -> Event) {
        if let Some(recording) = &mut lock(&self.state).recording {
            recording.events.push(event());
        }
    }

    /// Now, for a sync that begins. What is changed after this is not covered by it.
    pub(super) fn begin_sync(&self) -> Begun {
        let state = lock(&self.state);
        let events = state.recording.as_ref().map_or(0, |recording| recording.events.len());
        Begun { recording: state.recordings, events }
    }

    /// Takes down what `events` returns for the number of events that the sync covers, unless the
    /// recording is another one than at its beginning.
    pub(super) fn end_sync<const N: usize>(&self, begun: Begun, events: impl FnOnce(usize) -> [Event; N]) {
        let state = &mut *lock(&self.state);
        if let Some(recording) = state.recording.as_mut().filter(|_| state.recordings == begun.recording) {
            recording.events.extend(events(begun.events));
        }
    }

    /// A file was opened under [`Recorder::alone`]; `existed` says whether it was there before.
    pub(super) fn opened(&self, path: &Path, kind: FileKind, existed: bool, base: &Base) -> FileId {
        let state = &mut *lock(&self.state);
        let known = state.names.get(path).copied().filter(|_| existed);
        let id = known.unwrap_or_else(|| {
            state.next += 1;
            state.names.insert(path.to_owned(), FileId(state.next));
            FileId(state.next)
        });
        let handle = || Open { path: path.to_owned(), kind, handles: 0 };
        state.open.entry(id).or_insert_with(handle).handles += 1;
        if let Some(recording) = &mut state.recording {
            if existed {
                recording.meet(id, path, kind, base);
            } else {
                let durable = kind == FileKind::Database && recording.creation == DatabaseCreation::AtOnce;
                recording.met.insert(id);
                recording.events.push(Event::Create { file: id, path: path.to_owned(), durable });
            }
        }
        id
    }

    pub(super) fn closed(&self, id: FileId) {
        let state = &mut *lock(&self.state);
        if let Some(open) = state.open.get_mut(&id) {
            open.handles -= 1;
            if open.handles == 0 {
                state.open.remove(&id);
            }
        }
    }

    /// A file is about to be deleted under [`Recorder::alone`].
    pub(super) fn deleting(&self, path: &Path, kind: FileKind, base: &Base) {
        let state = &mut *lock(&self.state);
        let Some(recording) = &mut state.recording else {
            return;
        };
        let id = *state.names.entry(path.to_owned()).or_insert_with(|| {
            state.next += 1;
            FileId(state.next)
        });
        recording.meet(id, path, kind, base);
    }

    /// A file was deleted under [`Recorder::alone`].
    pub(super) fn deleted(&self, path: &Path, durable: bool) {
        let state = &mut *lock(&self.state);
        state.names.remove(path);
        if let Some(recording) = &mut state.recording {
            recording.events.push(Event::Delete { path: path.to_owned(), durable });
        }
    }
}

impl Recording {
    /// Takes down what is in a file that was there before the recording saw it.
    fn meet(&mut self, file: FileId, path: &Path, kind: FileKind, base: &Base) {
        if !self.met.contains(&file)
            && let Some(content) = base.read_file(path, kind)
        {
            self.met.insert(file);
            self.events.push(Event::Found { file, path: path.to_owned(), content: content.into() });
        }
    }
}
