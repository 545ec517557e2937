//! The HTTP/1 listener of the test server, with bounds on everything that a client sends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use turnbuckle_types::base::text::Escaped;

use super::answer::{Answer, DropConnection, empty};
use super::routes;
use super::server::Server;

const MAX_CONNECTIONS: usize = 1_000;
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
const MAX_BODY_BYTES: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest life of a connection, also of a busy one.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);
/// The pause after a failed accept, such as when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The reason why a connection is closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the test server was told to drop the answer")]
struct AnswerDropped;

/// Accepts connections forever. All connections end when the future is dropped.
pub(super) async fn serve(listener: TcpListener, server: Arc<Server>) -> Infallible {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // The semaphore is never closed.
        let permit = Arc::clone(&permits).acquire_owned().await.ok();
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let server = Arc::clone(&server);
        connections.spawn(async move {
            _ = tokio::time::timeout(CONNECTION_TIMEOUT, serve_connection(stream, server)).await;
            drop(permit);
        });
    }
}

async fn serve_connection(stream: TcpStream, server: Arc<Server>) {
    let service = service_fn(move |request| answer(Arc::clone(&server), request));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(error = %Escaped(&error), "a connection to the test authorization server ended");
    }
}

async fn answer(server: Arc<Server>, request: Request<Incoming>) -> Result<Answer, AnswerDropped> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY_BYTES).collect();
    let body: Bytes = match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return Ok(empty(StatusCode::PAYLOAD_TOO_LARGE)),
        Err(_) => return Ok(empty(StatusCode::REQUEST_TIMEOUT)),
    };
    let answer = routes::handle(&server, Request::from_parts(head, body)).await;
    match answer.extensions().get::<DropConnection>() {
        Some(DropConnection) => Err(AnswerDropped),
        None => Ok(answer),
    }
}
