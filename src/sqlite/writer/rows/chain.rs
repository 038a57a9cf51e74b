//! Several commands on one key, carried out as one statement.

use super::desk::TableDesk;
use super::row::{Changes, Row, integer};
use super::text::{Form, GuardForm};
use super::{RowEffect, RowFailure};
use crate::coalescing::{Chain, ChainKind, ChainMember, MemberRole};
use crate::error::Conflict;
use crate::row::{RevisionKind, RowCommand, Value, ValueRef};
use crate::sqlite::session::Session;

/// Carries out the chain whose first command is `head`. The commands of the run have sequences from
/// `first_sequence`.
///
/// Gives what each member is answered, in order. `None`: the statement failed or found no row, and left nothing behind.
/// Then the members have to be carried out one after the other, which finds out what each has to be told. An error:
/// something was left behind.
pub(in crate::sqlite::writer) fn carry_out_chain<'c>(
    desk: &mut TableDesk,
    session: &Session<'_>,
    chain: &'c Chain,
    head: &RowCommand,
    first_sequence: u64,
) -> Result<Option<impl Iterator<Item = Result<RowEffect, RowFailure>> + use<'c>>, RowFailure> {
    let before = session.connection().total_changes();
    let sequence_of = move |command: usize| first_sequence + command as u64;
    let Some(last_change) = chain.last_change() else { return Ok(None) };
    let mut row = Row { desk, session, sequence: sequence_of(last_change) };
    let (key, set) = (head.values.key(), &chain.set);
    let done = match chain.kind {
        ChainKind::Insert => row.insert(false, key, set, chain.changes),
        ChainKind::Upsert => row.upsert(key, set, counted(chain)),
        ChainKind::Update => row.update_once(chain, head),
        ChainKind::Delete => row.delete_once(chain, head),
    };
    let done = match done {
        Ok(done) if done.rows_changed == 1 => done,
        Err(failure) if session.connection().total_changes() != before => return Err(failure),
        _ => return Ok(None),
    };
    let kind = row.desk.shape().revision.map(|revision| revision.kind);
    // What the row's revision was before the first member.
    let base = done.revision.map(|last| last - i64::from(chain.changes));
    let revision_after = move |changes: u32| match kind? {
        RevisionKind::Counter => base.map(|base| base + i64::from(changes)),
        RevisionKind::Sequence => {
            let changed = |member: &&ChainMember| {
                member.role == MemberRole::Change && member.changes_before + 1 == changes
            };
            chain
                .members
                .iter()
                .find(changed)
                .and_then(|member| i64::try_from(sequence_of(member.command)).ok())
        }
    };
    let answers = chain.members.iter().map(move |member| match member.role {
        MemberRole::Change => {
            let is_head = member.changes_before == 0;
            let revision = revision_after(member.changes_before + 1);
            let mut effect = RowEffect { rows_changed: 1, revision, ..RowEffect::default() };
            if is_head && done.created {
                effect.created = true;
                effect.rowid = done.rowid;
                effect.filled.clone_from(&done.filled);
            }
            Ok(effect)
        }
        MemberRole::Delete => Ok(RowEffect { rows_changed: 1, ..RowEffect::default() }),
        MemberRole::Conflict => {
            let revision = revision_after(member.changes_before);
            Err(RowFailure::Conflict(Conflict { exists: true, revision }))
        }
    });
    Ok(Some(answers))
}

/// Carried out only where every revision in between is known: what is done is never done again.
fn counted(chain: &Chain) -> Changes {
    Changes { count: chain.changes, must_count: true }
}

impl Row<'_, '_> {
    fn update_once(&mut self, chain: &Chain, head: &RowCommand) -> Result<RowEffect, RowFailure> {
        let (key, set) = (head.values.key(), &chain.set);
        let rows_changed = self.change(key, set, &head.guard, counted(chain))?;
        if rows_changed != 1 {
            return Ok(RowEffect::default());
        }
        let last_but_one = head.guard.revision.map(|before| before + i64::from(chain.changes) - 1);
        let revision = self.revision_of(key, set, last_but_one)?;
        Ok(RowEffect { rows_changed, revision, ..RowEffect::default() })
    }

    /// Deletes the row, and gives the revision that it would have had after the updates.
    fn delete_once(&mut self, chain: &Chain, head: &RowCommand) -> Result<RowEffect, RowFailure> {
        let kind = self.desk.shape().revision.map(|revision| revision.kind);
        let counts = kind == Some(RevisionKind::Counter);
        let guard = GuardForm {
            revision: head.guard.revision.is_some(),
            column: head.guard.column.as_ref().map(|column| column.0),
            countable: counts,
        };
        let form = Form::Delete { guard, returns_revision: counts };
        let expected = head.guard.revision.map(Value::Integer);
        let held = head.guard.column.as_deref().map(|(_, value)| value);
        let bound = counts.then(|| Value::Integer(i64::MAX - i64::from(chain.changes)));
        let guards = expected.iter().chain(held).chain(&bound).map(ValueRef::from);
        let values = head.values.key().values().chain(guards);
        let delete = self.desk.statement(self.session, form, std::iter::empty())?;
        let mut found = None;
        self.session
            .run_for_rows(&delete.statement, &delete.facts, values, |row| found = integer(row.value(0)))?;
        let rows_changed = self.session.connection().changes();
        let revision = found.map(|before| before + i64::from(chain.changes));
        Ok(RowEffect { rows_changed, revision, ..RowEffect::default() })
    }
}
