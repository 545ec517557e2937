//! The stream of a connection: its body polls the pipe, and dropping it ends everything.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_session::Closed;

use super::connections::Entry;
use super::lanes::Page;
use crate::event;
use crate::keep_alive::KeepAlive;

type Pipe = Pin<Box<dyn Future<Output = Closed> + Send + Sync>>;

/// The body of the response to a GET.
pub(crate) struct Stream {
    /// The first event.
    head: Option<Bytes>,
    /// Gone when it has ended.
    pipe: Option<Pipe>,
    page: Page,
    keep_alive: KeepAlive,
    /// The place in the table, free when this is dropped.
    _entry: Entry,
}

impl Stream {
    pub(super) fn new<F>(
        head: Bytes,
        pipe: F,
        page: Page,
        entry: Entry,
        keep_alive: Duration,
    ) -> Self
    where
        F: Future<Output = Closed> + Send + Sync + 'static,
    {
        Self {
            head: Some(head),
            pipe: Some(Box::pin(pipe)),
            page,
            keep_alive: KeepAlive::new(keep_alive),
            _entry: entry,
        }
    }

    /// The next events. The pipe goes on only when everything that it had to say was taken: a slow
    /// reader slows it down.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(head) = self.head.take() {
            return Poll::Ready(Some(head));
        }
        if self.page.is_empty()
            && let Some(pipe) = &mut self.pipe
            && let Poll::Ready(closed) = pipe.as_mut().poll(cx)
        {
            tracing::debug!(?closed, "an HTTP+SSE connection ended");
            self.pipe = None;
        }
        if let Some(events) = self.page.take() {
            self.keep_alive.said();
            return Poll::Ready(Some(events));
        }
        if self.pipe.is_none() {
            return Poll::Ready(None);
        }
        let keep_alive = self.keep_alive.poll(cx);
        keep_alive.map(|()| Some(event::KEEP_ALIVE))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}
