//! A command about an index, on its way.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::error::SearchIndexError;
use crate::handle::{Applied, Write, WriteFuture};

/// What the writer says: what refused the command, or whether there are rows to be put in.
type Answer = Applied<Result<bool, SearchIndexError>>;
/// What is made of it.
type Finish<R> = Box<dyn FnOnce(bool) -> Result<R, SearchIndexError> + Send>;

/// A command about a search index. Await it or [`wait`](Self::wait) for it; nothing happens before.
#[must_use = "nothing happens before this is awaited or waited for"]
pub struct SearchIndexRequest<R>(Result<Unsent<R>, SearchIndexError>);

struct Unsent<R> {
    write: Write<Answer>,
    finish: Finish<R>,
}

impl<R> SearchIndexRequest<R> {
    pub(super) fn new(
        write: Write<Answer>,
        finish: impl FnOnce(bool) -> Result<R, SearchIndexError> + Send + 'static,
    ) -> Self {
        Self(Ok(Unsent { write, finish: Box::new(finish) }))
    }

    /// Refused before anything was sent.
    pub(super) fn refused(error: SearchIndexError) -> Self {
        Self(Err(error))
    }

    /// Sends the command and blocks the thread until it is carried out.
    ///
    /// # Errors
    /// Those of awaiting it; in a [`SearchIndexError::Write`] those of [`Write::wait`].
    pub fn wait(self) -> Result<R, SearchIndexError> {
        let Unsent { write, finish } = self.0?;
        finish(write.wait().map_err(SearchIndexError::Write)?.value?)
    }
}

impl<R> IntoFuture for SearchIndexRequest<R> {
    type Output = Result<R, SearchIndexError>;
    type IntoFuture = SearchIndexFuture<R>;

    fn into_future(self) -> SearchIndexFuture<R> {
        SearchIndexFuture(match self.0 {
            Ok(Unsent { write, finish }) => Sending::Sent(write.into_future(), Some(finish)),
            Err(error) => Sending::Refused(Some(error)),
        })
    }
}

/// The future of a [`SearchIndexRequest`].
pub struct SearchIndexFuture<R>(Sending<R>);

enum Sending<R> {
    Sent(WriteFuture<Answer>, Option<Finish<R>>),
    Refused(Option<SearchIndexError>),
}

// Nothing in it is pinned.
impl<R> Unpin for SearchIndexFuture<R> {}

impl<R> Future for SearchIndexFuture<R> {
    type Output = Result<R, SearchIndexError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Sending::Sent(write, finish) => {
                let answer = ready!(Pin::new(write).poll(context));
                // Polled after it was ready, which no caller may do: pending for ever.
                let Some(finish) = finish.take() else { return Poll::Pending };
                Poll::Ready(answer.map_err(SearchIndexError::Write).and_then(|done| finish(done.value?)))
            }
            Sending::Refused(error) => error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
        }
    }
}
