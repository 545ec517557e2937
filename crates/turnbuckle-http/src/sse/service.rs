//! The transport as a tower service.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use turnbuckle_session::{Dispatch, Signal};

use super::endpoint::Endpoint;
use crate::body::ResponseBody;
use crate::config::Config;

/// The HTTP+SSE transport, which clients of the first revision speak: a `tower::Service` for both
/// of its endpoints. Cheap to clone; clones share their connections.
///
/// A GET opens a connection and is answered by a stream of events. The first names the URI to post
/// messages to: [`messages_at`](Self::messages_at) with the connection's id in its query. So a
/// server mounts the service at a path of its choice for the stream, and at `/messages` or where it
/// says that messages go; both may be the same path. A request whose query has a `sessionId` is for
/// the second endpoint, any other for the first.
///
/// Whatever revision a client speaks over it is served. Whoever leaves the stream ends the
/// connection and everything that runs for it: there is nothing to come back to.
///
/// A [`Principal`](turnbuckle_types::Principal) (or an `Arc` of one) in the extensions of the GET is
/// whom the whole connection is for; messages for it are taken from the same one only.
///
/// Specification: basic/transports, "HTTP with SSE" (2024-11-05).
#[derive(Clone)]
pub struct HttpSse {
    endpoint: Arc<Endpoint>,
    messages: Arc<str>,
}

impl HttpSse {
    /// The endpoints of that server; messages go to `/messages`.
    #[must_use]
    pub fn new(dispatch: impl Into<Arc<dyn Dispatch>>, config: Config) -> Self {
        Self::with_shutdown(dispatch, config, None)
    }

    /// The same, ended by `shutdown`: then nothing more is taken, and what is under way may be
    /// answered for [`Config::shutdown_time`] before the streams end.
    #[must_use]
    pub fn with_shutdown(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        config: Config,
        shutdown: Option<Signal>,
    ) -> Self {
        Self {
            endpoint: Arc::new(Endpoint::new(dispatch.into(), config, shutdown)),
            messages: "/messages".into(),
        }
    }

    /// Sets where clients are told to post messages: a path, or any reference that a client can
    /// resolve against the URI of the stream, without a fragment.
    #[must_use]
    pub fn messages_at(mut self, reference: impl AsRef<str>) -> Self {
        self.messages = reference.as_ref().into();
        self
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> usize {
        self.endpoint.connections()
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        self.endpoint.answer(request, &self.messages).await
    }
}

impl<B> Service<Request<B>> for HttpSse
where
    B: Body<Data: Buf + Send> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl fmt::Debug for HttpSse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSse")
            .field("messages", &self.messages)
            .finish_non_exhaustive()
    }
}
