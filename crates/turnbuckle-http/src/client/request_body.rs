//! Bodies of requests to a server.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a request to a server: one message, or nothing.
#[derive(Clone, Default)]
pub struct ClientRequestBody(Bytes);

impl ClientRequestBody {
    /// Returns all bytes of the body.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

/// Shows the size only: the message may hold a secret.
impl fmt::Debug for ClientRequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientRequestBody({} bytes)", self.0.len())
    }
}

impl From<Bytes> for ClientRequestBody {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Body for ClientRequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
