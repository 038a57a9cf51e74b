//! What the handles of an index and its chore share.

use super::definition::IndexDefinition;
use super::upkeep::{IndexChore, chore_name};
use crate::handle::{Engine, Latch, Store};
use crate::keeper::KeepError;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

/// How building has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuildEnd {
    Ready,
    /// The index was dropped.
    Dropped,
    /// The store has closed. The next one goes on.
    Closed,
}

/// The state of one index.
pub(crate) struct IndexState {
    /// The texts that define it.
    definition: String,
    is_stopped: AtomicBool,
    /// How often somebody has opened it.
    opened: AtomicU64,
    is_ready: AtomicBool,
    ended: Mutex<Arc<Latch<BuildEnd>>>,
}

/// The indexes of a store that the keeper looks after, by name.
#[derive(Default)]
pub(crate) struct SearchIndexes(Mutex<Vec<(String, Arc<IndexState>)>>);

/// An index at some moment.
pub(super) struct OpenedIndex {
    state: Arc<IndexState>,
    opened: u64,
}

impl IndexState {
    fn new(definition: String) -> Self {
        let ended = Mutex::new(Arc::new(Latch::new()));
        Self {
            definition,
            is_stopped: AtomicBool::new(false),
            opened: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
            ended,
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// The latch that tells how building ends.
    pub(super) fn ended(&self) -> Arc<Latch<BuildEnd>> {
        Arc::clone(&self.ended.lock())
    }

    pub(super) fn end(&self, end: BuildEnd) {
        self.is_ready.store(end == BuildEnd::Ready, Ordering::Release);
        self.ended().set(end);
    }

    /// A slice has found all rows in, sent when the index had been opened so many times. If it was opened since, it may
    /// have been emptied behind the slice: the next one tells. Gives the latch of those who wait.
    fn complete(&self, opened: u64) -> Option<Arc<Latch<BuildEnd>>> {
        if self.opened() != opened {
            return None;
        }
        self.is_ready.store(true, Ordering::Release);
        Some(self.ended())
    }

    /// Somebody has opened the index. `is_waiting`: it is empty, or was never complete.
    fn reopen(&self, is_waiting: bool) {
        self.opened.fetch_add(1, Ordering::AcqRel);
        if is_waiting && self.is_ready.swap(false, Ordering::AcqRel) {
            *self.ended.lock() = Arc::new(Latch::new());
        }
    }
}

impl SearchIndexes {
    /// Has the keeper look after an index, unless it does already. `is_waiting`: there are rows to be put in.
    pub(super) fn keep(
        store: &Store,
        index: &Arc<IndexDefinition>,
        is_waiting: bool,
    ) -> Result<Arc<IndexState>, KeepError> {
        let engine = store.engine_handle();
        let definition = definition_text(index);
        let mut indexes = engine.searches.0.lock();
        let known = indexes.iter().position(|(name, _)| name.eq_ignore_ascii_case(&index.name));
        if let Some(at) = known {
            let state = &indexes[at].1;
            if state.definition == definition && !state.is_stopped() {
                state.reopen(is_waiting);
                engine.keeper.wake(&chore_name(&index.name));
                return Ok(Arc::clone(state));
            }
            indexes.swap_remove(at).1.is_stopped.store(true, Ordering::Release);
        }
        let state = Arc::new(IndexState::new(definition));
        if !is_waiting {
            state.end(BuildEnd::Ready);
        }
        let chore = IndexChore::new(Arc::clone(index), Arc::clone(&state), Arc::clone(&engine));
        store.keep(Box::new(chore))?;
        indexes.push((index.name.clone(), Arc::clone(&state)));
        Ok(state)
    }

    /// The chore found that all rows are in.
    pub(super) fn complete(engine: &Engine, state: &IndexState, opened: u64) {
        // It is opened under this lock, and nobody is woken under one.
        let indexes = engine.searches.0.lock();
        let waited_for = state.complete(opened);
        drop(indexes);
        if let Some(latch) = waited_for {
            latch.set(BuildEnd::Ready);
        }
    }

    /// The chore found no such index. Whether that is the end of it: not if somebody has opened it since, which made
    /// it.
    pub(super) fn is_gone(engine: &Engine, state: &IndexState, opened: u64) -> bool {
        // Under the lock: whoever opens it now either is counted or finds it stopped.
        let _indexes = engine.searches.0.lock();
        let is_gone = state.opened() == opened;
        if is_gone {
            state.is_stopped.store(true, Ordering::Release);
        }
        is_gone
    }

    /// The index is about to be emptied, to be built anew.
    pub(super) fn reopen(engine: &Engine, name: &str) {
        // If it is not emptied after all, the chore finds that out.
        if let Some(state) = engine.searches.find(name) {
            state.reopen(true);
        }
        engine.keeper.wake(&chore_name(name));
    }

    /// The index as it is looked after now.
    pub(super) fn opened(engine: &Engine, name: &str) -> Option<OpenedIndex> {
        let state = engine.searches.find(name)?;
        Some(OpenedIndex { opened: state.opened(), state })
    }

    /// The index was dropped when it was this one. If it was opened since, that has made another one, or the chore finds
    /// that there is none.
    pub(super) fn forget(engine: &Engine, name: &str, dropped: Option<OpenedIndex>) {
        let mut indexes = engine.searches.0.lock();
        indexes.retain(|(_, state)| {
            let is_it = dropped.as_ref().is_some_and(|dropped| dropped.is(state));
            if is_it {
                state.is_stopped.store(true, Ordering::Release);
            }
            !is_it
        });
        drop(indexes);
        engine.keeper.wake(&chore_name(name));
    }

    fn find(&self, name: &str) -> Option<Arc<IndexState>> {
        let indexes = self.0.lock();
        let (_, state) = indexes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Arc::clone(state))
    }
}

impl OpenedIndex {
    /// Whether the state is still as it was.
    fn is(&self, state: &Arc<IndexState>) -> bool {
        Arc::ptr_eq(&self.state, state) && self.opened == state.opened()
    }
}

fn definition_text(index: &IndexDefinition) -> String {
    let triggers = index.triggers().map(|trigger| trigger.sql);
    index.index().sql + &triggers.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last slice of an index was answered, and before the keeper heard of it the index was emptied to be built
    /// anew: whoever waited for that was told that it could be searched.
    #[test]
    fn a_slice_from_before_a_rebuild_does_not_make_the_index_ready() {
        let state = IndexState::new(String::new());
        let sent = state.opened();
        state.reopen(true);
        assert!(state.complete(sent).is_none() && !state.is_ready());
        let sent = state.opened();
        assert!(state.complete(sent).is_some() && state.is_ready());
    }
}
