//! POST requests whose response is not ready: JSON if the response comes first and in time, and an
//! SSE stream otherwise.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use turnbuckle_session::internal::{EncodedResponse, MemoryPermit, QueuedFrame, ResponseStream};

use super::endpoint::{StreamableEndpoint, legacy_reply};
use super::post_sink::PostSink;
#[cfg(feature = "store")]
use super::sessions::HttpSession;
use crate::event;
use crate::reply::ResponseBody;
use crate::reply::{HttpReply, stream_reply};
use crate::shares::Share;
use crate::streams::{EndSessionOnDrop, EventStream, FirstOutput, ReaderReservation};

/// The outcome of serving a POST.
pub(super) enum PostOutcome<'a> {
    /// The reply is ready.
    Reply(HttpReply),
    /// The request runs in a task.
    Pending(PendingPost<'a>),
    /// The request opens a session that has to be saved before its response leaves.
    #[cfg(feature = "store")]
    Opening(Box<OpeningSession>),
}

/// A session that a handshake opens.
#[cfg(feature = "store")]
pub(super) struct OpeningSession {
    pub(super) open: Arc<HttpSession>,
    /// The response to the handshake.
    pub(super) response: EncodedResponse,
}

impl From<HttpReply> for PostOutcome<'_> {
    fn from(reply: HttpReply) -> Self {
        Self::Reply(reply)
    }
}

/// A POST whose response is not ready. If the response is the first message and arrives within
/// [`json_wait`](crate::HttpTimeouts::json_wait), the reply is JSON. Otherwise it is an SSE
/// stream.
pub(super) struct PendingPost<'a> {
    endpoint: &'a StreamableEndpoint,
    source: PostSource,
}

/// The source of a pending POST's messages and response.
enum PostSource {
    /// A request in an exchange of its own. Dropping it cancels the request.
    Exchange {
        stream: ResponseStream,
        to_reply: fn(EncodedResponse) -> HttpReply,
        /// The place that a stream takes on which the client listens.
        share: Option<Share>,
    },
    /// A request or a batch of a legacy session. Dropping it cancels nothing.
    Session {
        sink: Arc<PostSink>,
        reservation: ReaderReservation,
        /// Ends the session, if it serves this POST alone.
        end: Option<EndSessionOnDrop>,
    },
}

impl<'a> PendingPost<'a> {
    /// Returns the pending POST of a request in an exchange of its own. `to_reply` makes the reply
    /// if it is JSON.
    pub(super) fn exchange(
        endpoint: &'a StreamableEndpoint,
        stream: ResponseStream,
        to_reply: fn(EncodedResponse) -> HttpReply,
        share: Option<Share>,
    ) -> Self {
        Self {
            endpoint,
            source: PostSource::Exchange {
                stream,
                to_reply,
                share,
            },
        }
    }

    /// Returns the pending POST of a request or a batch of a session.
    pub(super) fn session(
        endpoint: &'a StreamableEndpoint,
        sink: Arc<PostSink>,
        end: Option<EndSessionOnDrop>,
    ) -> Self {
        Self {
            endpoint,
            source: PostSource::Session {
                reservation: sink.stream().reserve_reader(),
                sink,
                end,
            },
        }
    }

    /// Waits for the first message, for `json_wait` at most, and returns the reply.
    pub(super) async fn reply(self) -> HttpReply {
        let json_wait = self.endpoint.options.timeouts.json_wait;
        match self.source {
            PostSource::Exchange {
                mut stream,
                to_reply,
                share,
            } => {
                let first = ready_within(json_wait, poll_fn(|cx| stream.poll_next(cx))).await;
                match first {
                    Some(Some(QueuedFrame::Response(response))) => to_reply(response),
                    Some(Some(QueuedFrame::Message(first))) => {
                        self.endpoint.stream_exchange(Some(first), stream, share)
                    }
                    Some(None) => empty_stream(),
                    None => self.endpoint.stream_exchange(None, stream, share),
                }
            }
            PostSource::Session {
                sink,
                reservation,
                end,
            } => {
                let first = poll_fn(|cx| sink.stream().poll_first_output(cx));
                match ready_within(json_wait, first).await {
                    Some(FirstOutput::Response(response)) => legacy_reply(response),
                    Some(FirstOutput::Nothing) => empty_stream(),
                    Some(FirstOutput::Stream) | None => {
                        self.endpoint.stream_session(&sink, reservation, end)
                    }
                }
            }
        }
    }
}

/// Awaits a future for at most `wait`. A `wait` of zero takes only what is ready now.
async fn ready_within<T>(wait: Duration, future: impl Future<Output = T>) -> Option<T> {
    if !wait.is_zero() {
        return tokio::time::timeout(wait, future).await.ok();
    }
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

impl StreamableEndpoint {
    /// Returns the SSE stream of an exchange. The frames that are ready leave with the first one.
    fn stream_exchange(
        &self,
        first: Option<Vec<u8>>,
        mut stream: ResponseStream,
        share: Option<Share>,
    ) -> HttpReply {
        let mut events = Vec::new();
        let mut memory = MemoryPermit::default();
        if let Some(first) = first {
            event::append_message(&mut events, &first);
        }
        // The body registers its own waker when it is polled.
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match stream.poll_next(&mut cx) {
                Poll::Ready(Some(QueuedFrame::Message(frame))) => {
                    event::append_message(&mut events, &frame);
                }
                Poll::Ready(Some(QueuedFrame::Response(mut response))) => {
                    std::mem::swap(&mut memory, &mut response.memory);
                    event::append_message(&mut events, &response.into_bytes());
                    return stream_reply(ResponseBody::full(memory.attach(events)));
                }
                Poll::Ready(None) => return stream_reply(ResponseBody::full(events)),
                Poll::Pending => break,
            }
        }
        let head = (!events.is_empty()).then(|| events.into());
        let keep_alive = self.options.timeouts.keep_alive_interval;
        let events = EventStream::of_exchange(head, stream, keep_alive);
        stream_reply(ResponseBody::events(events.counting(share)))
    }

    /// Returns the SSE stream of a session's POST, or of a POST without a session.
    fn stream_session(
        &self,
        sink: &PostSink,
        reservation: ReaderReservation,
        end: Option<EndSessionOnDrop>,
    ) -> HttpReply {
        let Some(reader) = reservation.reader() else {
            return empty_stream();
        };
        match sink {
            PostSink::Session { session, .. } => self.stream_post(
                session,
                #[cfg(feature = "store")]
                sink,
                reader,
            ),
            PostSink::Single(_) => {
                reader.stream().start_streaming(false);
                let keep_alive = self.options.timeouts.keep_alive_interval;
                let events = EventStream::of_single_request(reader, end, keep_alive);
                stream_reply(ResponseBody::events(events))
            }
        }
    }
}

/// Returns the reply to a request that ended without a response.
fn empty_stream() -> HttpReply {
    stream_reply(ResponseBody::empty())
}
