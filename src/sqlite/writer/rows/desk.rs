//! What the writer knows of each table that row commands name.

use std::collections::HashMap;

use super::RowFailure;
use super::text::{Form, text_of};
use crate::coalescing::TableFacts;
use crate::row::{ColumnMask, RowValues, TableShape};
use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::schema::{fits_schema, read_facts};
use crate::sqlite::session::{SchemaFacts, Session, SessionError, SessionState, StatementFacts};
use crate::sync::Arc;

/// Tables that are kept; one more takes the place of the one that was used least lately. To read a table's facts anew
/// takes as long as many changes of its rows.
const DESKS: usize = if cfg!(test) { 120 } else { 1024 };
/// Prepared statements that are kept of all tables: with more, tables that were not used lately lose theirs. Those of
/// one table may come on top.
const STATEMENTS: usize = if cfg!(test) { 200 } else { 1024 };
/// Prepared statements that are kept of one table.
const STATEMENTS_OF_ONE: usize = 32;

/// The desks of the tables in use.
///
/// Their statements must be dropped before the connection.
#[derive(Default)]
pub(in crate::sqlite::writer) struct TableDesks {
    desks: Vec<TableDesk>,
    /// The desk of each table, by where its shape lies in memory.
    places: HashMap<usize, usize>,
    /// The one used last.
    last: usize,
    /// Raised with each change of the table.
    time: u64,
    /// The statements of all desks, as they were when each was left last.
    statements: usize,
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
    /// When it was used last.
    used: u64,
    /// So many of its statements are counted among all.
    counted: usize,
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
        let is_same = |desk: &TableDesk| {
            Arc::ptr_eq(&desk.shape, shape)
                && desk.facts.is_some()
                && session.state().is_known_schema(&desk.schema)
        };
        if !self.desks.get(self.last).is_some_and(is_same) {
            self.last = self.fetch(session, shape)?;
        }
        Ok(&mut self.desks[self.last])
    }

    /// The place of the desk of another table than the last one, or of a new desk.
    fn fetch(&mut self, session: &Session<'_>, shape: &Arc<TableShape>) -> Result<usize, RowFailure> {
        self.leave_last();
        let schema = session.schema()?;
        let known = self.place(shape);
        let at = match known {
            Some(at) if Arc::ptr_eq(&self.desks[at].schema, &schema) => at,
            _ => {
                let desk = TableDesk::read(session, Arc::clone(shape), schema)?;
                self.put(desk, known)
            }
        };
        self.time += 1;
        self.desks[at].used = self.time;
        if self.desks[at].facts.is_none() {
            return Err(RowFailure::SchemaChanged { table: shape.name.clone() });
        }
        Ok(at)
    }

    /// Counts what the last table was prepared for, and makes room if that is too much.
    fn leave_last(&mut self) {
        if let Some(last) = self.desks.get_mut(self.last) {
            self.statements += last.statements.len();
            self.statements -= std::mem::replace(&mut last.counted, last.statements.len());
        }
        while self.statements > STATEMENTS {
            let filled = self.desks.iter_mut().filter(|desk| desk.counted > 0);
            let Some(oldest) = filled.min_by_key(|desk| desk.used) else { return };
            oldest.statements.clear();
            self.statements -= std::mem::take(&mut oldest.counted);
        }
    }

    /// Puts a desk at the place of an older one, or behind the others. Gives its place.
    fn put(&mut self, desk: TableDesk, known: Option<usize>) -> usize {
        let oldest = || (0..self.desks.len()).min_by_key(|at| self.desks[*at].used);
        let at = match known {
            None if self.desks.len() >= DESKS => oldest(),
            known => known,
        };
        let key = address(&desk.shape);
        let at = match at {
            Some(at) => {
                let before = std::mem::replace(&mut self.desks[at], desk);
                self.statements -= before.counted;
                self.places.remove(&address(&before.shape));
                at
            }
            None => {
                self.desks.push(desk);
                self.desks.len() - 1
            }
        };
        self.places.insert(key, at);
        at
    }

    /// What is known of a table under the schema that holds now, if anything is.
    pub(in crate::sqlite::writer) fn known_facts(
        &self,
        shape: &Arc<TableShape>,
        state: &SessionState,
    ) -> Option<&TableFacts> {
        let at = match self.desks.get(self.last) {
            Some(desk) if Arc::ptr_eq(&desk.shape, shape) => self.last,
            _ => self.place(shape)?,
        };
        let desk = &self.desks[at];
        if state.is_known_schema(&desk.schema) { desk.facts.as_ref() } else { None }
    }

    fn place(&self, shape: &Arc<TableShape>) -> Option<usize> {
        self.places.get(&address(shape)).copied()
    }
}

