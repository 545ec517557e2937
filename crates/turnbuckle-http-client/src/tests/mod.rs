//! Tests of connections that are reused, replaced and abandoned.

mod proxies;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, Notify, mpsc};
use tokio::time::Instant;

use crate::connection_pool::ConnectionPool;
use crate::connector::Connector;
use crate::lookup::Lookup;
use crate::proxy::Proxies;
use crate::{Client, ClientError, ClientOptions};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood";

/// Reads one request without a body. Returns whether there was one.
async fn take(socket: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        if socket.read_buf(&mut seen).await.unwrap_or(0) == 0 {
            return false;
        }
    }
    true
}

/// Starts a server that serves each connection with `serve`. Returns its URL and the number of
/// connections so far.
async fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> (String, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(socket));
        }
    });
    (url, count)
}

async fn keep_answering(mut socket: TcpStream) {
    while take(&mut socket).await {
        socket.write_all(GOOD).await.unwrap();
    }
}

fn get(url: &str) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = url.parse().unwrap();
    request
}

fn options() -> ClientOptions {
    ClientOptions {
        max_idle_connections: 32,
        idle_connection_timeout: Duration::from_secs(4),
        ..ClientOptions::default()
    }
}

fn plain() -> Client {
    Client::new(options())
}

async fn ask(plain: &Client, url: &str) -> Result<Bytes, ClientError> {
    let answer = plain.clone().send(get(url)).await?;
    answer.into_body().read(1 << 20).await
}

#[tokio::test]
async fn idle_connections_are_reused_until_their_timeout() {
    let (url, count) = listen(keep_answering).await;
    let plain = plain();
    for _ in 0..3 {
        assert_eq!(ask(&plain, &url).await.unwrap(), "good");
        assert_eq!(plain.idle_connections(), 1);
    }
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let patient = Client::new(ClientOptions {
        idle_connection_timeout: Duration::from_secs(60),
        ..options()
    });
    assert_eq!(ask(&patient, &url).await.unwrap(), "good");
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(
        (plain.idle_connections(), patient.idle_connections()),
        (0, 1)
    );
    tokio::time::resume();
    for client in [&plain, &patient] {
        assert_eq!(ask(client, &url).await.unwrap(), "good");
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }
}

#[tokio::test]
async fn a_connection_closed_while_idle_fails_no_request() {
    let (url, count) = listen(|mut socket| async move {
        take(&mut socket).await;
        socket.write_all(GOOD).await.unwrap();
    })
    .await;
    let plain = plain();
    for number in 1..=3 {
        assert_eq!(ask(&plain, &url).await.unwrap(), "good");
        assert_eq!(count.load(Ordering::Relaxed), number);
    }
}

#[tokio::test]
async fn a_connection_whose_end_was_not_seen_yet_fails_no_request() {
    let (end, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (ends, has_ended) = (end.clone(), ended.clone());
    let (url, count) = listen(move |mut socket| {
        let (end, ended) = (ends.clone(), has_ended.clone());
        async move {
            take(&mut socket).await;
            socket.write_all(GOOD).await.unwrap();
            end.notified().await;
            drop(socket);
            ended.notify_one();
        }
    })
    .await;
    let plain = plain();
    for number in 1..=3 {
        assert_eq!(ask(&plain, &url).await.unwrap(), "good");
        assert_eq!(count.load(Ordering::Relaxed), number);
        assert_eq!(plain.idle_connections(), 1);
        end.notify_one();
        ended.notified().await;
    }
}

/// Returns a lookup with one answer for all names, after a delay.
fn slow_lookup(delay: Duration, address: IpAddr) -> Lookup {
    Arc::new(move |_| {
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            Ok(vec![address])
        })
    })
}

#[tokio::test]
async fn the_connect_timeout_covers_name_resolution() {
    let (url, _) = listen(keep_answering).await;
    let url = url.replace("127.0.0.1", "server.example");
    let limit = Duration::from_secs(3);
    for is_late in [false, true] {
        let delay = if is_late { limit * 2 } else { Duration::ZERO };
        let options = ClientOptions {
            connect_timeout: Some(limit),
            ..options()
        };
        let lookup = slow_lookup(delay, [127, 0, 0, 1].into());
        let connector = Connector::with_parts(options, Proxies::none(), lookup);
        let client = Client::with_parts(connector, ConnectionPool::new(0, limit));
        let begin = Instant::now();
        if is_late {
            tokio::time::pause();
        }
        let asked = ask(&client, &url).await;
        match is_late {
            false => assert_eq!(asked.unwrap(), "good"),
            true => {
                assert!(begin.elapsed() < limit * 2);
                assert_eq!(asked.unwrap_err(), ClientError::ConnectTimedOut(limit));
            }
        }
    }
}

