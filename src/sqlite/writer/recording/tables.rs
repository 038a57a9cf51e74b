//! What the recorder knows of tables.

use std::collections::{HashMap, HashSet};

use crate::sqlite::schema::{TableKind, TableStorage, read_kind, trigger_replaces};
use crate::sqlite::session::{SchemaFacts, Session};
use crate::sync::Arc;

/// The kinds of tables, as of one schema.
#[derive(Default)]
pub(super) struct Tables {
    schema: Option<Arc<SchemaFacts>>,
    kinds: HashMap<Arc<str>, TableKind>,
    /// Each name once, to be shared by all changes of its table.
    names: HashSet<Arc<str>>,
    /// Triggers that were asked about, and whether each says REPLACE.
    triggers: HashMap<String, bool>,
}

impl Tables {
    /// The name, shared.
    pub(super) fn name(&mut self, table: &str) -> Arc<str> {
        if let Some(name) = self.names.get(table) {
            return name.clone();
        }
        let name: Arc<str> = Arc::from(table);
        self.names.insert(name.clone());
        name
    }

    /// Forgets what another schema said. Gives the names of tables that are there in only one of the two.
    pub(super) fn follow(&mut self, session: &Session<'_>) -> Vec<String> {
        let Ok(schema) = session.schema() else {
            *self = Self::default();
            return Vec::new();
        };
        let before = match &self.schema {
            Some(before) if Arc::ptr_eq(before, &schema) => return Vec::new(),
            other => other.clone(),
        };
        *self = Self { schema: Some(schema.clone()), ..Self::default() };
        let Some(before) = before else { return Vec::new() };
        let in_one = |one: &SchemaFacts, other: &SchemaFacts| {
            let names = one.tables.iter().filter(|name| !other.tables.contains(name));
            names.cloned().collect::<Vec<_>>()
        };
        let mut names = in_one(&before, &schema);
        names.extend(in_one(&schema, &before));
        names
    }

    /// The kind of a table. One that cannot be read counts as gone: then it is only told that it has changed.
    pub(super) fn kind(&mut self, session: &Session<'_>, table: &Arc<str>) -> &TableKind {
        self.kinds.entry(table.clone()).or_insert_with(|| {
            let read = session.as_engine(|| read_kind(session.connection(), table));
            read.unwrap_or(TableKind { storage: TableStorage::Gone, replaces: true })
        })
    }

    /// Whether a trigger says REPLACE. It counts for the triggers that it sets off, too.
    pub(super) fn replaces(&mut self, session: &Session<'_>, trigger: &str) -> bool {
        if let Some(replaces) = self.triggers.get(trigger) {
            return *replaces;
        }
        let read = session.as_engine(|| trigger_replaces(session.connection(), trigger));
        let replaces = read.unwrap_or(true);
        self.triggers.insert(trigger.to_owned(), replaces);
        replaces
    }
}
