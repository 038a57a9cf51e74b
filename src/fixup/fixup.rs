//! What programs declare: one-shot work, step by step.

use std::fmt;

use crate::error::ClosureError;
use crate::row::Value;
use crate::sqlite::session::Tx;
use crate::sync::Arc;

/// The program's function for one step.
pub(super) type StepFn = dyn Fn(&FixupStep<'_>) -> Result<FixupProgress, ClosureError> + Send + Sync;

/// One-shot work on rows that are there already, done in bounded steps while the store is in use. Given to
/// [`StoreBuilder::fixup`](crate::StoreBuilder::fixup).
///
/// A step is a write of its own: it shares its group with what others send, is durable, and is sent when others are not
/// held up by it. Its place is kept in the same transaction, so after a crash the work goes on where it stood, and
/// when it is done it is done for this file, for ever. A step that fails leaves nothing, is told in the log and in
/// [`Store::fixups`](crate::Store::fixups), and is tried again after a rest that grows to a minute. Fix-ups are
/// done one after the other, in the order in which the builder got them.
///
/// ```
/// use walwright::{Fixup, FixupProgress, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("old.db");
/// # walwright::rusqlite::Connection::open(&path)?.execute_batch(
/// #     "CREATE TABLE message (id INTEGER PRIMARY KEY, nick TEXT, lower_nick TEXT);
/// #      INSERT INTO message (nick) VALUES ('Ann'), ('BOB')")?;
/// let fill = Fixup::new("fill lower_nick", |step| {
///     let (from, rows) = (step.place().as_i64().unwrap_or(0), step.rows());
///     let to: Option<i64> = step.tx().query_row(
///         "SELECT max(id) FROM (SELECT id FROM message WHERE id > ?1 ORDER BY id LIMIT ?2)",
///         (from, rows),
///         |row| row.get(0),
///     )?;
///     let Some(to) = to else { return Ok(FixupProgress::Done) };
///     step.tx().execute(
///         "UPDATE message SET lower_nick = lower(nick) WHERE id > ?1 AND id <= ?2",
///         (from, to),
///     )?;
///     Ok(FixupProgress::More { at: to.into() })
/// });
/// let index = Fixup::sql("index lower_nick", "CREATE INDEX message_nick ON message (lower_nick)");
///
/// let store = Store::builder(path).fixup(fill).fixup(index).open().wait()?;
/// store.fixups_done().wait()?;
/// let nicks = store.query("SELECT group_concat(lower_nick) FROM message", ()).wait()?;
/// assert_eq!(nicks[0].get::<String>(0)?, "ann,bob");
/// # store.close().wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fixup {
    pub(super) name: String,
    pub(super) step: Arc<StepFn>,
}

impl Fixup {
    /// A fix-up of many steps. The name is what the file remembers it by: it must not change, and names no other work.
    ///
    /// The function runs on the writer's thread inside the group's transaction, like a closure of
    /// [`Store::write`](crate::Store::write), and may run again if its group has to be carried out anew. It should do
    /// about [`FixupStep::rows`] rows of work from [`FixupStep::place`] on, and say where it came to.
    pub fn new<F>(name: impl Into<String>, step: F) -> Self
    where
        F: Fn(&FixupStep<'_>) -> Result<FixupProgress, ClosureError> + Send + Sync + 'static,
    {
        Self { name: name.into(), step: Arc::new(step) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A fix-up of one step: SQL text, which may hold several statements.
    ///
    /// For work that cannot be cut, such as CREATE INDEX. It holds the writer for all of its length, about a second for
    /// a million rows, and everybody's writes with it, though no reads. One that would take longer than
    /// [`StoreBuilder::run_limit`](crate::StoreBuilder::run_limit) never ends: raise that.
    pub fn sql(name: impl Into<String>, text: &'static str) -> Self {
        Self::new(name, move |step| step.tx().execute_batch(text).map(|()| FixupProgress::Done))
    }
}

impl fmt::Debug for Fixup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixup").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One step of a [`Fixup`].
pub struct FixupStep<'s> {
    pub(super) tx: &'s Tx<'s>,
    pub(super) place: Value,
    pub(super) rows: u32,
}

impl<'s> FixupStep<'s> {
    /// The transaction to work in.
    pub fn tx(&self) -> &'s Tx<'s> {
        self.tx
    }

    /// Where the last step came to; NULL for the first one.
    pub fn place(&self) -> &Value {
        &self.place
    }

    /// How many rows this step should take at most: from 4 to 4,096, 16 at first. Fitted to how long the last ones
    /// took, so that a step takes 0.1 to 2 ms, by the time that a COMMIT takes.
    pub fn rows(&self) -> u32 {
        self.rows
    }
}

impl fmt::Debug for FixupStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixupStep").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// What a step of a [`Fixup`] came to.
#[derive(Clone, Debug, PartialEq)]
pub enum FixupProgress {
    /// There is more to do, from here on.
    More {
        /// The next step's [`place`](FixupStep::place).
        at: Value,
    },
    /// All of it is done. It will never be asked again.
    Done,
}
