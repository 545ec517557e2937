//! The HTTP/1 listener of the page, with bounds on everything that a browser or another program sends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, header::CONNECTION};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::reply::Reply;
use super::routes::answer;
use super::server::Site;

const MAX_CONNECTIONS: usize = 256;
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// The time that the head of a request may take, and that a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after a failed accept, such as when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections forever. All connections end when the future is dropped.
pub(super) async fn serve(listener: &TcpListener, site: Arc<Site>) -> Infallible {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // The semaphore is never closed.
        let permit = permits.clone().acquire_owned().await.ok();
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Events are small, and each of them is waited for.
        let _ = stream.set_nodelay(true);
        let site = site.clone();
        connections.spawn(async move {
            serve_connection(stream, site).await;
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
pub(super) async fn serve_connection<S>(stream: S, site: Arc<Site>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| respond(site.clone(), request));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that goes away in the middle of an answer is no fault.
    let _ = connection.await;
}

async fn respond(site: Arc<Site>, request: Request<Incoming>) -> Result<Reply, Infallible> {
    let mut reply = answer(&site, request).await;
    if reply.status().is_client_error() {
        // The rest of a body that was refused is not read.
        let close = HeaderValue::from_static("close");
        reply.headers_mut().insert(CONNECTION, close);
    }
    Ok(reply)
}
