//! Why a stream of changes gives no change.

use std::fmt;

use super::StoreFailure;
use crate::sync::Arc;

/// Why a [`ChangeStream`](crate::ChangeStream) gives no change. A stream changes nothing on disk.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChangesError {
    /// The store has stopped: nothing more will be told. What was in progress then was answered *unknown* and not told.
    /// Open the store again, and read anew what is kept in memory.
    Stopped(Arc<StoreFailure>),
    /// `wait_next()` was called in a closure of a store, whose thread is needed to carry on. The stream is as it was.
    Reentrant,
    /// `wait_next()` was called on a thread that drives tasks of tokio. The stream is as it was.
    WouldBlockRuntime,
    /// The process was forked after the stream was made, which belongs to the parent.
    Forked,
}

impl fmt::Display for ChangesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(failure) => write!(f, "no more changes are told, the store has stopped: {failure}"),
            Self::Reentrant => {
                write!(f, "a closure of a store cannot wait for changes; take them on a thread of yours")
            }
            Self::WouldBlockRuntime => {
                write!(f, "wait_next() would block a thread of the async runtime; use next().await")
            }
            Self::Forked => write!(
                f,
                "the stream of changes was made before this process was forked; open the store in this process instead"
            ),
        }
    }
}

impl std::error::Error for ChangesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Stopped(failure) => Some(failure),
            _ => None,
        }
    }
}
