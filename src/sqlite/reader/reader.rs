//! A reader: one read-only connection that carries out one read after the other.

use std::any::Any;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, ffi};

use super::command::{ReadCommand, ReadOutput, ReadTask};
use super::connect::open_reader;
use super::roster::ReadSeat;
use super::row_query::{RowAnswer, RowFailure, answer};
use crate::board::Board;
use crate::error::{ClosureError, OpenError, ReadError, SqliteError};
use crate::protocol::foreign_code::guarded;
use crate::protocol::queue::CommandQueue;
use crate::protocol::work::Answer;
use crate::row::{RowQuery, TableShape};
use crate::sqlite::ENGINE_TABLE;
use crate::sqlite::engine_statement::EngineStatement;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::schema::{fits_schema, read_shape};
use crate::sqlite::session::{
    Db, NotAllowed, Session, SessionError, SessionState, StopLimits, StopReason, Stopped,
};
use crate::sync::Arc;

/// FTS5 says so of its own pages; a page that SQLite itself finds damaged has a plain SQLITE_CORRUPT.
const DAMAGED_INDEX: i32 = ffi::SQLITE_CORRUPT_VTAB;

/// The bounds of reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    /// A read that has held its snapshot for this long is ended.
    pub(crate) greatest_age: Duration,
    /// Bytes of rows that a query may return.
    pub(crate) result_bytes: usize,
}

/// One reader.
pub(crate) struct Reader {
    desk: Desk,
    plan: Arc<OpenPlan>,
    path: PathBuf,
    limits: ReadLimits,
    seat: Arc<ReadSeat>,
}

/// The connection with what belongs to it. The statements are dropped before it.
struct Desk {
    begin: EngineStatement,
    end: EngineStatement,
    state: SessionState,
    connection: Connection,
}

// SAFETY: SQLite lets a connection and its statements move to another thread together, as long as one
// thread at a time uses them. They are private to this value and never leave it apart.
unsafe impl Send for Desk {}

impl Desk {
    fn open(plan: &OpenPlan, path: &std::path::Path, seat: &ReadSeat) -> Result<Self, OpenError> {
        let mut connection = open_reader(plan, path)?;
        let set_up = |connection: &mut Connection| -> Result<_, SqliteError> {
            let state = SessionState::install(connection, seat.stop.clone())?;
            let begin = EngineStatement::prepare(connection, c"BEGIN")?;
            let end = EngineStatement::prepare(connection, c"ROLLBACK")?;
            Ok((state, begin, end))
        };
        let (state, begin, end) = set_up(&mut connection)
            .map_err(|source| OpenError::from_sqlite(path, "preparing a reader", source))?;
        Ok(Self { begin, end, state, connection })
    }
}

impl Reader {
    pub(crate) fn open(
        plan: Arc<OpenPlan>,
        path: PathBuf,
        limits: ReadLimits,
        seat: Arc<ReadSeat>,
    ) -> Result<Self, OpenError> {
        let desk = Desk::open(&plan, &path, &seat)?;
        Ok(Self { desk, plan, path, limits, seat })
    }

    /// Carries out reads until the queue is closed and empty.
    pub(crate) fn serve(mut self, queue: &CommandQueue<ReadCommand>, board: &Board) {
        while let Some(entry) = queue.take_one() {
            let result = self.carry_out(entry.work, board);
            board.reads.add(1);
            // The snapshot is released by now: who hears of the result finds nothing pinned by it.
            let answer = match result {
                Ok(output) => Answer::Done(output),
                Err(error) => Answer::Failed(error),
            };
            entry.responder.answer(answer);
        }
    }

    fn carry_out(&mut self, command: ReadCommand, board: &Board) -> Result<ReadOutput, ReadError> {
        let now = Instant::now();
        let limits =
            StopLimits { deadline: command.deadline, too_old_at: now.checked_add(self.limits.greatest_age) };
        let stop = self.seat.stop.clone();
        stop.arm(limits);
        self.seat.begin(command.sent, now);
        let result = self.on_snapshot(command.task, board);
        let stopped = stop.disarm();
        self.seat.end();
        match stopped {
            // Whatever the closure made of it: its caller hears why it was ended.
            Some(reason) => Err(self.stopped(reason)),
            None => result,
        }
    }

    fn on_snapshot(&mut self, task: ReadTask, board: &Board) -> Result<ReadOutput, ReadError> {
        self.desk.begin.run()?;
        let result = {
            let session = Session::new(&self.desk.connection, &self.desk.state);
            match task {
                ReadTask::Closure(closure) => {
                    let ended = guarded(|| closure(&Db::new(&session)));
                    self.closure_result(ended, board)
                }
                ReadTask::Shape(request) => Ok(ReadOutput::Shape(session.as_engine(|| {
                    let revision = request.revision.as_ref().map(|(column, kind)| (column.as_str(), *kind));
                    read_shape(&self.desk.connection, &request.table, request.key.as_deref(), revision)
                        .map_err(|error| error.into_table_error(&request.table))
                }))),
                ReadTask::Query { sql, params } => session
                    .run_statement(&sql, &params, Some(self.limits.result_bytes))
                    .map(|outcome| ReadOutput::Rows(outcome.rows.unwrap_or_default()))
                    .map_err(|error| self.statement_error(error)),
                ReadTask::PlacedRows(query) => {
                    let place = self.place(&session);
                    place.and_then(|place| match self.rows(&session, query)? {
                        ReadOutput::TableRows(rows) => Ok(ReadOutput::PlacedRows(rows, place)),
                        other => Ok(other),
                    })
                }
                ReadTask::Rows(query) => self.rows(&session, query),
            }
        };
        let ended = self.desk.end.run();
        if ended.is_err() || !self.desk.connection.is_autocommit() {
            self.reopen();
        }
        result
    }

