//! The body of a response: of the resource server itself or of the inner service.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

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
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            BodyKind::Own { text } => text.is_empty(),
            BodyKind::Inner { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Own { text } => SizeHint::with_exact(text.len() as u64),
            BodyKind::Inner { body } => body.size_hint(),
        }
    }
}

/// Shows the kind alone: the content may be private.
impl<B> fmt::Debug for ResourceServerBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            BodyKind::Own { .. } => "ResourceServerBody(Own)",
            BodyKind::Inner { .. } => "ResourceServerBody(Inner)",
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
