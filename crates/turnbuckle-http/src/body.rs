//! Bodies: a request's, read whole within its bound, and the one type that responses have.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use crate::sse;
use crate::streamable::Events;

/// Why a request's body could not be had.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoBody {
    TooLarge,
    Broken,
    Late,
}

/// Reads a body whole. `length` is what its sender says that it has.
pub(crate) async fn read<B>(
    body: B,
    length: Option<u64>,
    max: usize,
    time: Duration,
) -> Result<Bytes, NoBody>
where
    B: Body<Data: Buf>,
{
    if length.is_some_and(|length| length > max as u64) {
        return Err(NoBody::TooLarge);
    }
    let mut read = std::pin::pin!(collect(body, max));
    // What is there already needs no clock.
    if let Poll::Ready(read) = poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx))).await {
        return read;
    }
    let read = tokio::time::timeout(time, read).await;
    read.unwrap_or(Err(NoBody::Late))
}

async fn collect<B>(body: B, max: usize) -> Result<Bytes, NoBody>
where
    B: Body<Data: Buf>,
{
    let mut body = std::pin::pin!(body);
    let mut first: Option<Bytes> = None;
    let mut rest: Option<BytesMut> = None;
    let mut total = 0;
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(frame) = frame else {
            return Err(NoBody::Broken);
        };
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        let size = data.remaining();
        total += size;
        if total > max {
            return Err(NoBody::TooLarge);
        }
        // A body of one piece is taken as it is.
        match (&first, &mut rest) {
            (None, None) => first = Some(data.copy_to_bytes(size)),
            (_, Some(rest)) => rest.extend_from_slice(&data.copy_to_bytes(size)),
            (Some(before), None) => {
                let mut whole = BytesMut::with_capacity((before.len() + size) * 2);
                whole.extend_from_slice(before);
                whole.extend_from_slice(&data.copy_to_bytes(size));
                rest = Some(whole);
            }
        }
    }
    Ok(rest.map(BytesMut::freeze).or(first).unwrap_or_default())
}

/// The body of a response: nothing, a whole message, or a stream of events.
pub struct ResponseBody(Kind);

enum Kind {
    /// A message, or what is left of it: its beginning and the rest, each empty once it is gone.
    Full([Bytes; 2]),
    Events(Pin<Box<Events>>),
    Connection(Box<sse::Stream>),
}

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self::full(Bytes::new())
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::parts(bytes, Bytes::new())
    }

    /// A message in two pieces, the second of which may be empty.
    pub(crate) fn parts(head: impl Into<Bytes>, tail: Bytes) -> Self {
        Self(Kind::Full([head.into(), tail]))
    }

    pub(crate) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::pin(events)))
    }

    pub(crate) fn connection(stream: sse::Stream) -> Self {
        Self(Kind::Connection(Box::new(stream)))
    }
}

/// Without what it says: that may hold a secret.
impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Full([head, tail]) => {
                write!(f, "ResponseBody({} bytes)", head.len() + tail.len())
            }
            Kind::Events(_) | Kind::Connection(_) => f.write_str("ResponseBody(events)"),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Full(parts) => {
                let next = parts.iter_mut().find(|part| !part.is_empty());
                Poll::Ready(next.map(|part| Ok(Frame::data(std::mem::take(part)))))
            }
            Kind::Events(events) => events
                .as_mut()
                .poll_next(cx)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
            Kind::Connection(stream) => stream
                .poll_next(cx)
                .map(|events| events.map(|events| Ok(Frame::data(events)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Full(parts) if parts.iter().all(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full([head, tail]) => SizeHint::with_exact((head.len() + tail.len()) as u64),
            Kind::Events(_) | Kind::Connection(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use http::HeaderMap;
    use proptest::collection::vec;
    use proptest::prelude::any;

    use super::*;

    const TIME: Duration = Duration::from_secs(30);

    /// A body of pieces; without an end where it is `endless`.
    #[derive(Default)]
    struct Pieces {
        pieces: VecDeque<Result<Frame<Bytes>, ()>>,
        endless: bool,
    }

    impl Pieces {
        fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
            let frames = pieces.into_iter().map(|it| Ok(Frame::data(it.into())));
            Self {
                pieces: frames.collect(),
                endless: false,
            }
        }
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            match self.pieces.pop_front() {
                None if self.endless => Poll::Pending,
                next => Poll::Ready(next),
            }
        }
    }

    fn read_now(body: Pieces, length: Option<u64>, max: usize) -> Result<Bytes, NoBody> {
        let read = std::pin::pin!(read(body, length, max, TIME));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match read.poll(&mut cx) {
            Poll::Ready(read) => read,
            Poll::Pending => panic!("it waits"),
        }
    }

    proptest::proptest! {
        #[test]
        fn a_body_is_its_pieces_or_too_large(
            pieces in vec(vec(any::<u8>(), 0..20), 0..6),
            max in 0..80_usize,
        ) {
            let whole = pieces.concat();
            let expected = (whole.len() <= max).then_some(whole);
            let read = read_now(Pieces::of(pieces), None, max);
            match expected {
                Some(whole) => assert_eq!(read.unwrap(), whole),
                None => assert_eq!(read, Err(NoBody::TooLarge)),
            }
        }
    }

    #[test]
    fn a_length_over_the_bound_is_believed() {
        assert_eq!(
            read_now(Pieces::default(), Some(11), 10),
            Err(NoBody::TooLarge)
        );
        assert!(read_now(Pieces::default(), Some(10), 10).is_ok());
    }

    #[test]
    fn a_body_that_breaks_off_is_none_and_trailers_are_nothing() {
        let mut body = Pieces::of([b"{".to_vec()]);
        body.pieces.push_back(Err(()));
        assert_eq!(read_now(body, None, 10), Err(NoBody::Broken));
        let mut body = Pieces::of([b"{}".to_vec()]);
        body.pieces.push_back(Ok(Frame::trailers(HeaderMap::new())));
        assert_eq!(read_now(body, None, 10).unwrap(), "{}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        let mut body = Pieces::of([b"{".to_vec()]);
        body.endless = true;
        let begin = tokio::time::Instant::now();
        assert_eq!(read(body, None, 10, TIME).await, Err(NoBody::Late));
        assert_eq!(begin.elapsed(), TIME);
    }

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
