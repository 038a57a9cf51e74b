//! Why a whole group, a reader or the engine could not go on.

use crate::error::{SqliteError, StoreFailure};
use crate::sync::Arc;

/// A reason that is given to every caller concerned.
#[derive(Clone, Debug)]
pub(crate) enum Reason {
    /// The transaction of a group could not be begun; the next one may be.
    Begin(Arc<SqliteError>),
    /// The engine has stopped.
    Failure(Arc<StoreFailure>),
}

impl Reason {
    /// The reason for callers whose work was dropped without an answer.
    pub(crate) fn lost() -> Self {
        let message = "a thread of the engine dropped the command".to_owned();
        Self::Failure(Arc::new(StoreFailure::WriterPanicked { message }))
    }

    /// The failure in it. A refused transaction stops nothing, so there it has none.
    pub(crate) fn failure(&self) -> Option<&Arc<StoreFailure>> {
        match self {
            Self::Begin(_) => None,
            Self::Failure(failure) => Some(failure),
        }
    }
}
