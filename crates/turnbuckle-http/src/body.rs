//! Bodies: a request's, read whole within its bound, and the one type that responses have.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use crate::streamable::Events;

/// Why a request's body could not be had.
#[derive(Debug)]
pub(crate) enum NoBody {
    TooLarge,
    Broken,
}

/// Reads a body whole.
pub(crate) async fn read<B>(body: B, length: Option<u64>, max: usize) -> Result<Bytes, NoBody>
where
    B: Body<Data: Buf>,
{
    if length.is_some_and(|length| length > max as u64) {
        return Err(NoBody::TooLarge);
    }
    let mut body = std::pin::pin!(body);
    let mut first: Option<Bytes> = None;
    let mut rest: Option<BytesMut> = None;
    let mut total = 0;
    while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
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
#[derive(Debug)]
pub struct ResponseBody(Kind);

#[derive(Debug)]
enum Kind {
    Full(Option<Bytes>),
    Events(Pin<Box<Events>>),
}

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self(Kind::Full(None))
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Full(Some(bytes.into())))
    }

    pub(crate) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::pin(events)))
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
            Kind::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Events(events) => events
                .as_mut()
                .poll_next(cx)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
