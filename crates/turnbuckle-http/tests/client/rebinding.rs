//! DNS rebinding: a name of an attacker that leads to this machine, and every other way to write a host
//! that is not one of the server's own.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use turnbuckle_http::{HttpServer, HttpServerOptions};

use super::server::server;

/// Hosts that are not those of a server on a loopback address.
const FOREIGN: &[&str] = &[
    "attacker.example",
    "localhost.attacker.example",
    "localhost.attacker.example:80",
    "127.0.0.1.attacker.example",
    "127.0.0.1.nip.io",
    "[::1].attacker.example",
    "attacker.example.localhost",
    "notlocalhost",
    "localhost.",
    "localhost.:80",
    "127.0.0.1.",
    ".localhost",
    "localhost@attacker.example",
    "attacker.example@localhost",
    "localhost:80@attacker.example",
    "attacker.example:80@localhost",
    "localhost:pass@127.0.0.1",
    "localhost:80:80",
    "localhost:",
    "localhost:+80",
    "localhost:080000",
    "localhost:65536",
    "localhost:-1",
    "localhost:80a",
    "localhost,attacker.example",
    "localhost/attacker.example",
    "localhost#attacker.example",
    "localhost?attacker.example",
    "localhost\\attacker.example",
    "localhost attacker.example",
    "localhost\tattacker.example",
    "local%68ost",
    "127%2e0%2e0%2e1",
    "localhost%00.attacker.example",
    "%6c%6f%63%61%6c%68%6f%73%74",
    "127.1",
    "127.0.0.2",
    "0.0.0.0",
    "0",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]",
    "[::1%25lo]",
    "[::1%lo]",
    "[::1]x",
    "[::1]]",
    "[::1",
    "::1",
    "http://localhost",
    "\u{ff4c}ocalhost",
    "loca\u{200b}lhost",
    "\"localhost\"",
];

/// Hosts of the server.
const OWN: &[&str] = &[
    "localhost",
    "LOCALHOST:80",
    "LocalHost:1",
    "127.0.0.1",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:80",
];

/// Requests that a request with an own host gets another answer to than 400 and 403.
const ENDPOINTS: [(&str, &str, u16); 3] = [
    ("POST", "/mcp", 415),
    ("GET", "/sse", 406),
    ("GET", "/messages", 406),
];

async fn start() -> SocketAddr {
    let options = HttpServerOptions::new().http_sse(true).health_routes(true);
    #[cfg(feature = "http2")]
    let options = options.http2(true);
    let server = HttpServer::bind(server(), "127.0.0.1:0", options);
    let server = server.await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.serve());
    address
}

