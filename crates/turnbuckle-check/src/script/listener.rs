//! A listener for HTTP on this machine, whose requests a function answers.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Connections that are served at a time; further ones wait.
const MAX_CONNECTIONS: usize = 128;

/// Bytes that the body of a request may have.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Time for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a connection ends, whatever goes on.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);

/// A listener on a free port of 127.0.0.1. Dropping it ends the listener, and connections that it has
/// accepted go on until they time out.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    task: AbortHandle,
}

impl Listener {
    /// Listens, and answers each request by the function.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start<B, F>(
        respond: impl Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        B: Body<Data = Bytes, Error = io::Error> + Send + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let respond = Arc::new(respond);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let task = tokio::spawn(async move {
            while let Ok(permit) = permits.clone().acquire_owned().await {
                let Ok((stream, _)) = listener.accept().await else {
                    continue;
                };
                let respond = respond.clone();
                tokio::spawn(async move {
                    let _permit = permit;
                    let _ = timeout(CONNECTION_TIMEOUT, serve(stream, respond)).await;
                });
            }
        });
        Ok(Self {
            address,
            task: task.abort_handle(),
        })
    }

    /// Returns the address of the listener.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<B, F>(stream: TcpStream, respond: Arc<impl Fn(Request<Bytes>) -> F>)
where
    B: Body<Data = Bytes, Error = io::Error> + Send + 'static,
    F: Future<Output = Response<B>>,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let respond = respond.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await;
            let Ok(Ok(body)) = body else {
                let mut refusal = Response::new(empty());
                *refusal.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
                return Ok::<_, Infallible>(refusal);
            };
            let response = respond(Request::from_parts(head, body.to_bytes())).await;
            Ok(response.map(BodyExt::boxed_unsync))
        }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new());
    // A client that breaks the connection off needs no report.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

fn empty() -> http_body_util::combinators::UnsyncBoxBody<Bytes, io::Error> {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}
