//! An HTTP/1 client over plain TCP connections, for `http:` servers that no proxy stands before.
//!
//! No task drives a connection: the future of a request drives it until the response is there, then
//! whoever reads the body does, and in between it is idle in a [`ConnectionPool`]. Dropping a request
//! half-way therefore closes its connection and leaves nothing behind.
//!
//! This client stands beside reqwest, which does TLS and proxies, for what it saves. One call of a
//! tool over HTTP costs the client, in instructions (`cargo xtask budget client-http`, November
//! 2026):
//!
//! | row | this client | reqwest | hyper-util's pool |
//! |---|---|---|---|
//! | `client-http-session` | 34,235 | 75,718 (+121 %) 42,563 (+24 %) |
//! | `client-http-modern` | 39,857 | 81,663 (+105 %) 47,988 (+20 %) |
//!
//! To measure one of the others, let [`default_client`](super::default_client::default_client) use it
//! for plain servers, and run the same command.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::connection_pool::ConnectionPool;
use super::error::{HttpClientError, error_chain};
use super::options::HttpClientOptions;
use super::plain_connection::PlainConnection;
use super::request_body::ClientRequestBody;
use super::response::is_challenge;

/// The time after which the system probes a quiet connection.
pub(crate) const TCP_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// An HTTP client over connections of its own, which `C` opens.
#[derive(Clone)]
pub(crate) struct PlainClient<C = TcpConnector> {
    connector: C,
    connect_timeout: Duration,
    pool: Arc<ConnectionPool>,
}

impl PlainClient {
    pub(crate) fn new(options: &HttpClientOptions) -> Self {
        let mut connector = TcpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(TCP_KEEPALIVE_INTERVAL));
        // The connector divides this time among a name's addresses, so that the first ones leave
        // time for the others.
        connector.set_connect_timeout(Some(options.connect_timeout));
        Self::with_connector(connector, options)
    }
}

impl<C> PlainClient<C>
where
    C: Service<Uri, Response = TokioIo<TcpStream>, Error: Error + 'static> + Clone,
{
    pub(crate) fn with_connector(connector: C, options: &HttpClientOptions) -> Self {
        Self {
            connector,
            connect_timeout: options.connect_timeout,
            pool: Arc::new(ConnectionPool::new(
                options.max_idle_connections,
                options.idle_connection_timeout,
            )),
        }
    }

    /// Sends a request over an idle connection or a new one. Dropping the future closes the
    /// connection.
    pub(crate) async fn send(
        self,
        mut request: Request<ClientRequestBody>,
    ) -> Result<Response<PlainBody>, HttpClientError> {
        let target = std::mem::take(request.uri_mut());
        let authority = match target.authority() {
            Some(authority) if target.scheme() == Some(&Scheme::HTTP) => authority,
            _ => return Err(HttpClientError::unreachable("this is no http: URL")),
        };
        if let Some(path) = target.path_and_query() {
            *request.uri_mut() = Uri::from(path.clone());
        }
        while let Some(mut connection) = self.pool.take(authority) {
            match connection.send(request).await {
                Ok(response) => return Ok(with_body(response, connection, self.pool)),
                Err(mut error) => match error.take_message() {
                    // The server had closed the connection: nothing was sent.
                    Some(unsent) => request = unsent,
                    None => return Err(connection_lost(&error.into_error())),
                },
            }
        }
        let mut connection = Box::pin(self.connect(&target, authority)).await?;
        match connection.send(request).await {
            Ok(response) => Ok(with_body(response, connection, self.pool)),
            Err(error) => Err(connection_lost(&error.into_error())),
        }
    }

    #[cfg(test)]
    pub(crate) fn idle_connections(&self) -> usize {
        self.pool.len()
    }

    async fn connect(
        &self,
        target: &Uri,
        authority: &Authority,
    ) -> Result<Box<PlainConnection>, HttpClientError> {
        // The connector's own timeout does not cover the resolution of the name.
        let (timeout, mut connector) = (self.connect_timeout, self.connector.clone());
        let socket = tokio::select! {
            biased;
            () = tokio::time::sleep(timeout) => return Err(HttpClientError::unreachable(format!(
                "no connection stood within {timeout:?} (HttpClientOptions::connect_timeout)"
            ))),
            socket = connector.call(target.clone()) => socket,
        };
        let socket = socket.map_err(|error| HttpClientError::unreachable(error_chain(&error)))?;
        let connection = PlainConnection::new(authority.clone(), socket).await;
        Ok(Box::new(
            connection.map_err(|error| connection_lost(&error))?,
        ))
    }
}

fn connection_lost(error: &hyper::Error) -> HttpClientError {
    HttpClientError::connection_lost(error_chain(error))
}

/// Joins a response with the connection over which its body comes.
fn with_body(
    mut response: Response<Incoming>,
    connection: Box<PlainConnection>,
    pool: Arc<ConnectionPool>,
) -> Response<PlainBody> {
    if is_challenge(response.status())
        && let Some(address) = connection.address()
    {
        response.extensions_mut().insert(address);
    }
    response.map(|incoming| {
        let mut body = PlainBody {
            incoming,
            connection: Some(connection),
            pool,
        };
        if body.incoming.is_end_stream() {
            body.release_connection();
        }
        body
    })
}

/// The body of a response, and its connection until the body has arrived.
pub(crate) struct PlainBody {
    incoming: Incoming,
    connection: Option<Box<PlainConnection>>,
    pool: Arc<ConnectionPool>,
}

impl PlainBody {
    /// Returns the connection to the pool, if it can be used again.
    fn release_connection(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_idle()
        {
            self.pool.put(connection);
        }
    }
}

impl Body for PlainBody {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpClientError>>> {
        let this = &mut *self;
        let Some(connection) = &mut this.connection else {
            return Poll::Ready(None);
        };
        let frame = ready!(connection.poll_body(&mut this.incoming, cx));
        match &frame {
            Some(Ok(_)) if !this.incoming.is_end_stream() => {}
            Some(Ok(_)) | None => this.release_connection(),
            Some(Err(_)) => this.connection = None,
        }
        Poll::Ready(frame.map(|frame| frame.map_err(|error| connection_lost(&error))))
    }

    fn is_end_stream(&self) -> bool {
        self.connection.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
