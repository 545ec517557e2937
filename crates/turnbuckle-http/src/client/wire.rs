//! Requests over bare sockets.
//!
//! No task drives a connection: whoever waits for an answer does, then whoever reads its body, and
//! in between it rests in a [`Pool`]. So it ends with the request that it is dropped in the middle
//! of, and nothing is left behind.

use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::http::{HttpFailure, RequestBody, chain};
use super::options::HttpClientOptions;
use super::pool::Pool;
use super::socket::KEEP_ALIVE;

/// Asks servers over connections of its own, which `C` makes.
#[derive(Clone)]
pub(crate) struct Plain<C = HttpConnector> {
    connector: C,
    connect_timeout: Duration,
    pool: Arc<Pool>,
}

impl Plain {
    pub(crate) fn new(options: &HttpClientOptions) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(KEEP_ALIVE));
        // It has a part of that for each address, so that the first ones leave time for the others.
        connector.set_connect_timeout(Some(options.connect_timeout));
        Self::over(connector, options)
    }
}

impl<C> Plain<C>
where
    C: Service<Uri, Response = TokioIo<TcpStream>, Error: Error + 'static> + Clone,
{
    pub(crate) fn over(connector: C, options: &HttpClientOptions) -> Self {
        Self {
            connector,
            connect_timeout: options.connect_timeout,
            pool: Arc::new(Pool::new(options.max_idle, options.idle_timeout)),
        }
    }

    /// Sends a request, over a connection that rested or a new one. Dropping the future closes it.
    pub(crate) async fn ask(
        self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<WireBody>, HttpFailure> {
        let target = std::mem::take(request.uri_mut());
        let authority = match target.authority() {
            Some(authority) if target.scheme() == Some(&Scheme::HTTP) => authority,
            _ => return Err(HttpFailure::unreachable("this is no http: URL")),
        };
        if let Some(path) = target.path_and_query() {
            *request.uri_mut() = Uri::from(path.clone());
        }
        while let Some(mut wire) = self.pool.take(authority) {
            match wire.ask(request).await {
                Ok(answer) => return Ok(wire.answered(answer, self.pool)),
                Err(mut failed) => match failed.take_message() {
                    // It was closed before anything was sent.
                    Some(unsent) => request = unsent,
                    None => return Err(broken(&failed.into_error())),
                },
            }
        }
        let mut wire = Box::pin(self.connect(&target, authority)).await?;
        match wire.ask(request).await {
            Ok(answer) => Ok(wire.answered(answer, self.pool)),
            Err(failed) => Err(broken(&failed.into_error())),
        }
    }

    #[cfg(test)]
    pub(crate) fn resting(&self) -> usize {
        self.pool.len()
    }

    async fn connect(&self, target: &Uri, authority: &Authority) -> Result<Box<Wire>, HttpFailure> {
        // Its name has to be resolved in that time as well.
        let (limit, mut connector) = (self.connect_timeout, self.connector.clone());
        let socket = tokio::select! {
            biased;
            () = tokio::time::sleep(limit) => return Err(HttpFailure::unreachable(format!(
                "no connection stood within {limit:?} (HttpClientOptions::connect_timeout)"
            ))),
            socket = connector.call(target.clone()) => socket,
        };
        let socket = socket.map_err(|error| HttpFailure::unreachable(chain(&error)))?;
        let joined = Builder::new().handshake(socket).await;
        let (sender, connection) = joined.map_err(|error| broken(&error))?;
        Ok(Box::new(Wire {
            authority: authority.clone(),
            sender,
            connection: Some(connection),
        }))
    }
}

fn broken(error: &hyper::Error) -> HttpFailure {
    HttpFailure::broken(chain(error))
}

/// A connection, which moves on only while it is driven.
pub(crate) struct Wire {
    authority: Authority,
    sender: SendRequest<RequestBody>,
    /// Until it has ended. A request that it did not take is given back when it is dropped.
    connection: Option<Connection<TokioIo<TcpStream>, RequestBody>>,
}

impl Wire {
    pub(crate) fn leads_to(&self, authority: &Authority) -> bool {
        self.authority == *authority
    }

    async fn ask(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        // It takes no part in turns: that its own is over, nobody would hear.
        let answer = tokio::task::unconstrained(self.sender.try_send_request(request));
        let mut answer = pin!(answer);
        std::future::poll_fn(|cx| self.drive(cx, |cx| answer.as_mut().poll(cx))).await
    }

    /// Drives the connection until `look` finds something.
    ///
    /// What the connection tells itself is not to wake whoever drives it: they are heard only when
    /// it waits for the server.
    fn drive<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let unheard = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(found) = look(unheard) {
            return Poll::Ready(found);
        }
        self.step(unheard);
        if let Poll::Ready(found) = look(unheard) {
            return Poll::Ready(found);
        }
        self.step(cx);
        match self.connection {
            None => look(cx),
            Some(_) => look(unheard),
        }
    }

    fn step(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            // Why it ended is told to whoever waits for something of it.
            self.connection = None;
        }
    }

    /// Whether another request can be sent.
    fn is_idle(&mut self) -> bool {
        if !self.sender.is_ready() {
            self.step(&mut Context::from_waker(Waker::noop()));
        }
        self.connection.is_some() && self.sender.is_ready()
    }

    fn answered(
        self: Box<Self>,
        answer: Response<Incoming>,
        pool: Arc<Pool>,
    ) -> Response<WireBody> {
        answer.map(|incoming| {
            let mut body = WireBody {
                incoming,
                wire: Some(self),
                pool,
            };
            if body.incoming.is_end_stream() {
                body.rest();
            }
            body
        })
    }
}

/// The body of an answer, and the connection that it comes over until it has come.
pub(crate) struct WireBody {
    incoming: Incoming,
    wire: Option<Box<Wire>>,
    pool: Arc<Pool>,
}

impl WireBody {
    fn rest(&mut self) {
        if let Some(mut wire) = self.wire.take()
            && wire.is_idle()
        {
            self.pool.put(wire);
        }
    }
}

impl Body for WireBody {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFailure>>> {
        let this = &mut *self;
        let Some(wire) = &mut this.wire else {
            return Poll::Ready(None);
        };
        let incoming = &mut this.incoming;
        let frame = ready!(wire.drive(cx, |cx| Pin::new(&mut *incoming).poll_frame(cx)));
        match &frame {
            Some(Ok(_)) if !this.incoming.is_end_stream() => {}
            Some(Ok(_)) | None => this.rest(),
            Some(Err(_)) => this.wire = None,
        }
        Poll::Ready(frame.map(|frame| frame.map_err(|error| broken(&error))))
    }

    fn is_end_stream(&self) -> bool {
        self.wire.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
