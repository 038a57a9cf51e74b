//! Users' statements that come again and again, at hand with what is known of them.
//!
//! The cache of a session costs a search for the statement, another one for its facts, and a copy of each parameter.
//! Here one look finds both, mostly by where a program's text lies, and SQLite reads the parameters in place.

use std::borrow::Cow;

use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::session::{SchemaFacts, Session, SessionError, StatementFacts};
use crate::sync::Arc;

/// Statements that are kept; one more takes the place of the one that was used least lately.
const STATEMENTS: usize = 64;

/// The statements, the one used last at the end. They must be dropped before the connection.
#[derive(Default)]
pub(super) struct StatementShelf {
    /// The schema that the facts belong to.
    schema: Option<Arc<SchemaFacts>>,
    statements: Vec<ShelvedStatement>,
}

/// A statement that changes rows and nothing else, and what it may do.
pub(super) struct ShelvedStatement {
    sql: Cow<'static, str>,
    pub(super) statement: EngineStatement,
    pub(super) facts: StatementFacts,
}

impl StatementShelf {
    /// The statement of this text, if it is here and the schema is still the same.
    pub(super) fn find(
        &mut self,
        session: &Session<'_>,
        sql: &str,
    ) -> Result<Option<&ShelvedStatement>, SessionError> {
        if !self.schema.as_ref().is_some_and(|known| session.has_schema(known)) {
            self.statements.clear();
            self.schema = Some(session.schema()?);
        }
        let is_it = |one: &ShelvedStatement| std::ptr::eq(&*one.sql, sql) || one.sql == sql;
        let Some(at) = self.statements.iter().rposition(is_it) else { return Ok(None) };
        if at + 1 < self.statements.len() {
            self.statements[at..].rotate_left(1);
        }
        Ok(self.statements.last())
    }

    /// Keeps the statement of a text that has run well, if it belongs here.
    pub(super) fn keep(&mut self, session: &Session<'_>, sql: Cow<'static, str>) {
        let Ok((statement, facts)) = session.prepare_for_rows(sql.trim()) else { return };
        if facts.read_only || facts.returns_rows || facts.changes_schema {
            return;
        }
        if self.statements.len() >= STATEMENTS {
            self.statements.remove(0);
        }
        self.statements.push(ShelvedStatement { sql, statement, facts });
    }
}
