//! What was posted and is not answered at once: it waits a while for its answer, which alone is
//! JSON, and behind anything else or late comes as a stream.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::Instant;
use turnbuckle_session::{EncodedResponse, ReplySink as _, ResponseStream, Underway};

use super::EventStream;
use super::alarm::Place;
use super::endpoint::{StreamableEndpoint, legacy_answer};
use super::event_stream::EndSessionOnDrop;
use super::post_sink::PostSink;
use super::stream::{FirstOutput, ReaderReservation};
use crate::body::ResponseBody;
use crate::event;
use crate::reply::{HttpReply, stream_reply};

/// What a POST comes to when it is taken up.
pub(super) enum PostOutcome<'a> {
    Answered(HttpReply),
    PendingPost(PendingPost<'a>),
}

impl From<HttpReply> for PostOutcome<'_> {
    fn from(reply: HttpReply) -> Self {
        Self::Answered(reply)
    }
}

/// A POST that waits.
pub(super) struct PendingPost<'a> {
    endpoint: &'a StreamableEndpoint,
    /// Where it is told that it has waited long enough, once it waits: from the first poll on.
    place: Option<Place<'a>>,
    /// Nothing once it is answered.
    request: Option<Request>,
}

/// What is waited for.
enum Request {
    /// A request in an exchange of its own.
    Exchange {
        going: ResponseStream,
        answered: fn(EncodedResponse) -> HttpReply,
    },
    /// One of a legacy session, or a batch. Giving up the wait ends nothing: what was begun goes on.
    Legacy(Legacy),
}

struct Legacy {
    post: Arc<PostSink>,
    awaited: ReaderReservation,
    underway: Option<Underway>,
    /// What ends the session of one that has it alone.
    end: Option<EndSessionOnDrop>,
}

impl<'a> PendingPost<'a> {
    /// PendingPost for the answer of an exchange.
    pub(super) fn exchange(
        endpoint: &'a StreamableEndpoint,
        mut going: ResponseStream,
        answered: fn(EncodedResponse) -> HttpReply,
    ) -> Self {
        if endpoint.ends_within_wait() {
            going.detach();
        }
        Self {
            endpoint,
            place: None,
            request: Some(Request::Exchange { going, answered }),
        }
    }

    /// PendingPost for the answer of what was posted in a session, or alone.
    pub(super) fn legacy(
        endpoint: &'a StreamableEndpoint,
        post: Arc<PostSink>,
        underway: Option<Underway>,
        end: Option<EndSessionOnDrop>,
    ) -> Self {
        let underway = underway.filter(|_| !endpoint.ends_within_wait());
        let legacy = Legacy {
            awaited: post.stream().reserve_reader(),
            post,
            underway,
            end,
        };
        Self {
            endpoint,
            place: None,
            request: Some(Request::Legacy(legacy)),
        }
    }

    /// The reply: the answer, or a stream in which it comes. To be polled at once by what took the
    /// request up: that has polled its handler, which is left alone until it has woken somebody.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<HttpReply> {
        let woken = self.place.is_some();
        let first = match &mut self.request {
            Some(Request::Exchange { going, answered }) => {
                let next = match woken {
                    true => going.poll_next(cx),
                    false => going.poll_sent(cx),
                };
                match next {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Some(Err(answer))) => return Poll::Ready(answered(answer)),
                    Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(frame)),
                    Poll::Ready(None) => return Poll::Ready(ended()),
                }
            }
            Some(Request::Legacy(legacy)) => match legacy.poll_first(woken, cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(FirstOutput::Response(answer)) => {
                    return Poll::Ready(legacy_answer(answer));
                }
                Poll::Ready(FirstOutput::Stream) => Poll::Ready(None),
                Poll::Ready(FirstOutput::Nothing) => return Poll::Ready(ended()),
            },
            None => return Poll::Ready(ended()),
        };
        if first.is_pending() && self.poll_alarm(cx).is_pending() {
            return Poll::Pending;
        }
        let first = match first {
            Poll::Ready(first) => first,
            Poll::Pending => None,
        };
        Poll::Ready(match self.request.take() {
            Some(Request::Exchange { going, .. }) => self.endpoint.exchanged(first, going, cx),
            Some(Request::Legacy(legacy)) => legacy.streamed(self.endpoint),
            None => ended(),
        })
    }

    /// Ready when it has waited long enough.
    fn poll_alarm(&mut self, cx: &Context<'_>) -> Poll<()> {
        if let Some(place) = &self.place {
            return place.poll(cx);
        }
        if self.endpoint.config.json_wait.is_zero() {
            return Poll::Ready(());
        }
        let now = Instant::now();
        match &mut self.request {
            Some(Request::Exchange { going, .. }) => going.waits_since(now.into_std()),
            Some(Request::Legacy(Legacy {
                underway: Some(underway),
                ..
            })) => underway.waits_since(now.into_std()),
            _ => {}
        }
        self.place = Some(self.endpoint.alarm.place(now, cx));
        Poll::Pending
    }
}

impl Legacy {
    fn poll_first(&mut self, woken: bool, cx: &mut Context<'_>) -> Poll<FirstOutput> {
        if let Some(underway) = self.underway.as_mut().filter(|_| woken)
            && let Poll::Ready(answer) = underway.poll(cx)
        {
            self.underway = None;
            match answer {
                Some(answer) if self.post.is_silent() => {
                    return Poll::Ready(FirstOutput::Response(answer));
                }
                answer => self.post.finish(answer),
            }
        }
        self.post.stream().poll_first_output(cx)
    }

    fn streamed(self, endpoint: &StreamableEndpoint) -> HttpReply {
        // Its handler goes on in a task of its own.
        drop(self.underway);
        let Some(reader) = self.awaited.reader() else {
            return ended();
        };
        match (&*self.post, self.end) {
            (PostSink::InSession { open, .. }, _) => endpoint.streamed(open, reader),
            (PostSink::Alone(_), end) => {
                reader.stream().start_streaming(false);
                let keep_alive = endpoint.config.keep_alive_interval;
                stream_reply(ResponseBody::events(EventStream::of_one_alone(
                    reader, end, keep_alive,
                )))
            }
        }
    }
}

impl StreamableEndpoint {
    /// Whether a handler is given up before its answer becomes a stream: then somebody has to look
    /// after it meanwhile.
    fn ends_within_wait(&self) -> bool {
        self.config.limits.handler_timeout <= self.config.json_wait
    }

    /// The stream of an exchange. What is there with its first message leaves with that.
    fn exchanged(
        &self,
        first: Option<Vec<u8>>,
        mut going: ResponseStream,
        cx: &mut Context<'_>,
    ) -> HttpReply {
        going.detach();
        let mut events = Vec::new();
        if let Some(first) = first {
            event::append_message(&mut events, &first);
        }
        loop {
            match going.poll_next(cx) {
                Poll::Ready(Some(Ok(frame))) => event::append_message(&mut events, &frame),
                Poll::Ready(Some(Err(answer))) => {
                    event::append_message(&mut events, &answer.into_bytes());
                    return stream_reply(ResponseBody::full(events));
                }
                Poll::Ready(None) => return stream_reply(ResponseBody::full(events)),
                Poll::Pending => break,
            }
        }
        let head = (!events.is_empty()).then(|| events.into());
        stream_reply(ResponseBody::events(EventStream::of_exchange(
            head,
            going,
            self.config.keep_alive_interval,
        )))
    }
}

/// The reply to what ended without an answer.
fn ended() -> HttpReply {
    stream_reply(ResponseBody::empty())
}
