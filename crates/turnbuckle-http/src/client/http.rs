//! Whatever carries requests to a server: the seam below a connector.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tower_service::Service;
use turnbuckle_session::LinkError;

use super::wire::{Plain, WireBody};

type BoxError = Box<dyn Error + Send + Sync>;

/// What asking resolves to.
type Asking = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, HttpFailure>> + Send>>;

/// An HTTP client of any make. Cheap to clone; clones share their connections.
///
/// It follows no redirect and keeps no cookie: that is the connector's business. Layers around it
/// see every request of a connector.
#[derive(Clone)]
pub struct HttpClient(Arc<dyn Fn(Request<RequestBody>) -> Asking + Send + Sync>);

impl HttpClient {
    /// Takes any `tower::Service` over HTTP. An error that is an [`HttpFailure`] is taken at its
    /// word; any other may have happened after the request was sent.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Arc::new(move |request| {
            let mut service = service.clone();
            Box::pin(async move {
                let ready = poll_fn(|cx| service.poll_ready(cx)).await;
                ready.map_err(|error| HttpFailure::of(error.into()))?;
                let answer = service.call(request).await;
                let answer = answer.map_err(|error| HttpFailure::of(error.into()))?;
                Ok(answer.map(AnswerBody::new))
            })
        }))
    }

    /// Over bare sockets.
    pub(crate) fn plain(plain: Plain) -> Self {
        Self(Arc::new(move |request| {
            let plain = plain.clone();
            Box::pin(async move {
                let answer = plain.ask(request).await?;
                Ok(answer.map(|body| AnswerBody(Coming::Wire(body))))
            })
        }))
    }

    pub(crate) fn ask(&self, request: Request<RequestBody>) -> Asking {
        (self.0)(request)
    }
}

impl Service<Request<RequestBody>> for HttpClient {
    type Response = Response<AnswerBody>;
    type Error = HttpFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, HttpFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        (self.0)(request)
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

/// The body of a request: one message, or nothing.
#[derive(Clone, Default)]
pub struct RequestBody(Bytes);

impl RequestBody {
    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

/// Without the message: it may hold a secret.
impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({} bytes)", self.0.len())
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Body for RequestBody {
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

/// The body of an answer, as it comes.
pub struct AnswerBody(Coming);

enum Coming {
    Wire(WireBody),
    Any(UnsyncBoxBody<Bytes, HttpFailure>),
}

impl AnswerBody {
    /// Takes any body.
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let body = body.map_err(|error| HttpFailure::of(error.into()));
        Self(Coming::Any(body.boxed_unsync()))
    }

    /// The next piece of its data; `None` at its end.
    pub(crate) async fn piece(&mut self) -> Option<Result<Bytes, HttpFailure>> {
        loop {
            match self.frame().await?.map(Frame::into_data) {
                Ok(Ok(data)) => return Some(Ok(data)),
                Ok(Err(_trailers)) => {}
                Err(failure) => return Some(Err(failure)),
            }
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFailure>>> {
        match &mut self.0 {
            Coming::Wire(body) => Pin::new(body).poll_frame(cx),
            Coming::Any(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Coming::Wire(body) => body.is_end_stream(),
            Coming::Any(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Coming::Wire(body) => body.size_hint(),
            Coming::Any(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody").finish_non_exhaustive()
    }
}

/// Why a request has no answer, or not all of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpFailure {
    sent: bool,
    reason: String,
}

impl HttpFailure {
    /// The server could not be reached: nothing of the request was sent. The reason is shown to
    /// people and must hold no secret.
    #[must_use]
    pub fn unreachable(reason: impl Into<String>) -> Self {
        Self {
            sent: false,
            reason: reason.into(),
        }
    }

    /// The connection ended under way: the request may have been acted upon. The reason is shown to
    /// people and must hold no secret.
    #[must_use]
    pub fn broken(reason: impl Into<String>) -> Self {
        Self {
            sent: true,
            reason: reason.into(),
        }
    }

    fn of(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => Self::broken(chain(&*error)),
        }
    }
}

/// An error and what it came from, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !said.contains(&more) {
            said.push_str(": ");
            said.push_str(&more);
        }
        next = error.source();
    }
    said
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for HttpFailure {}

impl From<HttpFailure> for LinkError {
    fn from(failure: HttpFailure) -> Self {
        let HttpFailure { sent, reason } = failure;
        if sent {
            Self::Broken { reason }
        } else {
            Self::Unreachable { reason }
        }
    }
}
