//! HTTP/2 in our own server, and its bounds.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use turnbuckle_http::{HttpConnector, HttpLimits, HttpServer, HttpServerOptions, HttpTimeouts};

use super::server::server;
use super::*;

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first bytes of an HTTP/2 client: the preface, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

async fn start(options: HttpServerOptions) -> (SocketAddr, HttpConnector) {
    let options = options.http2(true).health_routes(true);
    let server = HttpServer::bind(server(), "127.0.0.1:0", options)
        .await
        .unwrap();
    let reached = (
        server.local_addr().unwrap(),
        HttpConnector::new(&server.url()).unwrap(),
    );
    tokio::spawn(server.serve());
    reached
}

type Sender = http2::SendRequest<Full<Bytes>>;

async fn handshake<S>(stream: S) -> Sender
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn get(path: &str) -> http::request::Builder {
    Request::get(format!("http://localhost{path}"))
}

async fn send(sender: &mut Sender, request: http::request::Builder) -> (StatusCode, Bytes) {
    let response = sender.send_request(request.body(Full::default()).unwrap());
    let response = tokio::time::timeout(PATIENCE, response)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    let status = response.status();
    (
        status,
        response.into_body().collect().await.unwrap().to_bytes(),
    )
}

#[tokio::test]
async fn clients_speak_either_version_on_one_port() {
    let (address, connector) = start(HttpServerOptions::new()).await;
    let mut sender = handshake(TcpStream::connect(address).await.unwrap()).await;
    assert_eq!(
        send(&mut sender, get("/livez")).await,
        (StatusCode::OK, "ok\n".into())
    );
    let (status, _) = send(&mut sender, get("/mcp")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "a GET without a session");
    let foreign = Request::get("http://evil.example/mcp");
    assert_eq!(send(&mut sender, foreign).await.0, StatusCode::FORBIDDEN);

    let client = Client::legacy(&connector, Revision::V2025_11_25).await;
    client.request(1, "ping", json!({})).await.unwrap();
    client.link.close().await;
}

#[tokio::test]
async fn a_connection_has_so_many_open_requests_and_so_large_headers() {
    let options = HttpServerOptions::new().http_limits(
        HttpLimits::new()
            .max_http2_streams(3)
            .max_header_bytes(10_000),
    );
    let (address, _) = start(options).await;
    // The first frame of the server has its settings: two bytes of a name, four of a value.
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(PREFACE).await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    let mut settings = vec![0; usize::from(head[2])];
    stream.read_exact(&mut settings).await.unwrap();
    let setting = |name| {
        let found = settings.chunks(6).find(|setting| setting[1] == name);
        u32::from_be_bytes(found.unwrap()[2..6].try_into().unwrap())
    };
    // SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_MAX_HEADER_LIST_SIZE, in which HTTP/2 counts 32
    // bytes more for each of 64 headers.
    assert_eq!((head[3], setting(3), setting(6)), (4, 3, 10_000 + 64 * 32));

    let mut sender = handshake(TcpStream::connect(address).await.unwrap()).await;
    let large = get("/livez").header("x-large", "x".repeat(20_000));
    let (status, _) = send(&mut sender, large).await;
    assert_eq!(status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
}

#[tokio::test]
async fn a_client_that_opens_and_resets_requests_is_disconnected() {
    let (address, _) = start(HttpServerOptions::new()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut attack = PREFACE.to_vec();
    for id in (1..2001_u32).step_by(2) {
        // HEADERS that end the stream: GET http / with the authority `a`.
        attack.extend([0, 0, 6, 1, 5]);
        attack.extend(id.to_be_bytes());
        attack.extend([0x82, 0x86, 0x84, 0x41, 1, b'a']);
        // RST_STREAM: CANCEL.
        attack.extend([0, 0, 4, 3, 0]);
        attack.extend(id.to_be_bytes());
        attack.extend([0, 0, 0, 8]);
    }
    // The server may disconnect before it has read everything.
    let _ = stream.write_all(&attack).await;
    let mut frames = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut frames)).await;
    let mut rest = &frames[..];
    while let [a, b, c, kind, _, _, _, _, _, payload @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        // GOAWAY: ENHANCE_YOUR_CALM.
        if *kind == 7 && payload[4..8] == [0, 0, 0, 11] {
            return;
        }
        rest = &payload[length..];
    }
    panic!("the server does not end the connection: {frames:?}");
}

