//! What the daemon asks of its store.

use crate::Result;
use crate::message::Message;

/// Messages of a page, and of what a search or a look for mentions gives.
pub const PAGE: usize = 50;

/// A store of messages. Clones are handles on the same one.
pub trait ScrollbackStore: Clone + Send + Sync + 'static {
    /// Where a page ended.
    type Place: Clone + Send + Sync;

    /// Stores one message, durably.
    fn append(&self, message: Message) -> impl Future<Output = Result<()>> + Send;

    /// Stores what came while the daemon was away, all of it durably.
    fn backfill(&self, messages: Vec<Message>) -> impl Future<Output = Result<()>> + Send;

    /// The newest messages of a buffer, newest first, or those before a place; and the place where they end.
    fn backlog(
        &self,
        buffer_id: i64,
        before: Option<Self::Place>,
    ) -> impl Future<Output = Result<(Vec<Message>, Option<Self::Place>)>> + Send;

    /// The newest messages of all buffers with this text somewhere in them.
    fn search(&self, text: String) -> impl Future<Output = Result<Vec<Message>>> + Send;

    /// The newest messages of all buffers that are for this nick.
    fn mentions(&self, nick: &'static str) -> impl Future<Output = Result<Vec<Message>>> + Send;
}
