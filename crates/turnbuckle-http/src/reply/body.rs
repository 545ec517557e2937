//! The body of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use turnbuckle_session::internal::StreamCount;

use crate::streams::{EventStream, SseStream};

/// The body of a response: empty, a whole message, or a stream of events.
pub struct ResponseBody(BodyKind);

enum BodyKind {
    /// A message in two pieces. A piece that was sent is empty.
    Full([Bytes; 2]),
    /// An SSE stream of Streamable HTTP.
    Events(Counted<Pin<Box<EventStream>>>),
    /// A connection of HTTP+SSE.
    Connection(Counted<Box<SseStream>>),
    /// The body of a layer around the server.
    Layered(Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>),
}

/// A stream that metrics count while it is open.
struct Counted<S> {
    stream: S,
    _count: StreamCount,
}

impl<S> Counted<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            _count: StreamCount::start(),
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self::full(Bytes::new())
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::parts(bytes, Bytes::new())
    }

    /// Creates a body of a message in two pieces, of which the second may be empty.
    pub(crate) fn parts(head: impl Into<Bytes>, tail: Bytes) -> Self {
        Self(BodyKind::Full([head.into(), tail]))
    }

    pub(crate) fn events(events: EventStream) -> Self {
        Self(BodyKind::Events(Counted::new(Box::pin(events))))
    }

    /// Wraps the body of a layer around the server.
    pub(crate) fn from_body<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(BodyKind::Layered(Box::pin(body.map_err(Into::into))))
    }

    pub(crate) fn sse_connection(stream: SseStream) -> Self {
        Self(BodyKind::Connection(Counted::new(Box::new(stream))))
    }
}

/// Prints no content, which may hold a secret.
impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BodyKind::Full([head, tail]) => {
                write!(f, "ResponseBody({} bytes)", head.len() + tail.len())
            }
            BodyKind::Events(..) | BodyKind::Connection(..) => f.write_str("ResponseBody(events)"),
            BodyKind::Layered(_) => f.write_str("ResponseBody(layered)"),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            BodyKind::Full(parts) => {
                let next = parts.iter_mut().find(|part| !part.is_empty());
                Poll::Ready(next.map(|part| Ok(Frame::data(std::mem::take(part)))))
            }
            BodyKind::Events(events) => events
                .stream
                .as_mut()
                .poll_next(cx)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
            BodyKind::Connection(connection) => connection
                .stream
                .poll_next(cx)
                .map(|events| events.map(|events| Ok(Frame::data(events)))),
            BodyKind::Layered(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Full(parts) => parts.iter().all(Bytes::is_empty),
            BodyKind::Events(..) | BodyKind::Connection(..) => false,
            BodyKind::Layered(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Full([head, tail]) => SizeHint::with_exact((head.len() + tail.len()) as u64),
            BodyKind::Events(..) | BodyKind::Connection(..) => SizeHint::default(),
            BodyKind::Layered(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_knows_its_size_and_its_end() {
        let mut body = ResponseBody::full("{}");
        assert_eq!(body.size_hint().exact(), Some(2));
        assert!(!body.is_end_stream());
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let frame = Pin::new(&mut body).poll_frame(&mut cx);
        assert!(matches!(frame, Poll::Ready(Some(Ok(_)))));
        assert!(body.is_end_stream());
        assert_eq!(ResponseBody::empty().size_hint().exact(), Some(0));
        assert!(ResponseBody::empty().is_end_stream());
    }

    #[test]
    fn a_response_in_two_pieces_is_both_and_then_ends() {
        let mut body = ResponseBody::parts("{\"a\":", Bytes::from_static(b"1}"));
        assert_eq!(body.size_hint().exact(), Some(7));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut whole = Vec::new();
        while !body.is_end_stream() {
            match Pin::new(&mut body).poll_frame(&mut cx) {
                Poll::Ready(Some(Ok(frame))) => whole.extend(frame.into_data().unwrap()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(whole, b"{\"a\":1}");
        assert!(matches!(
            Pin::new(&mut body).poll_frame(&mut cx),
            Poll::Ready(None)
        ));
    }
}
