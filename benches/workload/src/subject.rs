//! What is measured.

use crate::{Result, Session};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::future::Future;

/// A store under measurement. Clones are handles to the same store. A write is answered when it is durable.
pub trait Subject: Clone + Send + Sync + 'static {
    /// Inserts a row.
    fn insert(&self, row: Session) -> impl Future<Output = Result<()>> + Send;

    /// Updates the row with this key.
    fn revoke(&self, id: String) -> impl Future<Output = Result<()>> + Send;

    /// Whether it can do better than to wait between the two writes of a pair.
    const PIPELINES: bool;

    /// Inserts a row and updates it without waiting in between, in the best way that the store has: two commands
    /// sent one behind the other, or one transaction.
    fn pair(&self, row: Session) -> impl Future<Output = Result<()>> + Send;
}

/// What a client does, as one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// It inserts a row.
    Insert,
    /// It inserts a row, waits for the answer, updates the row, waits again.
    Waiting,
    /// It inserts and updates a row without waiting in between.
    Pipelined,
}

impl Pattern {
    pub const ALL: [Self; 3] = [Self::Insert, Self::Waiting, Self::Pipelined];

    /// Writes of one operation.
    pub fn writes(self) -> u64 {
        if self == Self::Insert { 1 } else { 2 }
    }

    /// Carries out one operation, and counts its writes as they are answered.
    pub async fn run<S: Subject>(self, store: &S, row: Session, answered: &mut u64) -> Result<()> {
        match self {
            Self::Insert => {
                store.insert(row).await?;
                *answered += 1;
            }
            Self::Pipelined if S::PIPELINES => {
                store.pair(row).await?;
                *answered += 2;
            }
            Self::Waiting | Self::Pipelined => {
                let id = row.id.clone();
                store.insert(row).await?;
                *answered += 1;
                store.revoke(id).await?;
                *answered += 1;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Insert => "insert",
            Self::Waiting => "pair, waiting",
            Self::Pipelined => "pair, pipelined",
        })
    }
}
