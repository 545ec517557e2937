//! Bodies of a server's responses.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use turnbuckle_http_client::ResponseBody;
use turnbuckle_types::base::debug_fields;

use super::error::{BoxError, HttpClientError};

/// The body of a server's response, as it arrives.
pub struct ClientResponseBody(BodySource);

enum BodySource {
    Client(ResponseBody),
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

    /// Wraps the body of a response to the default client, without a box.
    pub(crate) fn of_client(body: ResponseBody) -> Self {
        Self(BodySource::Client(body))
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
            BodySource::Client(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(HttpClientError::from_client)))
            }
            BodySource::Boxed(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodySource::Client(body) => body.is_end_stream(),
            BodySource::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodySource::Client(body) => body.size_hint(),
            BodySource::Boxed(body) => body.size_hint(),
        }
    }
}

debug_fields!(ClientResponseBody {});
