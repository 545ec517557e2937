//! The stream of an HTTP+SSE connection: the response body that serves the connection.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_session::transport::CloseReason;
use turnbuckle_types::base::debug_fields;

use super::table::ConnectionEntry;
use super::transport::EventBuffer;
use crate::event;
use crate::streams::keep_alive::KeepAlive;

/// The future that serves a connection until it ends.
type ServedConnection = Pin<Box<dyn Future<Output = CloseReason> + Send + Sync>>;

/// The body of the response to the GET that opened a connection. Polling it serves the connection;
/// dropping it ends the connection and removes it from the table.
pub(crate) struct SseStream {
    first_event: Option<Bytes>,
    /// The served connection, until it has ended.
    served: Option<ServedConnection>,
    buffer: EventBuffer,
    keep_alive: KeepAlive,
    _entry: ConnectionEntry,
}

impl SseStream {
    pub(crate) fn new<F>(
        first_event: Bytes,
        served: F,
        buffer: EventBuffer,
        entry: ConnectionEntry,
        keep_alive_interval: Duration,
    ) -> Self
    where
        F: Future<Output = CloseReason> + Send + Sync + 'static,
    {
        Self {
            first_event: Some(first_event),
            served: Some(Box::pin(served)),
            buffer,
            keep_alive: KeepAlive::new(keep_alive_interval),
            _entry: entry,
        }
    }

    /// Returns the next events. The connection is served on only when everything that it has sent
    /// was taken, so that a slow reader slows it down.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.first_event.take() {
            return Poll::Ready(Some(event));
        }
        if self.buffer.is_empty()
            && let Some(served) = &mut self.served
            && let Poll::Ready(closed) = served.as_mut().poll(cx)
        {
            tracing::debug!(?closed, "an HTTP+SSE connection ended");
            self.served = None;
        }
        if let Some(events) = self.buffer.take() {
            self.keep_alive.reset();
            return Poll::Ready(Some(events));
        }
        if self.served.is_none() {
            return Poll::Ready(None);
        }
        let keep_alive = self.keep_alive.poll(cx);
        keep_alive.map(|()| Some(event::KEEP_ALIVE))
    }
}

debug_fields!(SseStream {});
