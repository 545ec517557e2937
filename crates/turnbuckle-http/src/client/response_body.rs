//! Bodies of a server's responses.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use super::error::{BoxError, HttpClientError};
use super::plain_client::PlainBody;

/// The body of a server's response, as it arrives.
pub struct ClientResponseBody(BodySource);

enum BodySource {
    Plain(PlainBody),
    Boxed(UnsyncBoxBody<Bytes, HttpClientError>),
}

impl ClientResponseBody {
    /// Wraps any body.
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let body = body.map_err(|error| HttpClientError::from_boxed(error.into()));
        Self(BodySource::Boxed(body.boxed_unsync()))
    }

    /// Wraps the body of a response over a plain connection, without a box.
    pub(crate) fn plain(body: PlainBody) -> Self {
        Self(BodySource::Plain(body))
    }

    /// Returns the next piece of data; `None` at the end.
    pub(crate) async fn next_chunk(&mut self) -> Option<Result<Bytes, HttpClientError>> {
        loop {
            match self.frame().await?.map(Frame::into_data) {
                Ok(Ok(data)) => return Some(Ok(data)),
                Ok(Err(_trailers)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Body for ClientResponseBody {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpClientError>>> {
        match &mut self.0 {
            BodySource::Plain(body) => Pin::new(body).poll_frame(cx),
            BodySource::Boxed(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodySource::Plain(body) => body.is_end_stream(),
            BodySource::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodySource::Plain(body) => body.size_hint(),
            BodySource::Boxed(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for ClientResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientResponseBody").finish_non_exhaustive()
    }
}
