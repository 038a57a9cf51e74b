//! What the gateway asks of a store.

use crate::Result;
use crate::session::Session;
use std::path::Path;

/// A handle to a database of sessions; its clones are handles to the same database.
///
/// Every write is its own: no caller hands over more than the work of one connection at a time.
pub trait SessionStore: Clone + Send + Sync + 'static {
    /// Makes the database at `path`, with all its I/O through the VFS of that name.
    fn open(path: &Path, vfs: &str) -> impl Future<Output = Result<Self>> + Send;

    /// Adds a session; it is durable when this returns.
    fn insert(&self, session: Session) -> impl Future<Output = Result<()>> + Send;

    /// Adds many sessions at once, to prepare the delete. Not part of what is measured.
    fn insert_all(&self, sessions: Vec<Session>) -> impl Future<Output = Result<()>> + Send;

    /// Looks up a session by its id.
    fn find(&self, id: &str) -> impl Future<Output = Result<Option<Session>>> + Send;

    /// Marks a session as revoked; that is durable when this returns.
    fn revoke(&self, id: &str) -> impl Future<Output = Result<()>> + Send;

    /// Counts the sessions of a sandbox: what a control plane asks while the gateway writes.
    fn count_in_sandbox(&self, sandbox_id: &str) -> impl Future<Output = Result<i64>> + Send;

    /// Deletes the sessions of a sandbox, and returns when the store would tell the user that they are
    /// deleted.
    fn delete_sandbox(&self, sandbox_id: &str) -> impl Future<Output = Result<()>> + Send;

    /// Returns when what [`Self::delete_sandbox`] has left for later is done.
    fn finish_deletes(&self) -> impl Future<Output = Result<()>> + Send;

    /// Closes the database; nothing uses the file afterwards.
    fn close(self) -> impl Future<Output = Result<()>> + Send;
}
