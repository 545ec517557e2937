//! HTTP/1.1 over wires, with hyper at both ends.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response, Uri};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::task::JoinHandle;
use tower_service::Service;
use turnbuckle_http::{ClientRequestBody, HttpClientError};

use super::Toward;
use super::connections::Wires;
use super::stream::Carries;

/// An endpoint that is reached over a new connection for each request.
#[derive(Clone)]
pub struct WireHttpService<S> {
    wires: Wires,
    endpoint: S,
}

impl Wires {
    /// Returns an HTTP service that reaches an endpoint in this process.
    #[must_use]
    pub fn web<S>(&self, endpoint: S) -> WireHttpService<S> {
        WireHttpService::new(self, endpoint)
    }
}

impl<S> WireHttpService<S> {
    fn new(wires: &Wires, endpoint: S) -> Self {
        Self {
            wires: wires.clone(),
            endpoint,
        }
    }
}

impl<S> fmt::Debug for WireHttpService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireHttpService").finish_non_exhaustive()
    }
}

type Asking = Pin<Box<dyn Future<Output = Result<Response<Answer>, HttpClientError>> + Send>>;

/// The body of an answer.
#[derive(Debug)]
pub struct Answer {
    body: Incoming,
    _driven: Driven,
}

/// Task that drives a connection. It is aborted when the request is dropped or answered: hyper
/// would wait until everything that it began to write is read, possibly for ever.
#[derive(Debug)]
struct Driven(JoinHandle<hyper::Result<()>>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

impl<S, B> Service<Request<ClientRequestBody>> for WireHttpService<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Answer>;
    type Error = HttpClientError;
    type Future = Asking;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Asking {
        let wire = self.wires.trace.next();
        let (lost, twice) = self.wires.script.of_frame((wire, Toward::Server, 0));
        if lost {
            self.wires.trace.open();
            let lost = HttpClientError::connection_lost("the request was lost");
            return Box::pin(std::future::ready(Err(lost)));
        }
        let first = twice.then(|| self.ask(request.clone()));
        let asking = self.ask(request);
        Box::pin(async move {
            // The answer to the first of both reaches nobody.
            if let Some(first) = first {
                drop(first.await);
            }
            asking.await
        })
    }
}

impl<S> WireHttpService<S> {
    fn ask<B>(&self, mut request: Request<ClientRequestBody>) -> Asking
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (client, server, wire) = self.wires.stream(Carries::Bytes);
        let (endpoint, wires) = (self.endpoint.clone(), self.wires.clone());
        let answer = service_fn(move |request| {
            let answering = endpoint.clone().call(request);
            let wires = wires.clone();
            async move {
                let answer = answering.await;
                answer.map(|answer| answer.map(|body| Events::new(body, wires, wire)))
            }
        });
        let mut serving = hyper::server::conn::http1::Builder::new();
        let serving = serving.timer(TokioTimer::new());
        tokio::spawn(serving.serve_connection(TokioIo::new(server), answer));
        Box::pin(async move {
            to_origin_form(&mut request);
            let broken = |error: hyper::Error| HttpClientError::connection_lost(error.to_string());
            let io = TokioIo::new(client);
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io)
                .await
                .map_err(broken)?;
            let driven = Driven(tokio::spawn(connection));
            let answer = sender.send_request(request).await.map_err(broken)?;
            Ok(answer.map(|body| Answer {
                body,
                _driven: driven,
            }))
        })
    }
}

/// As it is asked of a server: the path alone, with the host beside it.
fn to_origin_form<B>(request: &mut Request<B>) {
    let uri = request.uri().clone();
    let authority = uri.authority().map(|authority| authority.as_str());
    let host = HeaderValue::from_str(authority.unwrap_or_default()).expect("an authority");
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().expect("a path");
    request.headers_mut().entry(HOST).or_insert(host);
}

/// A body of which pieces are lost or come twice.
struct Events<B> {
    body: B,
    wires: Wires,
    wire: usize,
    frame: usize,
    again: Option<Bytes>,
}

impl<B> Events<B> {
    fn new(body: B, wires: Wires, wire: usize) -> Self {
        Self {
            body,
            wires,
            wire,
            frame: 0,
            again: None,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Events<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(again) = self.again.take() {
            return Poll::Ready(Some(Ok(Frame::data(again))));
        }
        loop {
            let polled = ready!(Pin::new(&mut self.body).poll_frame(cx));
            let Some(data) = polled
                .as_ref()
                .and_then(|frame| frame.as_ref().ok()?.data_ref())
            else {
                return Poll::Ready(polled);
            };
            let at = (self.wire, Toward::Client, self.frame);
            let (lost, twice) = self.wires.script.of_frame(at);
            let data = data.clone();
            self.frame += 1;
            if twice {
                self.again = Some(data);
            }
            if !lost {
                return Poll::Ready(polled);
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.again.is_none() && self.body.is_end_stream()
    }
}
