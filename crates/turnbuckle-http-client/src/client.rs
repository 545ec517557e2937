//! An HTTP/1 client over connections of its own.
//!
//! No task drives a connection: the future of a request drives it until the response is there, then
//! the reader of the body does, and in between it is idle in a [`ConnectionPool`]. Dropping a request
//! half-way therefore closes its connection and leaves nothing behind.
//!
//! This is also the reason for a pool of our own. One call of a tool over HTTP costs the client, in
//! instructions (`cargo xtask budget client-http`, November 2026):
//!
//! | row | this client | hyper-util's pool |
//! |---|---|---|
//! | `client-http-session` | 34,235 | 42,563 (+24 %) |
//! | `client-http-modern` | 39,857 | 47,988 (+20 %) |

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper::body::Incoming;
use turnbuckle_types::PeerAddress;
use turnbuckle_types::base::debug_fields;

use crate::connection::{Connection, Origin};
use crate::connection_pool::ConnectionPool;
use crate::connector::Connector;
use crate::error::ClientError;
use crate::options::ClientOptions;
use crate::proxy::Proxy;

/// An HTTP/1.1 client. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    connector: Arc<Connector>,
    pool: Arc<ConnectionPool>,
}

debug_fields!(Client {});

impl Client {
    /// Creates a client. The proxies of the environment are read once, here.
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        let (most, timeout) = (
            options.max_idle_connections,
            options.idle_connection_timeout,
        );
        let pool = ConnectionPool::new(most, timeout);
        Self::with_parts(Connector::new(options), pool)
    }

    pub(crate) fn with_parts(connector: Connector, pool: ConnectionPool) -> Self {
        Self {
            connector: Arc::new(connector),
            pool: Arc::new(pool),
        }
    }

    /// Returns whether the host's name is looked up on this machine, and not by a proxy.
    #[must_use]
    pub fn resolves_host(&self, target: &Uri) -> bool {
        let proxy = self.connector.proxies.find(target);
        proxy.is_none_or(|proxy| proxy.needs_address())
    }

    /// Sends a request over an idle connection or a new one. Dropping the future closes the
    /// connection.
    ///
    /// # Errors
    /// Fails without the head of a response.
    pub async fn send(
        self,
        request: Request<Bytes>,
    ) -> Result<Response<ResponseBody>, ClientError> {
        self.send_to(request, None).await
    }

    /// Sends a request as [`send`](Self::send) does. With `addresses`, a new connection goes to one
    /// of these, and the host's name is not looked up.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub async fn send_to(
        self,
        request: Request<Bytes>,
        addresses: Option<Vec<IpAddr>>,
    ) -> Result<Response<ResponseBody>, ClientError> {
        let mut request = request.map(Full::new);
        let target = std::mem::take(request.uri_mut());
        let origin = Origin::new(&target).ok_or(ClientError::InvalidUrl)?;
        let proxy = self.connector.proxies.find(&target);
        prepare(&mut request, &target, proxy.as_ref())?;
        while let Some(mut connection) = self.pool.take(&origin) {
            match connection.send(request).await {
                Ok(response) => return Ok(with_body(response, connection, self.pool)),
                Err(mut error) => match error.take_message() {
                    // The server had closed the connection: nothing was sent.
                    Some(unsent) => request = unsent,
                    None => return Err(ClientError::connection_lost(&error.into_error())),
                },
            }
        }
        let opening = self.connector.connect(&target, proxy.as_ref(), addresses);
        let connection = Connection::new(origin, Box::pin(opening).await?).await;
        let connection = connection.map_err(|error| ClientError::connection_lost(&error));
        let mut connection = Box::new(connection?);
        match connection.send(request).await {
            Ok(response) => Ok(with_body(response, connection, self.pool)),
            Err(error) => Err(ClientError::connection_lost(&error.into_error())),
        }
    }

    #[cfg(test)]
    pub(crate) fn idle_connections(&self) -> usize {
        self.pool.len()
    }
}

/// Sets the target of a request and the headers that depend on it.
fn prepare(
    request: &mut Request<Full<Bytes>>,
    target: &Uri,
    proxy: Option<&Proxy>,
) -> Result<(), ClientError> {
    if !request.headers().contains_key(HOST) {
        let host = target
            .authority()
            .map_or("", |authority| authority.as_str());
        let host = HeaderValue::from_str(host).map_err(|_| ClientError::InvalidUrl)?;
        request.headers_mut().insert(HOST, host);
    }
    match (
        proxy.filter(|proxy| proxy.is_forward()),
        target.path_and_query(),
    ) {
        (Some(proxy), _) => {
            proxy.authorize(request.headers_mut());
            *request.uri_mut() = target.clone();
        }
        (None, Some(path)) => *request.uri_mut() = Uri::from(path.clone()),
        (None, None) => {}
    }
    Ok(())
}

/// Joins a response with the connection over which its body comes.
fn with_body(
    response: Response<Incoming>,
    connection: Box<Connection>,
    pool: Arc<ConnectionPool>,
) -> Response<ResponseBody> {
    response.map(|incoming| {
        let mut body = ResponseBody {
            incoming,
            address: connection.address(),
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
pub struct ResponseBody {
    incoming: Incoming,
    address: Option<PeerAddress>,
    connection: Option<Box<Connection>>,
    pool: Arc<ConnectionPool>,
}

debug_fields!(ResponseBody { address });

impl ResponseBody {
    /// Returns the address that the request was sent to: the proxy's, if there is one. A Unix socket
    /// has none.
    #[must_use]
    pub fn peer_address(&self) -> Option<PeerAddress> {
        self.address
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    /// Fails when the body has more than `max_bytes`, and when the connection is lost.
    pub async fn read(self, max_bytes: usize) -> Result<Bytes, ClientError> {
        let read = Limited::new(self, max_bytes).collect().await;
        read.map(Collected::to_bytes)
            .map_err(|error| match error.downcast::<ClientError>() {
                Ok(error) => *error,
                Err(_) => ClientError::BodyTooLarge(max_bytes),
            })
    }

    /// Returns the connection to the pool, if it can be used again.
    fn release_connection(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_idle()
        {
            self.pool.put(connection);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = ClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ClientError>>> {
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
        Poll::Ready(frame.map(|frame| frame.map_err(|error| ClientError::connection_lost(&error))))
    }

    fn is_end_stream(&self) -> bool {
        self.connection.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
