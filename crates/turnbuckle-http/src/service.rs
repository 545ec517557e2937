//! The endpoint as a tower service.

use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use turnbuckle_session::{Account, Dispatch, Exchange, Signal};

use crate::body::ResponseBody;
use crate::config::Config;
use crate::streamable::Endpoint;

/// One endpoint that speaks Streamable HTTP in both eras: a `tower::Service` for any hyper or axum
/// server. Cheap to clone; clones share their sessions.
///
/// Of several GET streams of one session the newest carries what belongs to no request, and when it
/// ends the one before it does. A `Last-Event-ID` that is not known (any more) is answered by 400,
/// so that the client does not take its session for lost.
///
/// A [`Principal`](turnbuckle_types::Principal) (or an `Arc` of one) in a request's extensions is
/// whom it is made for. A refusal for want of a scope leaves
/// [`ScopeNeeded`](turnbuckle_types::ScopeNeeded) in the response's extensions.
#[derive(Clone)]
pub struct StreamableHttp {
    endpoint: Arc<Endpoint>,
}

impl StreamableHttp {
    /// An endpoint of that server.
    #[must_use]
    pub fn new(dispatch: impl Into<Arc<dyn Dispatch>>, config: Config) -> Self {
        Self::with_shutdown(dispatch, config, None)
    }

    /// An endpoint that ends its open streams once `shutdown` is given.
    #[must_use]
    pub fn with_shutdown(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        config: Config,
        shutdown: Option<Signal>,
    ) -> Self {
        let exchange = Exchange::new(dispatch.into(), config.limits.clone());
        Self {
            endpoint: Arc::new(Endpoint::new(exchange, config, shutdown)),
        }
    }

    /// What its tables hold.
    pub(crate) fn held(&self) -> [(&'static str, usize); 4] {
        self.endpoint.sessions.held()
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let (mut parts, body) = request.into_parts();
        self.endpoint.answer(&mut parts, pin!(body), None).await
    }

    /// Answers a request of the connection with that account.
    pub(crate) fn answer_on<B>(
        &self,
        account: &Arc<Account>,
        parts: &mut Parts,
        body: Pin<&mut B>,
    ) -> impl Future<Output = Response<ResponseBody>>
    where
        B: Body<Data: Buf>,
    {
        self.endpoint.answer(parts, body, Some(account))
    }
}

impl<B> Service<Request<B>> for StreamableHttp
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
        let endpoint = self.endpoint.clone();
        let (mut parts, body) = request.into_parts();
        Box::pin(async move { Ok(endpoint.answer(&mut parts, pin!(body), None).await) })
    }
}

impl fmt::Debug for StreamableHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamableHttp").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
