//! The HTTP client over a Unix socket, whatever host a request names.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tower_service::Service;

use super::error::{HttpClientError, error_chain};
use super::options::HttpClientOptions;
use super::request_body::ClientRequestBody;

/// An HTTP/1.1 client over one Unix socket. It keeps idle connections.
#[derive(Clone)]
pub(crate) struct UnixClient(Client<SocketConnector, ClientRequestBody>);

impl UnixClient {
    pub(crate) fn new(socket: Arc<Path>, options: &HttpClientOptions) -> Self {
        let connector = SocketConnector {
            socket,
            options: options.clone(),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(options.max_idle_connections)
            .pool_idle_timeout(options.idle_connection_timeout)
            .build(connector);
        Self(client)
    }
}

impl Service<Request<ClientRequestBody>> for UnixClient {
    type Response = Response<Incoming>;
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let response = self.0.request(request);
        Box::pin(async move {
            response.await.map_err(|error| match error.is_connect() {
                true => HttpClientError::unreachable(error_chain(&error)),
                false => HttpClientError::connection_lost(error_chain(&error)),
            })
        })
    }
}

/// Opens connections to a Unix socket.
#[derive(Clone)]
struct SocketConnector {
    socket: Arc<Path>,
    options: HttpClientOptions,
}

impl Service<Uri> for SocketConnector {
    type Response = TokioIo<UnixStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let (socket, limit) = (self.socket.clone(), self.options.connect_timeout);
        Box::pin(async move {
            let Ok(connected) = timeout(limit, UnixStream::connect(&socket)).await else {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!(
                        "no connection stood within {limit:?} (HttpClientOptions::connect_timeout)"
                    ),
                ));
            };
            let stream = connected.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", socket.display()))
            })?;
            Ok(TokioIo::new(stream))
        })
    }
}
