//! What a connection carries from one session to the next.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use rusqlite::Connection;

use super::authorizer::Guard;
use super::facts::{SchemaFacts, StatementFacts, schema_version};
use super::row_hook::RowHook;
use super::stop::StopCheck;
use crate::sync::Arc;

/// Prepared statements of users that a connection keeps.
const CACHED_STATEMENTS: usize = 64;
/// Texts up to this many bytes are kept prepared; longer ones are prepared each time, so that the cache is
/// bounded in bytes too.
pub(super) const LONGEST_CACHED_TEXT: usize = 4 * 1024;
/// Texts whose facts are remembered.
const REMEMBERED_TEXTS: usize = 256;

/// The part of sessions that stays with one connection: its authorizer, its stop check, and what is known
/// of the schema and of the statements in rusqlite's cache. That cache is for users' SQL alone: the engine
/// must not call `prepare_cached` on a connection that has this state.
pub struct SessionState {
    pub(super) guard: Arc<Guard>,
    pub(super) stop: StopCheck,
    pub(super) hook: RowHook,
    is_watched: Cell<bool>,
    schema: RefCell<Option<Arc<SchemaFacts>>>,
    remembered: RefCell<HashMap<Arc<str>, StatementFacts>>,
    /// The texts of the statements that closures hold; `None` where one was given back.
    handles: RefCell<Vec<Option<Arc<str>>>>,
    held: Cell<usize>,
    /// Users' SQL changed the schema, and it is not known whether that was rolled back.
    schema_unsure: Cell<bool>,
    /// Users' SQL met a damaged page.
    met_damage: Cell<bool>,
}

impl SessionState {
    /// Prepares a connection for sessions. Call it once, after every setting was made.
    pub fn install(connection: &mut Connection, stop: StopCheck) -> rusqlite::Result<Self> {
        let guard = Guard::install(connection)?;
        stop.install(connection)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        Ok(Self {
            guard,
            stop,
            hook: RowHook::default(),
            is_watched: Cell::new(false),
            schema: RefCell::default(),
            remembered: RefCell::default(),
            handles: RefCell::default(),
            held: Cell::new(0),
            schema_unsure: Cell::new(false),
            met_damage: Cell::new(false),
        })
    }

    /// Says whether somebody watches what is committed, outside of any session. Users' statements are prepared anew
    /// after a change: some are carried out in another way.
    pub fn set_watched(&self, connection: &mut Connection, watched: bool) -> rusqlite::Result<()> {
        self.hook.set(connection, watched)?;
        self.guard.set_watched(watched);
        self.is_watched.set(watched);
        self.hook.clear();
        self.forget_statements(connection);
        Ok(())
    }

    /// Whether somebody watches.
    pub fn is_watched(&self) -> bool {
        self.is_watched.get()
    }

    /// The rows that were changed, while somebody watches.
    pub fn row_hook(&self) -> &RowHook {
        &self.hook
    }

    /// The stop check of the connection. Clone it to give orders from other threads.
    pub fn stop_check(&self) -> &StopCheck {
        &self.stop
    }

    /// Whether users' SQL has met a damaged page since this was last asked, whatever was made of the error.
    ///
    /// SQLite then refuses all that follows in the same transaction, and its COMMIT: it has to be rolled back.
    pub fn take_met_damage(&self) -> bool {
        self.met_damage.take()
    }

    pub(super) fn note_damage(&self) {
        self.met_damage.set(true);
    }

    /// Looks whether the schema is the one that was read last. The writer calls it once in each
    /// transaction, after BEGIN IMMEDIATE: until its end nobody else can change the schema.
    pub fn refresh_schema(&self, connection: &Connection) -> rusqlite::Result<()> {
        let known = self.schema.borrow().as_ref().map(|facts| facts.version);
        // Down only at the end: after an error the doubt stays.
        let stale = self.schema_unsure.get()
            || match known {
                Some(known) => schema_version(connection)? != known,
                None => false,
            };
        if stale {
            self.forget(connection);
        }
        self.schema_facts(connection)?;
        self.schema_unsure.set(false);
        Ok(())
    }