/// Opens `count` requests on a new connection, and gives the server no window for their responses.
/// Returns the connection, and the number of requests that the server refused.
async fn open_without_windows(address: SocketAddr, count: u32) -> (TcpStream, usize) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0".to_vec();
    for id in (1..2 * count).step_by(2) {
        // HEADERS that end the stream: GET http / with the authority `localhost`.
        sent.extend([0, 0, 14, 1, 5]);
        sent.extend(id.to_be_bytes());
        sent.extend(b"\x82\x86\x84\x41\x09localhost");
    }
    stream.write_all(&sent).await.unwrap();
    let (mut answered, mut refused) = (0, 0);
    while answered + refused < count as usize {
        let mut head = [0; 9];
        let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut head)).await;
        read.expect("every request ends").unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await.unwrap();
        match head[3] {
            1 => answered += 1,
            // RST_STREAM: REFUSED_STREAM.
            3 if payload == [0, 0, 0, 7] => refused += 1,
            3 => panic!("reset for {payload:?}"),
            _ => {}
        }
    }
    (stream, refused)
}

#[tokio::test]
async fn open_requests_of_one_address_leave_half_of_the_memory_to_others() {
    const TOTAL: usize = 400 << 10;
    let limits = turnbuckle_session::handler::Limits::new().max_total_bytes(TOTAL);
    let (address, _) = start(HttpServerOptions::new().limits(limits)).await;
    let mut held = Vec::new();
    let mut refused = 0;
    for _ in 0..4 {
        let (stream, some) = open_without_windows(address, 20).await;
        held.push(stream);
        refused += some;
    }
    // 5 KiB are counted for each.
    assert_eq!(refused, 80 - (TOTAL / 2) / (5 << 10));

    let elsewhere = tokio::net::TcpSocket::new_v4().unwrap();
    elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = handshake(elsewhere.connect(address).await.unwrap()).await;
    assert_eq!(send(&mut other, get("/livez")).await.0, StatusCode::OK);

    drop(held);
    // The server sees the end of a connection at any time after that.
    for _ in 0..1000 {
        let (_stream, refused) = open_without_windows(address, 20).await;
        if refused == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the memory of closed connections is not free");
}

#[tokio::test]
async fn a_connection_without_requests_is_closed() {
    let limit = Duration::from_millis(100);
    let (address, _) =
        start(HttpServerOptions::new().timeouts(HttpTimeouts::new().header_timeout(limit))).await;
    // Silent, between both versions, and HTTP/2 without a request.
    for start in [&b""[..], b"PRI * HT", PREFACE] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(start).await.unwrap();
        let mut frames = Vec::new();
        let read = stream.read_to_end(&mut frames);
        let _ = tokio::time::timeout(PATIENCE, read).await.expect("the end");
    }
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_client_chooses_its_version_over_tls() {
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
    use turnbuckle_http::TlsIdentity;

    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (issued.cert.pem(), issued.signing_key.serialize_pem());
    let identity = TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
    let options = HttpServerOptions::new()
        .tls(identity)
        .http2(true)
        .health_routes(true);
    let server = HttpServer::bind(server(), "127.0.0.1:0", options)
        .await
        .unwrap();
    let port = server.local_addr().unwrap().port();
    assert_eq!(server.url(), format!("https://127.0.0.1:{port}/mcp"));
    let shutdown = server.shutdown();
    let serving = tokio::spawn(server.serve());

    let mut roots = RootCertStore::empty();
    roots.add(issued.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    for version in [&b"h2"[..], b"http/1.1"] {
        let mut config = config.clone();
        config.alpn_protocols = vec![version.to_vec()];
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let mut stream = connected.await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(version));
        if version == b"h2" {
            let mut sender = handshake(stream).await;
            assert_eq!(send(&mut sender, get("/livez")).await.0, StatusCode::OK);
        } else {
            let request = "GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        }
    }

    // Our own client trusts the certificate by its setting.
    let connector = HttpConnector::new(&format!("https://localhost:{port}/mcp")).unwrap();
    let connector = connector
        .ca_certificate_pem(certificate.as_bytes())
        .unwrap();
    let client = Client::legacy(&connector, Revision::V2025_11_25).await;
    client.request(1, "ping", json!({})).await.unwrap();
    client.link.close().await;
    shutdown.close();
    serving.await.unwrap().unwrap();
}
