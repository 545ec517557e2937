//! The body of a response: of the resource server itself or of the inner service.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

use super::layer::MAX_STREAM_TIME;
use super::stream_lease::StreamLease;

pin_project! {
    /// The body of a response of a [`ResourceServer`](super::ResourceServer): its own short text, or
    /// the body of the inner service.
    pub struct ResourceServerBody<B> {
        #[pin]
        kind: BodyKind<B>,
    }
}

pin_project! {
    #[project = BodyKindProjection]
    enum BodyKind<B> {
        Own { text: Bytes },
        Inner { #[pin] body: B },
        // A stream that ends with the token of its request, or a later one of the same caller.
        Bounded {
            #[pin] body: B,
            end: Instant,
            lease: StreamLease,
            // Made when the stream has to wait for the first time.
            timer: Option<Pin<Box<Sleep>>>,
        },
    }
}

impl<B> ResourceServerBody<B> {
    pub(super) fn own(text: Bytes) -> Self {
        Self {
            kind: BodyKind::Own { text },
        }
    }

    pub(super) fn inner(body: B) -> Self {
        Self {
            kind: BodyKind::Inner { body },
        }
    }

    /// Creates a body that ends at `end`, if the inner one has not ended before and `lease` does not
    /// extend it.
    pub(super) fn inner_until(body: B, end: Instant, lease: StreamLease) -> Self {
        Self {
            kind: BodyKind::Bounded {
                body,
                end,
                lease,
                timer: None,
            },
        }
    }
}

impl<B: Body<Data = Bytes>> Body for ResourceServerBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            BodyKindProjection::Own { text } => {
                let text = std::mem::take(text);
                Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text))))
            }
            BodyKindProjection::Inner { body } => body.poll_frame(cx),
            BodyKindProjection::Bounded {
                mut body,
                end,
                lease,
                timer,
            } => loop {
                // Also a stream that is never silent ends.
                while Instant::now() >= *end {
                    let Some(extension) = lease.take_extension() else {
                        return Poll::Ready(None);
                    };
                    *end += extension.min(MAX_STREAM_TIME);
                    *timer = None;
                }
                let frame = body.as_mut().poll_frame(cx);
                if frame.is_ready() {
                    return frame;
                }
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(*end)));
                ready!(timer.as_mut().poll(cx));
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            BodyKind::Own { text } => text.is_empty(),
            BodyKind::Inner { body } | BodyKind::Bounded { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Own { text } => SizeHint::with_exact(text.len() as u64),
            BodyKind::Inner { body } | BodyKind::Bounded { body, .. } => body.size_hint(),
        }
    }
}

/// Shows the kind alone: the content may be private.
impl<B> fmt::Debug for ResourceServerBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            BodyKind::Own { .. } => "ResourceServerBody(Own)",
            BodyKind::Inner { .. } | BodyKind::Bounded { .. } => "ResourceServerBody(Inner)",
        })
    }
}

/// The body of an inner service that does not exist.
#[derive(Debug)]
pub enum NoBody {}

impl Body for NoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}