    /// Forgets the schema because it changed, or may have changed back.
    pub(super) fn schema_changed(&self, connection: &Connection) {
        self.schema_unsure.set(true);
        self.forget(connection);
    }

    /// At the begin of a session: a change that an earlier one made may have been rolled back since.
    pub(super) fn settle_schema(&self, connection: &Connection) {
        // The flag stays up: the numbers of versions that were rolled back are used again.
        if self.schema_unsure.get() {
            self.forget(connection);
        }
    }

    fn forget(&self, connection: &Connection) {
        self.schema.replace(None);
        self.forget_statements(connection);
    }

    fn forget_statements(&self, connection: &Connection) {
        self.remembered.borrow_mut().clear();
        // A statement in the cache is not asked about again: it must not outlive what is remembered of it.
        connection.flush_prepared_statement_cache();
    }

    /// Whether this is the schema that was read last, and it cannot have changed since.
    pub fn is_known_schema(&self, schema: &Arc<SchemaFacts>) -> bool {
        let is_same = |known: &Arc<SchemaFacts>| Arc::ptr_eq(known, schema);
        !self.schema_unsure.get() && self.schema.borrow().as_ref().is_some_and(is_same)
    }

    /// Whether the schema was last read as this.
    pub(super) fn has_schema(&self, schema: &Arc<SchemaFacts>) -> bool {
        self.schema.borrow().as_ref().is_some_and(|known| Arc::ptr_eq(known, schema))
    }

    pub(super) fn schema_facts(&self, connection: &Connection) -> rusqlite::Result<Arc<SchemaFacts>> {
        if let Some(facts) = &*self.schema.borrow() {
            return Ok(Arc::clone(facts));
        }
        let users = self.guard.is_users();
        self.guard.set_users(false);
        let read = SchemaFacts::read(connection);
        self.guard.set_users(users);
        let facts = Arc::new(read?);
        self.schema.replace(Some(Arc::clone(&facts)));
        Ok(facts)
    }

    pub(super) fn recall(&self, text: &str) -> Option<(Arc<str>, StatementFacts)> {
        self.remembered.borrow().get_key_value(text).map(|(text, facts)| (Arc::clone(text), facts.clone()))
    }

    pub(super) fn remember(&self, connection: &Connection, text: &Arc<str>, facts: StatementFacts) {
        if text.len() > LONGEST_CACHED_TEXT {
            return;
        }
        if self.remembered.borrow().len() >= REMEMBERED_TEXTS {
            self.forget_statements(connection);
        }
        self.remembered.borrow_mut().insert(Arc::clone(text), facts);
    }

    pub(super) fn take_handle(&self, text: &Arc<str>) -> usize {
        let mut handles = self.handles.borrow_mut();
        self.held.set(self.held.get() + 1);
        let free =
            if self.held.get() <= handles.len() { handles.iter().position(Option::is_none) } else { None };
        match free {
            Some(at) => {
                handles[at] = Some(Arc::clone(text));
                at
            }
            None => {
                handles.push(Some(Arc::clone(text)));
                handles.len() - 1
            }
        }
    }

    pub(super) fn give_back_handle(&self, at: usize) {
        if let Some(handle) = self.handles.borrow_mut().get_mut(at)
            && handle.take().is_some()
        {
            self.held.set(self.held.get().saturating_sub(1));
        }
    }

    /// Whether every statement was given back.
    #[inline]
    pub(super) fn holds_none(&self) -> bool {
        self.held.get() == 0
    }

    /// The texts of statements that were never given back.
    pub(super) fn take_leaked(&self) -> Vec<Arc<str>> {
        self.held.set(0);
        std::mem::take(&mut *self.handles.borrow_mut()).into_iter().flatten().collect()
    }
}
