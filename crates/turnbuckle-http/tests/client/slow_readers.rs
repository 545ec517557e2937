//! Clients of our own server that read nothing of a response.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tower_service::Service;
use turnbuckle_http::{HttpServer, HttpServerOptions, HttpTimeouts, RequestBody};

use super::server::server;
use super::*;

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

const WRITE_TIMEOUT: Duration = Duration::from_millis(400);

/// More than the sockets of a connection hold.
const BYTES: usize = 32 << 20;

/// A service whose responses tell when their body was freed.
#[derive(Clone)]
struct Download(mpsc::UnboundedSender<oneshot::Receiver<()>>);

/// The bytes of a body. Dropping them drops the sender.
struct Content {
    bytes: Vec<u8>,
    _freed: oneshot::Sender<()>,
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Service<Request<RequestBody>> for Download {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<RequestBody>) -> Self::Future {
        let (_freed, receiver) = oneshot::channel();
        self.0.send(receiver).unwrap();
        let content = Content {
            bytes: vec![0; BYTES],
            _freed,
        };
        ready(Ok(Response::new(Full::new(Bytes::from_owner(content)))))
    }
}

type Bodies = mpsc::UnboundedReceiver<oneshot::Receiver<()>>;

async fn start(options: HttpServerOptions) -> (SocketAddr, Bodies) {
    let (sender, bodies) = mpsc::unbounded_channel();
    let options = options.timeouts(HttpTimeouts::new().write_timeout(WRITE_TIMEOUT));
    let server = HttpServer::bind(server(), "127.0.0.1:0", options);
    let server = server.await.unwrap().route("/download", Download(sender));
    let address = server.local_addr().unwrap();
    tokio::spawn(server.serve());
    (address, bodies)
}

/// Waits until the body of the next response was freed.
async fn freed(bodies: &mut Bodies) {
    let body = bodies.recv().await.unwrap();
    let freed = tokio::time::timeout(PATIENCE, body).await;
    assert!(freed.expect("the body is freed").is_err());
}

async fn request(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /download HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    stream
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_off_and_its_response_freed() {
    let (address, mut bodies) = start(HttpServerOptions::new()).await;
    let mut stream = request(address).await;
    freed(&mut bodies).await;
    // The sockets held a part of it.
    let mut part = Vec::new();
    let _ = stream.read_to_end(&mut part).await;
    assert!(!part.is_empty() && part.len() < BYTES, "{}", part.len());
}

#[cfg(feature = "http2")]
#[tokio::test]
async fn a_client_that_leaves_one_response_of_http2_unread_is_cut_off() {
    use hyper::client::conn::http2;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let (address, mut bodies) = start(HttpServerOptions::new().http2(true)).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let connected = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.unwrap();
    // It answers pings, so that the connection itself is alive.
    let connection = tokio::spawn(connection);
    let request = Request::get("http://localhost/download");
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let _unread = sender.send_request(request).await.unwrap();
    freed(&mut bodies).await;
    let ended = tokio::time::timeout(PATIENCE, connection).await;
    assert!(ended.is_ok(), "the connection ends");
}
