//! Why a command failed, in the words of its caller.

use super::rows::RowFailure;
use super::transaction::Transaction;
use crate::board::Board;
use crate::error::{ClosureError, SqliteError, WriteError};
use crate::sqlite::session::{NotAllowed, SessionError, StopReason, Stopped};

impl Transaction {
    /// What a closure gave, or why it gave nothing.
    pub(super) fn closure_value<T>(
        &self,
        ended: Result<Result<T, ClosureError>, String>,
        board: &Board,
    ) -> Result<T, WriteError> {
        match ended {
            Ok(result) => result.map_err(|error| self.closure_error(error)),
            Err(message) => {
                board.panics.add(1);
                Err(WriteError::Panic { message })
            }
        }
    }

    pub(super) fn row_error(&self, failure: RowFailure) -> WriteError {
        match failure {
            RowFailure::Session(error) => self.statement_error(error),
            RowFailure::Conflict(conflict) => WriteError::Conflict(conflict),
            RowFailure::NotCountable { table, column } => WriteError::NotCountable { table, column },
            RowFailure::SchemaChanged { table } => WriteError::SchemaChanged { table },
        }
    }

    pub(super) fn statement_error(&self, error: SessionError) -> WriteError {
        match error {
            SessionError::Sqlite(error) => error.into(),
            SessionError::NotAllowed { what } => WriteError::NotAllowed { what },
            SessionError::MultipleStatements => WriteError::Sql(rusqlite::Error::MultipleStatement.into()),
            SessionError::Stopped(reason) => self.stopped(reason),
            SessionError::ResultTooLarge { limit } => WriteError::ResultTooLarge { limit },
            error @ SessionError::TransactionEnded => WriteError::Closure(error.into()),
        }
    }

    fn closure_error(&self, error: ClosureError) -> WriteError {
        let error = match error.downcast::<rusqlite::Error>() {
            Ok(error) => return SqliteError::from(error).into(),
            Err(error) => error,
        };
        if let Some(NotAllowed { what }) = error.downcast_ref() {
            return WriteError::NotAllowed { what: what.clone() };
        }
        if let Some(Stopped { reason }) = error.downcast_ref() {
            return self.stopped(*reason);
        }
        WriteError::Closure(error)
    }

    pub(super) fn stopped(&self, reason: StopReason) -> WriteError {
        match reason {
            StopReason::Closing => WriteError::CloseTimedOut,
            _ => WriteError::RunLimit { limit: self.limits.run_limit },
        }
    }
}

/// Why a read-modify-write failed.
pub(super) enum ModifyFailure {
    Row(RowFailure),
    Closure(WriteError),
}

impl From<RowFailure> for ModifyFailure {
    fn from(failure: RowFailure) -> Self {
        Self::Row(failure)
    }
}

impl From<WriteError> for ModifyFailure {
    fn from(error: WriteError) -> Self {
        Self::Closure(error)
    }
}
