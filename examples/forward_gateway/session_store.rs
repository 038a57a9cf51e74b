//! What the gateway asks of a store.

use crate::Result;
use crate::session::Session;
use crate::work::Writes;

/// A handle to a database of sessions; its clones are handles to the same database.
///
/// Every write is its own: no caller hands over more than the work of one connection at a time.
pub trait SessionStore: Clone + Send + Sync + 'static {
    /// Relays one connection under a session of its own: inserts the session, looks it up and checks it, awaits
    /// `relay`, and marks the session as revoked, whatever became of the relay.
    ///
    /// Nothing of `relay` happens before the session is durable. When this returns its revocation is, too.
    fn forward(
        &self,
        session: Session,
        relay: impl Future<Output = Result<()>> + Send,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Adds many sessions at once, to prepare the delete. Not part of what is measured.
    fn insert_all(&self, sessions: Vec<Session>) -> impl Future<Output = Result<()>> + Send;

    /// Lists a sandbox's first hundred sessions by id: what a control plane asks while the gateway writes.
    fn list(&self, sandbox_id: &str) -> impl Future<Output = Result<Vec<Session>>> + Send;

    /// Deletes the sessions of a sandbox, and returns when the store would tell the user that they are
    /// deleted.
    fn delete_sandbox(&self, sandbox_id: &str) -> impl Future<Output = Result<()>> + Send;

    /// Returns when what [`Self::delete_sandbox`] has left for later is done.
    fn finish_deletes(&self) -> impl Future<Output = Result<()>> + Send;

    /// What it has written so far, if it counts that.
    fn writes(&self) -> Option<Writes>;

    /// Closes the database; nothing uses the file afterwards.
    fn close(self) -> impl Future<Output = Result<()>> + Send;
}