/// What tells a table's handle from others: a desk keeps its shape, so that nothing else comes to lie there.
fn address(shape: &Arc<TableShape>) -> usize {
    Arc::as_ptr(shape).addr()
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
        Ok(Self { shape, schema, facts, statements: Vec::new(), used: 0, counted: 0 })
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
                self.statements.truncate(STATEMENTS_OF_ONE - 1);
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

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::sqlite::schema::read_shape;
    use crate::sqlite::session::StopCheck;

    const INSERT: Form = Form::Insert { with_key: true, or_ignore: false };

    struct Bench {
        connection: Connection,
        state: SessionState,
        shapes: Vec<Arc<TableShape>>,
        desks: TableDesks,
    }

    impl Bench {
        fn with_tables(count: usize) -> Self {
            let mut connection = Connection::open_in_memory().unwrap();
            for number in 0..count {
                let create = format!("CREATE TABLE t{number} (id INTEGER PRIMARY KEY, n)");
                connection.execute_batch(&create).unwrap();
            }
            let shape = |number| read_shape(&connection, &format!("t{number}"), None, None).unwrap();
            let shapes = (0..count).map(shape).map(Arc::new).collect();
            let state = SessionState::install(&mut connection, StopCheck::new()).unwrap();
            state.refresh_schema(&connection).unwrap();
            Self { connection, state, shapes, desks: TableDesks::default() }
        }

        /// Asks for two statements of a table. Gives how many were there.
        fn visit(&mut self, table: usize) -> usize {
            let session = Session::new(&self.connection, &self.state);
            let desk = self.desks.desk(&session, &self.shapes[table]).ok().unwrap();
            assert_eq!(desk.shape.name, format!("t{table}"));
            let before = desk.statements.len();
            for form in [INSERT, Form::Columns] {
                assert!(desk.statement(&session, form, [1].into_iter()).is_ok());
            }
            before
        }

        fn visit_all(&mut self) -> usize {
            (0..self.shapes.len()).map(|table| self.visit(table)).sum()
        }

        fn prepared(&self) -> usize {
            self.desks.desks.iter().map(|desk| desk.statements.len()).sum()
        }
    }

    /// A store whose clients go round more tables than are kept reads the facts of each anew for each change: from the
    /// 65th table on it wrote a twelfth of what it had written.
    #[test]
    fn many_tables_keep_their_statements() {
        let mut bench = Bench::with_tables(STATEMENTS / 2);
        assert_eq!(bench.visit_all(), 0);
        assert_eq!(bench.visit_all(), STATEMENTS);
        assert_eq!(bench.prepared(), STATEMENTS);
    }

    #[test]
    fn statements_of_all_tables_are_bounded_and_those_used_least_lately_go() {
        let tables = STATEMENTS / 2 + 10;
        let mut bench = Bench::with_tables(tables);
        bench.visit_all();
        // Those of the last table are counted when it is left.
        bench.visit(tables - 2);
        assert!((STATEMENTS - 2..=STATEMENTS).contains(&bench.prepared()), "{}", bench.prepared());
        assert_eq!(bench.desks.statements, bench.prepared());
        let kept: Vec<_> = [0, 9, 10, tables - 1].map(|table| bench.visit(table)).into();
        assert_eq!(kept, [0, 0, 0, 2], "each of the first took the next one's place");
        assert_eq!(bench.desks.desks.len(), tables, "what is known of them stays");
    }

    #[test]
    fn tables_are_bounded_and_the_one_used_least_lately_goes() {
        let mut bench = Bench::with_tables(4);
        let again = |shape: &Arc<TableShape>| Arc::new(TableShape::clone(shape));
        bench.visit(0);
        // A handle that is opened anew has a shape of its own.
        for number in 0..DESKS + 10 {
            bench.visit(1);
            bench.shapes[2] = again(&bench.shapes[2]);
            bench.visit(2);
            assert_eq!(bench.desks.desks.len(), (number + 3).min(DESKS));
        }
        assert_eq!(bench.desks.places.len(), DESKS);
        assert_eq!([1, 2].map(|table| bench.visit(table)), [2, 2], "these were in use all the time");
        assert_eq!([0, 3].map(|table| bench.visit(table)), [0, 0]);
        bench.visit(1);
        assert_eq!(bench.desks.statements, bench.prepared());
    }

    #[test]
    fn a_change_of_the_schema_counts_at_the_same_desk() {
        let mut bench = Bench::with_tables(2);
        bench.visit_all();
        bench.connection.execute_batch("CREATE TABLE other (n)").unwrap();
        bench.state.refresh_schema(&bench.connection).unwrap();
        assert_eq!(bench.visit_all(), 0);
        assert_eq!((bench.desks.desks.len(), bench.visit_all()), (2, 4));
        assert_eq!(bench.desks.places.len(), 2);
    }
}