/// Returns the status of a request, and 0 if the connection was closed without one.
async fn ask(address: SocketAddr, method: &str, target: &str, head: &str) -> u16 {
    let request = format!(
        "{method} {target} HTTP/1.1\r\n{head}Accept: text/plain\r\nConnection: close\r\n\
         Content-Length: 0\r\n\r\n"
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    let response = String::from_utf8_lossy(&response);
    let status = response.split(' ').nth(1).map(str::parse);
    status.and_then(Result::ok).unwrap_or(0)
}

fn assert_refused(status: u16, request: &str) {
    assert!(matches!(status, 0 | 400 | 403 | 404), "{request}: {status}");
}

#[tokio::test]
async fn a_host_that_is_not_the_servers_own_reaches_no_endpoint() {
    let address = start().await;
    for (method, path, own) in ENDPOINTS {
        for host in OWN {
            let status = ask(address, method, path, &format!("Host: {host}\r\n")).await;
            assert_eq!(status, own, "{path} {host}");
        }
        for host in FOREIGN {
            let status = ask(address, method, path, &format!("Host: {host}\r\n")).await;
            assert_refused(status, &format!("{path} {host}"));
        }
        for head in [
            "",
            "Host:\r\n",
            "Host: localhost\r\nHost: localhost\r\n",
            "Host: localhost\r\nHost: attacker.example\r\n",
            "Host: attacker.example\r\nX-Forwarded-Host: localhost\r\nForwarded: host=localhost\r\n",
        ] {
            assert_refused(ask(address, method, path, head).await, head);
        }
    }
}

#[tokio::test]
async fn a_target_with_another_host_reaches_no_endpoint() {
    let address = start().await;
    for (method, path, own) in ENDPOINTS {
        let absolute = format!("http://localhost{path}");
        let status = ask(address, method, &absolute, "Host: LocalHost\r\n").await;
        assert_eq!(status, own, "{absolute}");
        let foreign = FOREIGN.iter().flat_map(|host| {
            let host = *host;
            [(host, "localhost"), ("localhost", host), (host, host)]
        });
        // Two hosts of the server that differ: a proxy could have looked at the other one.
        let differing = [
            ("localhost:81", "localhost"),
            ("localhost", "127.0.0.1"),
            ("[::1]", "localhost"),
        ];
        for (target, host) in foreign.chain(differing) {
            let target = format!("http://{target}{path}");
            let status = ask(address, method, &target, &format!("Host: {host}\r\n")).await;
            assert_refused(status, &format!("{target} {host}"));
        }
    }
}

#[tokio::test]
async fn a_page_of_another_origin_reaches_no_endpoint() {
    let address = start().await;
    for (method, path, own) in ENDPOINTS {
        let head = |origin: &str| format!("Host: localhost:80\r\nOrigin: {origin}\r\n");
        for origin in [
            "http://localhost",
            "HTTP://LocalHost:80",
            "http://127.0.0.1",
            "http://[::1]",
        ] {
            let status = ask(address, method, path, &head(origin)).await;
            assert_eq!(status, own, "{path} {origin}");
        }
        let more = [
            "null",
            "",
            "localhost",
            "file://localhost",
            "http://localhost:81",
            "http:/localhost",
        ];
        let pages = FOREIGN.iter().map(|host| format!("http://{host}"));
        for origin in pages.chain(more.map(str::to_owned)) {
            let status = ask(address, method, path, &head(&origin)).await;
            assert_refused(status, &format!("{path} {origin}"));
            let preflight = ask(address, "OPTIONS", path, &head(&origin)).await;
            assert_refused(preflight, &format!("preflight of {path} {origin}"));
        }
    }
}

#[tokio::test]
async fn the_routes_of_health_tell_any_host_no_more_than_that_they_are_there() {
    let address = start().await;
    for host in ["localhost", "attacker.example"] {
        let request = format!("GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let response = response.to_ascii_lowercase();
        assert!(response.starts_with("http/1.1 200") && response.ends_with("\r\n\r\nok\n"));
        assert!(!response.contains("access-control-"), "{response}");
    }
}

#[cfg(feature = "http2")]
#[tokio::test]
async fn an_authority_of_http2_that_is_not_the_servers_own_reaches_no_endpoint() {
    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use hyper::client::conn::http2;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let stream = TcpStream::connect(start().await).await.unwrap();
    let io = TokioIo::new(stream);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    // 0 for what is no authority of HTTP/2, or is refused by a reset.
    let ask = async |method: &str, path: &str, authority: &str, host: Option<&str>| {
        let uri = format!("http://{authority}{path}");
        let mut request = Request::builder().method(method).uri(uri);
        request = request.header("accept", "text/plain");
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let Ok(request) = request.body(Full::<Bytes>::default()) else {
            return 0;
        };
        let response = sender.clone().send_request(request).await;
        response.map_or(0, |response| response.status().as_u16())
    };
    for (method, path, own) in ENDPOINTS {
        for host in OWN {
            assert_eq!(ask(method, path, host, None).await, own, "{path} {host}");
            assert_eq!(
                ask(method, path, host, Some(host)).await,
                own,
                "{path} {host}"
            );
        }
        // These would be cut off by the client, as parts of the path.
        let is_authority = |host: &&&str| !host.contains(['/', '#', '?']);
        for host in FOREIGN.iter().filter(is_authority) {
            for (authority, header) in [
                (*host, None),
                (*host, Some(*host)),
                (*host, Some("localhost")),
                ("localhost", Some(*host)),
            ] {
                let status = ask(method, path, authority, header).await;
                assert_refused(status, &format!("{path} {authority} {header:?}"));
            }
        }
    }
}