    fn rows(&self, session: &Session<'_>, query: RowQuery) -> Result<ReadOutput, ReadError> {
        let table = Arc::clone(&query.table);
        let index = query.search().map(|search| search.index.clone());
        match answer(&Db::new(session), query, self.limits.result_bytes) {
            Ok(RowAnswer::Rows(rows)) => Ok(ReadOutput::TableRows(rows)),
            Ok(RowAnswer::Count(rows)) => Ok(ReadOutput::Count(rows)),
            Ok(RowAnswer::Exist(found)) => Ok(ReadOutput::Exist(found)),
            Err(RowFailure::Closure(error)) => Err(self.row_error(session, &table, index, error)),
            Err(RowFailure::NotReady) => Err(ReadError::IndexNotReady { index: index.unwrap_or_default() }),
            Err(RowFailure::TooLarge) => Err(ReadError::ResultTooLarge { limit: self.limits.result_bytes }),
        }
    }

    /// Where the snapshot stands, as the writer has put it down in it. 0 if it has not.
    fn place(&self, session: &Session<'_>) -> Result<u64, ReadError> {
        let sql = format!("SELECT last FROM main.{ENGINE_TABLE}");
        let last = session.as_engine(|| -> Result<Option<i64>, SqliteError> {
            let mut statement = self.desk.connection.prepare(&sql)?;
            Ok(statement.query_row([], |row| row.get(0)).optional()?)
        });
        Ok(last.map_err(sqlite_error)?.map_or(0, i64::unsigned_abs))
    }

    fn closure_result(
        &self,
        ended: Result<Result<Box<dyn Any + Send>, ClosureError>, String>,
        board: &Board,
    ) -> Result<ReadOutput, ReadError> {
        match ended {
            Ok(Ok(value)) => Ok(ReadOutput::Closure(value)),
            Ok(Err(error)) => Err(self.closure_error(error)),
            Err(message) => {
                board.panics.add(1);
                Err(ReadError::Panic { message })
            }
        }
    }

    /// A connection that cannot end its transaction is replaced: the next read must not see its snapshot.
    fn reopen(&mut self) {
        match Desk::open(&self.plan, &self.path, &self.seat) {
            Ok(desk) => self.desk = desk,
            Err(error) => tracing::warn!(%error, "a reader could not be opened anew; it goes on as it is"),
        }
    }

    fn closure_error(&self, error: ClosureError) -> ReadError {
        let error = match error.downcast::<rusqlite::Error>() {
            Ok(error) => return sqlite_error(error.into()),
            Err(error) => error,
        };
        if let Some(NotAllowed { what }) = error.downcast_ref() {
            return ReadError::NotAllowed { what: what.clone() };
        }
        if let Some(Stopped { reason }) = error.downcast_ref() {
            return self.stopped(*reason);
        }
        ReadError::Closure(error)
    }

    /// SQLite refuses a question about rows only for the caller's SQL in a filter, or because the table has changed.
    fn row_error(
        &self,
        session: &Session<'_>,
        table: &TableShape,
        index: Option<String>,
        error: ClosureError,
    ) -> ReadError {
        let error = match (self.closure_error(error), &index) {
            (ReadError::Corrupt(source), Some(index)) if source.extended_code() == DAMAGED_INDEX => {
                return ReadError::IndexDamaged { index: index.clone(), source };
            }
            (error, _) => error,
        };
        let is_refused = matches!(&error, ReadError::Sql(error) if error.code() == ffi::SQLITE_ERROR);
        // Where the schema cannot be read, what SQLite said first says more.
        if is_refused && matches!(session.as_engine(|| fits_schema(&self.desk.connection, table)), Ok(false))
        {
            return ReadError::SchemaChanged { table: table.name.clone() };
        }
        if let Some(index) = index
            && is_refused
            && !session.as_engine(|| has_table(&self.desk.connection, &index)).unwrap_or(true)
        {
            return ReadError::NoSearchIndex { index };
        }
        error
    }

    fn statement_error(&self, error: SessionError) -> ReadError {
        match error {
            SessionError::Sqlite(error) => sqlite_error(error),
            SessionError::NotAllowed { what } => ReadError::NotAllowed { what },
            SessionError::MultipleStatements => sqlite_error(rusqlite::Error::MultipleStatement.into()),
            SessionError::Stopped(reason) => self.stopped(reason),
            SessionError::ResultTooLarge { limit } => ReadError::ResultTooLarge { limit },
            error @ SessionError::TransactionEnded => ReadError::Closure(error.into()),
        }
    }

    fn stopped(&self, reason: StopReason) -> ReadError {
        match reason {
            StopReason::Deadline => ReadError::Expired,
            StopReason::TooOld | StopReason::RunLimit => {
                ReadError::TooOld { greatest_age: self.limits.greatest_age }
            }
            StopReason::Closing => ReadError::Closed,
            StopReason::WalPressure => ReadError::WalPressure,
        }
    }
}

fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql =
        "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE)";
    connection.query_row(sql, [name], |row| row.get(0))
}

fn sqlite_error(error: SqliteError) -> ReadError {
    if error.code() == ffi::SQLITE_READONLY {
        return ReadError::NotAllowed { what: "writing".to_owned() };
    }
    error.into()
}
