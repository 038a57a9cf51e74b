//! Each rule by itself, on facts made by hand; and random runs, carried out both ways on SQLite.

mod chains;
mod deletes;
mod guards;
mod keys;
mod random;

use super::{ChainKind, MemberRole, Place, Plan, TableFacts};
use crate::row::{
    Affinity, ColumnShape, Guard, Revision, RevisionKind, RowCommand, RowOp, RowValues, TableShape, Value,
};
use crate::sync::Arc;

/// Places of the columns of the test table.
const X: usize = 1;
const Y: usize = 2;
const NAME: usize = 3;
const REAL: usize = 4;
const ANY: usize = 5;

/// A table and what is known of it: `t (id TEXT PRIMARY KEY, x INT, y TEXT, name TEXT UNIQUE, real REAL, any,
/// rev INTEGER)`.
#[derive(Clone)]
struct Table {
    shape: TableShape,
    facts: TableFacts,
}

impl Table {
    fn new() -> Self {
        let column = |name: &str, declared_type: &str, affinity| ColumnShape {
            name: name.to_owned(),
            declared_type: declared_type.to_owned(),
            affinity,
            not_null: false,
            is_generated: false,
            default: None,
        };
        let columns = vec![
            column("id", "text", Affinity::Text),
            column("x", "int", Affinity::Integer),
            column("y", "text", Affinity::Text),
            column("name", "text", Affinity::Text),
            column("real", "real", Affinity::Real),
            column("any", "", Affinity::Blob),
            column("rev", "integer", Affinity::Integer),
        ];
        let facts = TableFacts {
            is_quiet: true,
            acts_on_itself: false,
            joins: true,
            coalesces: true,
            is_watched: vec![true, false, false, true, false, false, false],
            is_binary: vec![true; columns.len()],
            can_be_omitted: vec![true; columns.len()],
            needs_savepoint: false,
            any_change_may_delete: false,
        };
        let shape = TableShape {
            name: "t".to_owned(),
            columns,
            key: vec![0],
            primary_key: vec![0],
            key_is_rowid: false,
            rowid_column: None,
            rowid_name: Some("rowid"),
            is_strict: false,
            revision: Some(Revision { column: 6, kind: RevisionKind::Counter }),
        };
        Self { shape, facts }
    }

    fn with_sequences() -> Self {
        let mut table = Self::new();
        table.shape.revision = Some(Revision { column: 6, kind: RevisionKind::Sequence });
        table
    }

    /// The handle on the table as it is now.
    fn handle(&self) -> Handle {
        Handle { shape: Arc::new(self.shape.clone()), facts: self.facts.clone() }
    }
}

/// A handle, which makes commands.
#[derive(Clone)]
struct Handle {
    shape: Arc<TableShape>,
    facts: TableFacts,
}

/// A command and the facts of its table.
#[derive(Clone)]
struct Sent {
    command: RowCommand,
    facts: TableFacts,
}

impl Handle {
    fn new() -> Self {
        Table::new().handle()
    }

    fn send<const N: usize>(&self, op: RowOp, key: &str, set: [(usize, Value); N]) -> Sent {
        let key = vec![text(key)];
        let values = row_values(&self.shape, &key, &set);
        let table = self.shape.clone();
        let command = RowCommand { table, op, values, adjust: None, guard: Guard::default() };
        Sent { command, facts: self.facts.clone() }
    }

    fn insert<const N: usize>(&self, key: &str, set: [(usize, Value); N]) -> Sent {
        self.send(RowOp::Insert, key, set)
    }

    fn insert_or_ignore<const N: usize>(&self, key: &str, set: [(usize, Value); N]) -> Sent {
        self.send(RowOp::InsertOrIgnore, key, set)
    }

    fn upsert<const N: usize>(&self, key: &str, set: [(usize, Value); N]) -> Sent {
        self.send(RowOp::Upsert, key, set)
    }

    fn update<const N: usize>(&self, key: &str, set: [(usize, Value); N]) -> Sent {
        self.send(RowOp::Update, key, set)
    }

    fn delete(&self, key: &str) -> Sent {
        self.send(RowOp::Delete, key, [])
    }
}

impl Sent {
    fn if_revision(mut self, revision: i64) -> Self {
        self.command.guard.revision = Some(revision);
        self
    }

    fn only_if(mut self, column: usize, value: impl Into<Value>) -> Self {
        self.command.guard.column = Some(Box::new((column, value.into())));
        self
    }

    fn with_key(mut self, key: Vec<Value>) -> Self {
        let RowCommand { table, values, .. } = &mut self.command;
        *values = row_values(table, &key, &values.set().to_vec());
        self
    }
}

fn row_values(shape: &TableShape, key: &[Value], set: &[(usize, Value)]) -> RowValues {
    let mut values = RowValues::of_key(&shape.key, key);
    values.extend(set.iter().map(|(column, value)| (*column, value.into())));
    values
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn int(value: i64) -> Value {
    Value::Integer(value)
}

/// The commit sequence of the first command of a run.
const FIRST: u64 = 1000;

fn plan(run: &[Sent]) -> Plan {
    let commands: Vec<_> = run.iter().map(|sent| (&sent.command, &sent.facts)).collect();
    let plan = Plan::of(&commands, FIRST);
    check(&plan, run.len());
    plan
}

/// The chains in short: the kind, and the members' numbers with `!` for a conflict and `-` for a delete.
fn chains(run: &[Sent]) -> Vec<String> {
    let describe = |chain: &super::Chain| {
        let members = chain.members.iter().map(|member| match member.role {
            MemberRole::Change => format!(" {}", member.command),
            MemberRole::Conflict => format!(" {}!", member.command),
            MemberRole::Delete => format!(" {}-", member.command),
        });
        format!("{:?}{}", chain.kind, members.collect::<String>())
    };
    plan(run).chains.iter().map(describe).collect()
}

#[track_caller]
fn no_chains(run: &[Sent]) {
    assert_eq!(chains(run), [""; 0]);
}

/// What holds for every plan.
#[track_caller]
fn check(plan: &Plan, commands: usize) {
    assert_eq!(plan.places.len(), commands);
    let mut in_chains = 0;
    for (number, chain) in plan.chains.iter().enumerate() {
        assert!(chain.members.len() >= 2);
        assert!(chain.members.is_sorted_by(|a, b| a.command < b.command));
        assert!(chain.set.set().columns().is_sorted_by(|a, b| a < b));
        let mut changes = 0;
        for (at, member) in chain.members.iter().enumerate() {
            assert_eq!(member.changes_before, changes);
            changes += u32::from(member.role == MemberRole::Change);
            let is_here =
                if chain.kind == ChainKind::Delete { at + 1 == chain.members.len() } else { at == 0 };
            let place = if is_here { Place::Chain(number) } else { Place::Member(number) };
            assert_eq!(plan.places[member.command], place);
            let is_delete = chain.kind == ChainKind::Delete && is_here;
            assert_eq!(member.role == MemberRole::Delete, is_delete);
        }
        assert_eq!(chain.changes, changes);
        assert_eq!(chain.members[0].role, MemberRole::Change);
        in_chains += chain.members.len();
    }
    let alone = plan.places.iter().filter(|place| **place == Place::Alone).count();
    assert_eq!(in_chains + alone, commands);
}
