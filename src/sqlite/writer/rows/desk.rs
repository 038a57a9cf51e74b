//! What the writer knows of each table that row commands name.

use super::RowFailure;
use super::text::{Form, text_of};
use crate::coalescing::TableFacts;
use crate::row::{ColumnMask, RowValues, TableShape};
use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::schema::{fits_schema, read_facts};
use crate::sqlite::session::{SchemaFacts, Session, SessionError, SessionState, StatementFacts};
use crate::sync::Arc;

/// Tables that are kept; one more takes the place of the one that was used least lately.
const DESKS: usize = 64;
/// Prepared statements that are kept of one table.
const STATEMENTS: usize = 32;

/// The desks of the tables in use, the one used last in front.
///
/// Their statements must be dropped before the connection.
#[derive(Default)]
pub(in crate::sqlite::writer) struct TableDesks {
    desks: Vec<TableDesk>,
}

/// What the writer knows of one table.
pub(in crate::sqlite::writer) struct TableDesk {
    /// As the handle sees it. The same `Arc` as in the handle's commands.
    shape: Arc<TableShape>,
    /// The schema that the rest belongs to.
    schema: Arc<SchemaFacts>,
    /// `None`: the handle's shape does not fit this schema any more.
    facts: Option<TableFacts>,
    /// The one used last in front.
    statements: Vec<RowStatement>,
}

/// A prepared statement of a table.
pub(super) struct RowStatement {
    form: Form,
    columns: Box<[usize]>,
    column_mask: ColumnMask,
    pub(super) statement: EngineStatement,
    pub(super) facts: StatementFacts,
    /// The columns that its rows hold of what the database filled in.
    pub(super) filled: Vec<usize>,
}

impl TableDesks {
    /// The desk of a table, as of the schema that holds now.
    #[inline]
    pub(in crate::sqlite::writer) fn desk(
        &mut self,
        session: &Session<'_>,
        shape: &Arc<TableShape>,
    ) -> Result<&mut TableDesk, RowFailure> {
        // Mostly it is the one used last, and nothing has changed.
        let is_first = |desk: &TableDesk| {
            Arc::ptr_eq(&desk.shape, shape)
                && desk.facts.is_some()
                && session.state().is_known_schema(&desk.schema)
        };
        if self.desks.first().is_some_and(is_first) {
            return Ok(&mut self.desks[0]);
        }
        self.fetch(session, shape)
    }

    fn fetch(
        &mut self,
        session: &Session<'_>,
        shape: &Arc<TableShape>,
    ) -> Result<&mut TableDesk, RowFailure> {
        let schema = session.schema()?;
        let at = match self.place(shape) {
            Some(at) if Arc::ptr_eq(&self.desks[at].schema, &schema) => at,
            other => {
                if let Some(at) = other {
                    self.desks.remove(at);
                }
                self.desks.truncate(DESKS - 1);
                self.desks.push(TableDesk::read(session, Arc::clone(shape), schema)?);
                self.desks.len() - 1
            }
        };
        // In front, where the next command looks first.
        self.desks[..=at].rotate_right(1);
        let desk = &mut self.desks[0];
        if desk.facts.is_none() {
            return Err(RowFailure::SchemaChanged { table: shape.name.clone() });
        }
        Ok(desk)
    }

    /// What is known of a table under the schema that holds now, if anything is.
    pub(in crate::sqlite::writer) fn known_facts(
        &self,
        shape: &Arc<TableShape>,
        state: &SessionState,
    ) -> Option<&TableFacts> {
        let desk = self.desks.get(self.place(shape)?)?;
        desk.facts.as_ref().filter(|_| state.is_known_schema(&desk.schema))
    }

    fn place(&self, shape: &Arc<TableShape>) -> Option<usize> {
        self.desks.iter().position(|desk| Arc::ptr_eq(&desk.shape, shape))
    }
}

impl TableDesk {
    fn read(
        session: &Session<'_>,
        shape: Arc<TableShape>,
        schema: Arc<SchemaFacts>,
    ) -> Result<Self, RowFailure> {
        let facts = session.as_engine(|| {
            let connection = session.connection();
            let facts = fits_schema(connection, &shape)
                .and_then(|fits| fits.then(|| read_facts(connection, &shape)).transpose());
            facts.map_err(SessionError::Sqlite)
        })?;
        Ok(Self { shape, schema, facts, statements: Vec::new() })
    }

    pub(in crate::sqlite::writer) fn shape(&self) -> &Arc<TableShape> {
        &self.shape
    }

    /// Commands on it touch nothing else and fail without a trace.
    pub(in crate::sqlite::writer) fn is_quiet(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.is_quiet)
    }

    /// A failing command needs a savepoint to leave nothing behind.
    pub(in crate::sqlite::writer) fn needs_savepoint(&self) -> bool {
        self.facts.as_ref().is_none_or(|facts| facts.needs_savepoint)
    }

    /// The statement of an insert or update that sets these columns, prepared once, and the shape beside it.
    #[inline]
    pub(super) fn statement_of_row(
        &mut self,
        session: &Session<'_>,
        form: Form,
        set: &RowValues,
    ) -> Result<(&TableShape, &RowStatement), RowFailure> {
        let mask = set.set_columns();
        // Mostly it is the one used last. Columns to set rise, so that a mask has no more to tell.
        let is_first = |one: &RowStatement| mask.is_exact() && one.column_mask == mask && one.form == form;
        if !self.statements.first().is_some_and(is_first) {
            self.statement(session, form, set.set().columns())?;
        }
        Ok((&self.shape, &self.statements[0]))
    }

    /// The statement of a form over these columns, prepared once.
    pub(super) fn statement(
        &mut self,
        session: &Session<'_>,
        form: Form,
        columns: impl Iterator<Item = usize> + Clone,
    ) -> Result<&RowStatement, RowFailure> {
        let same = |one: &RowStatement| one.form == form && one.columns.iter().copied().eq(columns.clone());
        let at = match self.statements.iter().position(same) {
            Some(at) => at,
            None => {
                let columns: Box<[usize]> = columns.collect();
                let text = text_of(&self.shape, form, &columns);
                let (statement, facts) = session.prepare_for_rows(&text.sql)?;
                self.statements.truncate(STATEMENTS - 1);
                let filled = text.filled;
                let column_mask = columns.iter().copied().collect();
                self.statements.push(RowStatement { form, columns, column_mask, statement, facts, filled });
                self.statements.len() - 1
            }
        };
        self.statements[..=at].rotate_right(1);
        Ok(&self.statements[0])
    }
}
