//! The routes of the HTTP server as a service, and the layers around them.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_types::base::debug_fields;

use crate::reply::ResponseBody;
use crate::shares::ConnectionInfo;
use crate::sse::HttpSse;
use crate::streamable::StreamableHttp;

type BoxError = Box<dyn Error + Send + Sync>;

/// A response that is being made.
pub(super) type ResponseFuture = Pin<Box<dyn Future<Output = Response<ResponseBody>> + Send>>;

/// The routes of the server: the MCP endpoint, the two paths of HTTP+SSE, those that were added, and
/// 404 for the rest.
#[derive(Debug, Clone)]
pub(crate) struct Routes {
    pub(crate) path: Arc<str>,
    pub(crate) streamable: StreamableHttp,
    /// HTTP+SSE, if it is served.
    pub(crate) sse: Option<SseRoutes>,
    /// The routes that were added, if there are any.
    pub(super) added: Option<Arc<AddedRoutes>>,
}

/// Services for other paths than those of the transports.
#[derive(Debug, Default, Clone)]
pub(super) struct AddedRoutes {
    at: Vec<(String, HttpRoutes)>,
    fallback: Option<HttpRoutes>,
}

#[derive(Debug, Clone)]
pub(crate) struct SseRoutes {
    pub(crate) path: Arc<str>,
    pub(crate) messages: Arc<str>,
    pub(crate) service: HttpSse,
}

impl Routes {
    /// Adds a service at a path, or for all paths that have none.
    pub(super) fn add(&mut self, path: Option<String>, service: impl RouteService) {
        let service = HttpRoutes::from_service(service);
        let added = Arc::make_mut(self.added.get_or_insert_default());
        match path {
            Some(path) => added.at.push((path, service)),
            None => added.fallback = Some(service),
        }
    }

    /// Returns the added service for a path, unless the path is one of the transports.
    pub(super) fn service_at(&self, path: &str) -> Option<&HttpRoutes> {
        let added = self.added.as_ref()?;
        let is_sse = |sse: &SseRoutes| path == &*sse.path || path == &*sse.messages;
        if path == &*self.path || self.sse.as_ref().is_some_and(is_sse) {
            return None;
        }
        let at = added.at.iter().find(|(at, _)| at == path);
        at.map(|(_, service)| service).or(added.fallback.as_ref())
    }

    /// Answers a request of a connection.
    pub(crate) async fn answer<B>(
        &self,
        parts: &mut Parts,
        body: Pin<&mut B>,
        connection: &ConnectionInfo,
    ) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let path = parts.uri.path();
        if path == &*self.path {
            return self
                .streamable
                .answer_on_connection(connection, parts, body)
                .await;
        }
        if let Some(sse) = &self.sse
            && (path == &*sse.path || path == &*sse.messages)
        {
            let parts = std::mem::replace(parts, Request::new(()).into_parts().0);
            let request = Request::from_parts(parts, body);
            // Boxed, so that the futures of all other requests stay small.
            return Box::pin(sse.service.answer_on_connection(connection, request)).await;
        }
        let mut reply = Response::new(ResponseBody::full("there is nothing at this path\n"));
        *reply.status_mut() = StatusCode::NOT_FOUND;
        reply
    }
}

/// The body of a request to an [`HttpServer`](crate::HttpServer).
pub struct RequestBody(Incoming);

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.0).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

debug_fields!(RequestBody {});

/// A service that a server can have as a route, or a layer around its routes: any `tower::Service`
/// over HTTP that never fails, is `Clone`, and answers with a body of `Bytes`, such as an axum router.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a route of a server, or a layer around its routes",
    label = "no service for requests of any body",
    note = "it must be a `Service<Request<RequestBody>>` of tower that never fails, is `Clone`, and answers with a body of `Bytes`",
    note = "a layer of axum's `from_fn` takes axum's body alone: put it into an axum router, around a `StreamableHttp`"
)]
pub trait RouteService: Clone + Send + Sync + 'static {
    /// Answers a request, once the service is ready.
    fn answer(self, request: Request<RequestBody>) -> ResponseFuture;
}

impl<S, B> RouteService for S
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    fn answer(mut self, request: Request<RequestBody>) -> ResponseFuture {
        Box::pin(async move {
            let Ok(()) = poll_fn(|cx| self.poll_ready(cx)).await;
            let Ok(response) = self.call(request).await;
            response.map(ResponseBody::from_body)
        })
    }
}

/// The routes of an [`HttpServer`](crate::HttpServer), and the layers around them, for one
/// connection. Cheap to clone.
#[derive(Clone)]
pub struct HttpRoutes(Arc<dyn Fn(Request<RequestBody>) -> ResponseFuture + Send + Sync>);

impl HttpRoutes {
    /// Creates the service of a connection without layers.
    fn new(routes: Routes, connection: Arc<ConnectionInfo>) -> Self {
        let shared = Arc::new((routes, connection));
        Self(Arc::new(move |request| {
            let shared = shared.clone();
            if let Some(service) = shared.0.service_at(request.uri().path()) {
                return (service.0)(request);
            }
            let (mut parts, body) = request.into_parts();
            Box::pin(async move {
                let (routes, connection) = &*shared;
                routes.answer(&mut parts, pin!(body), connection).await
            })
        }))
    }

    fn from_service(service: impl RouteService) -> Self {
        Self(Arc::new(move |request| service.clone().answer(request)))
    }

    /// Answers a request.
    pub(crate) fn answer(&self, request: Request<Incoming>) -> ResponseFuture {
        (self.0)(request.map(RequestBody))
    }
}

impl Service<Request<RequestBody>> for HttpRoutes {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = RoutesFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> RoutesFuture {
        RoutesFuture((self.0)(request))
    }
}

debug_fields!(HttpRoutes {});

/// The response of [`HttpRoutes`].
pub struct RoutesFuture(ResponseFuture);

impl Future for RoutesFuture {
    type Output = Result<Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

debug_fields!(RoutesFuture {});

/// The layers around the routes of a server. The one that was added last sees a request first.
#[derive(Clone, Default)]
pub(crate) struct RouteLayers(Vec<Arc<dyn Fn(HttpRoutes) -> HttpRoutes + Send + Sync>>);

impl RouteLayers {
    pub(crate) fn add<L>(&mut self, layer: L)
    where
        L: Layer<HttpRoutes, Service: RouteService> + Send + Sync + 'static,
    {
        self.0.push(Arc::new(move |inner| {
            HttpRoutes::from_service(layer.layer(inner))
        }));
    }

    /// Returns the service of a connection, or `None` if there is no layer: the routes are then used
    /// as they are, which costs less.
    pub(crate) fn wrap(
        &self,
        routes: &Routes,
        connection: &Arc<ConnectionInfo>,
    ) -> Option<HttpRoutes> {
        let (first, rest) = self.0.split_first()?;
        let routes = first(HttpRoutes::new(routes.clone(), connection.clone()));
        Some(rest.iter().fold(routes, |inner, layer| layer(inner)))
    }
}

debug_fields!(RouteLayers { count = |layers| layers.0.len() });

#[cfg(test)]
mod tests;
