//! Why a live view was not made.

use std::fmt;

use super::{ReadError, WriteError};

/// Why a live view was not made. Nothing of the program's was written.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiveError {
    /// The page could not be read.
    Read(ReadError),
    /// The writer could not say where the page stands in the order of commits: it is closed, it has stopped, its queue
    /// had no room within the deadline, or another program held its lock for too long.
    Write(WriteError),
    /// The table `walwright_sequence`, in which the writer says where a snapshot stands, is not as the engine left it:
    /// another program has changed or dropped it. Close the store and open it again, which repairs the table.
    Unplaced,
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "the page of a live view could not be read: {error}"),
            Self::Write(error) => {
                write!(f, "the writer could not tell where the page of a live view stands: {error}")
            }
            Self::Unplaced => write!(
                f,
                "another program has changed the table walwright_sequence, which live views need; close the store and \
                 open it again"
            ),
        }
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Write(error) => Some(error),
            Self::Unplaced => None,
        }
    }
}
