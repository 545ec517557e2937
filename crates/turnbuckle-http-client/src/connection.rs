//! One HTTP/1 connection, driven by its user instead of a task.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::{Body as _, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use turnbuckle_types::PeerAddress;

use crate::connector::{Opened, Stream};

/// The server at the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    is_secure: bool,
    authority: Authority,
}

impl Origin {
    /// Returns the origin of an absolute URL of HTTP.
    pub(crate) fn new(target: &Uri) -> Option<Self> {
        let scheme = target.scheme()?;
        let is_secure = *scheme == Scheme::HTTPS;
        let authority = target
            .authority()
            .filter(|_| is_secure || *scheme == Scheme::HTTP)?;
        Some(Self {
            is_secure,
            authority: authority.clone(),
        })
    }
}

/// A connection as hyper drives it.
type HttpConnection = http1::Connection<TokioIo<Box<dyn Stream>>, Full<Bytes>>;

/// A connection that makes progress only while it is driven.
pub(crate) struct Connection {
    origin: Origin,
    address: Option<PeerAddress>,
    sender: http1::SendRequest<Full<Bytes>>,
    /// The connection, until it has ended. Dropping it hands back a request that it did not take.
    connection: Option<HttpConnection>,
}

impl Connection {
    pub(crate) async fn new(origin: Origin, opened: Opened) -> Result<Self, hyper::Error> {
        let stream = TokioIo::new(opened.stream);
        let (sender, connection) = http1::Builder::new().handshake(stream).await?;
        Ok(Self {
            origin,
            address: opened.address,
            sender,
            connection: Some(connection),
        })
    }

    /// Returns whether the connection leads to this server.
    pub(crate) fn leads_to(&self, origin: &Origin) -> bool {
        self.origin == *origin
    }

    /// Returns the address at the other end.
    pub(crate) fn address(&self) -> Option<PeerAddress> {
        self.address
    }

    /// Sends a request and returns the head of the response.
    ///
    /// # Errors
    /// The error holds the request if nothing of it was sent.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        // Without tokio's cooperative budget: `drive` would not hear that the budget is used up.
        let response = tokio::task::unconstrained(self.sender.try_send_request(request));
        let mut response = pin!(response);
        std::future::poll_fn(|cx| self.drive(cx, |cx| response.as_mut().poll(cx))).await
    }

    /// Polls for the next frame of a response's body.
    pub(crate) fn poll_body(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.drive(cx, |cx| Pin::new(&mut *body).poll_frame(cx))
    }

    /// Drives the connection until `poll` is ready.
    ///
    /// The connection's own wake-ups go to a waker that does nothing; the task is woken only when the
    /// connection waits for the server.
    fn drive<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let no_wake = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(output) = poll(no_wake) {
            return Poll::Ready(output);
        }
        self.poll_connection(no_wake);
        if let Poll::Ready(output) = poll(no_wake) {
            return Poll::Ready(output);
        }
        self.poll_connection(cx);
        match self.connection {
            None => poll(cx),
            Some(_) => poll(no_wake),
        }
    }

    fn poll_connection(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            // The response or its body reports why the connection has ended.
            self.connection = None;
        }
    }

    /// Returns whether another request can be sent.
    pub(crate) fn is_idle(&mut self) -> bool {
        if !self.sender.is_ready() {
            self.poll_connection(&mut Context::from_waker(Waker::noop()));
        }
        self.connection.is_some() && self.sender.is_ready()
    }
}