#[tokio::test]
async fn given_addresses_are_used_instead_of_a_lookup() {
    let (url, _) = listen(keep_answering).await;
    let url = url.replace("127.0.0.1", "server.example");
    let addresses = vec![[127, 0, 0, 1].into()];
    let response = plain().send_to(get(&url), Some(addresses)).await.unwrap();
    let address = response.body().peer_address().unwrap();
    assert_eq!(address.ip(), IpAddr::from([127, 0, 0, 1]));
}

#[tokio::test]
async fn idle_connections_are_limited() {
    for most in [32, 40, 1, 0] {
        let options = ClientOptions {
            max_idle_connections: most,
            ..options()
        };
        assert_eq!(idle_of_forty(options).await, most);
    }
}

/// Returns how many connections are idle after forty were used at once.
async fn idle_of_forty(options: ClientOptions) -> usize {
    let all = Arc::new(Barrier::new(40));
    let (url, count) = listen(move |mut socket| {
        let all = all.clone();
        async move {
            take(&mut socket).await;
            all.wait().await;
            socket.write_all(GOOD).await.unwrap();
            let _ = socket.read_u8().await;
        }
    })
    .await;
    let plain = Client::new(options);
    let asked: Vec<_> = (0..40)
        .map(|_| {
            let (plain, url) = (plain.clone(), url.clone());
            tokio::spawn(async move { ask(&plain, &url).await.unwrap() })
        })
        .collect();
    for asked in asked {
        assert_eq!(asked.await.unwrap(), "good");
    }
    assert_eq!(count.load(Ordering::Relaxed), 40);
    plain.idle_connections()
}

#[tokio::test]
async fn dropping_a_request_closes_its_connection() {
    const LARGE: usize = 64 << 20;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let given_up = Arc::new(Notify::new());
    let reads_on = given_up.clone();
    let (url, _) = listen(move |mut socket| {
        let (sender, reads_on) = (sender.clone(), reads_on.clone());
        async move {
            let mut piece = vec![0; 64];
            let mut came = socket.read(&mut piece).await.unwrap();
            if piece.starts_with(b"GET ") {
                let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf";
                socket.write_all(half).await.unwrap();
            }
            sender.send(came).unwrap();
            reads_on.notified().await;
            piece.resize(1 << 20, 0);
            while let Ok(more @ 1..) = socket.read(&mut piece).await {
                came += more;
            }
            sender.send(came).unwrap();
        }
    })
    .await;
    let plain = plain();

    // Without a response, while more is to be sent than the buffers hold.
    let mut large = get(&url);
    *large.method_mut() = Method::POST;
    *large.body_mut() = vec![b' '; LARGE].into();
    let asking = tokio::spawn(plain.clone().send(large));
    assert_eq!(receiver.recv().await, Some(64));
    asking.abort();
    assert!(asking.await.is_err_and(|error| error.is_cancelled()));
    given_up.notify_one();
    assert!(receiver.recv().await.unwrap() < LARGE);

    // With half of the response read.
    let answered = plain.clone().send(get(&url)).await.unwrap();
    let mut body = answered.into_body();
    assert!(body.frame().await.unwrap().is_ok());
    assert!(receiver.recv().await.is_some());
    drop(body);
    given_up.notify_one();
    assert!(receiver.recv().await.is_some());
    assert_eq!(plain.idle_connections(), 0);
}

#[tokio::test]
async fn other_urls_are_refused() {
    for url in ["ftp://127.0.0.1:1/", "/mcp"] {
        assert_eq!(
            ask(&plain(), url).await.unwrap_err(),
            ClientError::InvalidUrl
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_missing_unix_socket_is_named() {
    let client = Client::new(ClientOptions {
        unix_socket: Some(std::path::Path::new("/nowhere/mcp.sock").into()),
        ..options()
    });
    let error = ask(&client, "http://localhost/mcp").await.unwrap_err();
    assert!(!error.is_sent());
    assert!(
        error.to_string().starts_with("/nowhere/mcp.sock: "),
        "{error}"
    );
}
