//! The client's end of a binding, and the server task at its other end.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use tokio::io::duplex;
use tokio::task::JoinHandle;
use turnbuckle_check::probe::{Arrival, HttpLink, LinesLink, Link, ProbeError, SseLink};
use turnbuckle_check::{Body, BoxFuture, Endpoint, Exchange, Pipe};
use turnbuckle_http::{HttpServerOptions, HttpSse, ResponseBody, StreamableHttp};
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{
    CloseReason, Dispatch, Frame, MemoryTransport, Transport, TransportContext, memory_pair, serve,
};
use turnbuckle_stdio::{StdioOptions, StreamTransport, serve_stream};
use turnbuckle_types::Principal;

use super::{Bind, Case, ClientOptions};
use crate::wires::{BodyInPieces, InPieces};

/// Bytes that a stream holds in one direction.
const STREAM_BYTES: usize = 1 << 20;

/// Bytes that a line to the server may have.
const MAX_LINE: usize = 1 << 20;

/// A connection to a server in this process.
pub(super) struct Served {
    pub(super) link: Box<dyn Link>,
    /// Asks the server to wind down, or to stop.
    pub(super) stop: Signal,
    /// The task of the server, where a connection has one.
    pub(super) task: Option<JoinHandle<CloseReason>>,
}

impl Served {
    pub(super) fn open(case: Case, server: &Server, options: &ClientOptions) -> Self {
        let dispatch: Arc<dyn Dispatch> = server.clone().into();
        let stop = Signal::new();
        let limits = options.limits.clone();
        let http_options = HttpServerOptions::new().limits(options.limits.clone());
        let principal = options.principal.clone().map(Arc::new);
        let context = TransportContext {
            principal: principal.clone(),
            shutdown: Some(stop.clone()),
            ..TransportContext::default()
        };
        let (link, task): (Box<dyn Link>, _) = match case.binding {
            Bind::Pipe => {
                let (ours, theirs) = memory_pair();
                let serving = serve(dispatch, theirs, limits, context, stop.clone());
                (Box::new(MemoryLink(ours)), Some(tokio::spawn(serving)))
            }
            Bind::Stream => {
                let (writer, reading) = duplex(STREAM_BYTES);
                let (writing, reader) = duplex(STREAM_BYTES);
                let place = case.to_string();
                let reading = InPieces::new(reading, &place);
                let writing = InPieces::new(writing, &place);
                let link = LinesLink::new(Pipe {
                    reader: Box::new(reader),
                    writer: Box::new(writer),
                    process: None,
                });
                // Nobody is authenticated on a plain stream: who wants a principal there serves
                // the transport himself.
                let task = if context.principal.is_some() {
                    let transport = StreamTransport::new(reading, writing, MAX_LINE);
                    tokio::spawn(serve(dispatch, transport, limits, context, stop.clone()))
                } else {
                    let options = StdioOptions::new()
                        .max_message_bytes(MAX_LINE)
                        .limits(limits)
                        .stop(stop.clone());
                    tokio::spawn(serve_stream(dispatch, reading, writing, options))
                };
                (Box::new(link), Some(task))
            }
            Bind::Http => {
                let service =
                    StreamableHttp::with_shutdown(server.clone(), http_options, stop.clone());
                let exchange = HttpService { service, principal };
                let endpoint = endpoint("http://localhost/mcp", exchange);
                (Box::new(HttpLink::new(endpoint, case.revision)), None)
            }
            Bind::Sse => {
                let service = HttpSse::with_shutdown(server.clone(), http_options, stop.clone());
                let exchange = SseService { service, principal };
                let endpoint = endpoint("http://localhost/sse", exchange);
                (Box::new(SseLink::new(endpoint)), None)
            }
        };
        Self { link, stop, task }
    }
}

fn endpoint(uri: &'static str, exchange: impl Exchange + 'static) -> Endpoint {
    Endpoint {
        uri: Uri::from_static(uri),
        exchange: Arc::new(exchange),
    }
}

/// Frames of a pair of queues in memory.
struct MemoryLink(MemoryTransport);

impl Link for MemoryLink {
    fn send<'a>(&'a mut self, frame: &'a [u8]) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            self.0.queue(frame);
            Ok(poll_fn(|cx| self.0.poll_flush(cx)).await?)
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Result<Option<Arrival>, ProbeError>> {
        Box::pin(async {
            match poll_fn(|cx| self.0.poll_frame(cx)).await {
                Some(Frame::Message(frame)) => Ok(Some(Arrival::Frame(frame.into()))),
                Some(Frame::TooLong { limit }) => Err(ProbeError::TooMuch {
                    limit,
                    unit: "bytes in a frame",
                }),
                None => Ok(None),
            }
        })
    }

    fn close(&mut self) {
        self.0.close_sending();
    }
}

#[derive(Clone)]
struct HttpService {
    service: StreamableHttp,
    principal: Option<Arc<Principal>>,
}

impl Exchange for HttpService {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Body>>> {
        let Self { service, principal } = self.clone();
        let request = in_pieces(request, principal);
        Box::pin(async move { Ok(body_of(service.answer(request).await)) })
    }
}

#[derive(Clone)]
struct SseService {
    service: HttpSse,
    principal: Option<Arc<Principal>>,
}

impl Exchange for SseService {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Body>>> {
        let Self { service, principal } = self.clone();
        let request = in_pieces(request, principal);
        Box::pin(async move { Ok(body_of(service.answer(request).await)) })
    }
}

fn in_pieces(request: Request<Bytes>, principal: Option<Arc<Principal>>) -> Request<BodyInPieces> {
    let mut request = request.map(BodyInPieces::new);
    if let Some(principal) = principal {
        request.extensions_mut().insert(principal);
    }
    request
}

fn body_of(response: Response<ResponseBody>) -> Response<Body> {
    response.map(|body| body.map_err(io::Error::other).boxed_unsync())
}
