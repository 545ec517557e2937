//! Tests of the callback listener, with a browser that writes its requests byte by byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream as StdStream;
use std::time::Instant;

use turnbuckle_engines::ReservedPort;

use super::*;

async fn listener() -> CallbackListener {
    CallbackListener::bind(CallbackSettings::default(), None)
        .await
        .unwrap()
}

fn address(listener: &CallbackListener) -> SocketAddr {
    listener.listeners[0].local_addr().unwrap()
}

/// Sends bytes on a thread of its own, and returns what came back.
async fn send(address: SocketAddr, request: impl Into<Vec<u8>>) -> String {
    let request = request.into();
    let exchange = tokio::task::spawn_blocking(move || {
        let mut stream = StdStream::connect(address).unwrap();
        // The listener can close before it has read all.
        let _ = stream.write_all(&request);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8(response).unwrap()
    });
    exchange.await.unwrap()
}

fn get(address: SocketAddr, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n\r\n")
}

#[tokio::test]
async fn the_query_of_the_redirect_comes_back() {
    let listener = listener().await;
    let address = address(&listener);
    assert_eq!(
        listener.redirect_uri(),
        format!("http://{address}/callback")
    );
    let redirect = get(
        address,
        "/callback?code=a%20b&state=xyz&iss=https%3A%2F%2Fas",
    );
    let (query, response) = tokio::join!(listener.wait("xyz"), send(address, redirect));
    assert_eq!(query.unwrap(), "code=a%20b&state=xyz&iss=https%3A%2F%2Fas");
    let (head, page) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for line in [
        "Connection: close",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'",
        "Referrer-Policy: no-referrer",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", page.len())),
        "{head}"
    );
    assert!(
        !page.contains("xyz") && page.contains("Back to the application"),
        "{page}"
    );
}

#[tokio::test]
async fn an_error_is_a_redirect_too() {
    let listener = listener().await;
    let address = address(&listener);
    let redirect = get(address, "/callback?error=access_denied&state=s");
    let (query, _) = tokio::join!(listener.wait("s"), send(address, redirect));
    assert_eq!(query.unwrap(), "error=access_denied&state=s");
}

#[tokio::test]
async fn everything_else_is_not_found() {
    let listener = listener().await;
    let address = address(&listener);
    let port = address.port();
    let with_host = |host: &str| format!("GET /callback?state=s HTTP/1.1\r\n{host}\r\n\r\n");
    let requests = [
        get(address, "/"),
        get(address, "/favicon.ico"),
        get(address, "/callback"),
        get(address, "/callback/?state=s"),
        get(address, "/Callback?state=s"),
        get(address, "/callback%3Fstate=s"),
        get(address, &format!("http://{address}/callback?state=s")),
        get(address, "/callback?state=s").replace("GET", "POST"),
        get(address, "/callback?state=s").replace("GET", "HEAD"),
        get(address, "/callback?state=s").replace("GET", "get"),
        get(address, "/callback?state=s").replace("HTTP/1.1", "HTTP/2.0"),
        get(address, "/callback?state=s\u{7f}"),
        get(address, "/callback?state=s é"),
        with_host("X: y"),
        with_host("Host: evil.example"),
        with_host(&format!("Host: evil.example:{port}")),
        with_host(&format!("Host: localhost:{port}")),
        with_host("Host: 127.0.0.1"),
        with_host(&format!("Host: {address}\r\nHost: {address}")),
        with_host(&format!("Host: {address}\r\n folded: x")),
        with_host(&format!("Host : {address}")),
        "\r\n\r\n".to_owned(),
    ];
    let wait = listener.wait("real");
    let browser = async {
        for request in requests {
            let response = send(address, request.clone()).await;
            let (head, page) = response.split_once("\r\n\r\n").unwrap();
            assert!(
                head.starts_with("HTTP/1.1 404 Not Found\r\n"),
                "{request}: {head}"
            );
            assert!(
                head.contains("Connection: close") && head.contains("no-store"),
                "{head}"
            );
            assert!(
                head.contains(&format!("Content-Length: {}\r\n", page.len())),
                "{head}"
            );
        }
        send(address, get(address, "/callback?state=real")).await
    };
    let (query, _) = tokio::join!(wait, browser);
    assert_eq!(query.unwrap(), "state=real");
}

#[tokio::test]
async fn a_redirect_of_another_login_is_refused_and_the_wait_goes_on() {
    let listener = listener().await;
    let address = address(&listener);
    let browser = async {
        for query in [
            "code=c",
            "code=c&xstate=s",
            "code=c&state=",
            "code=c&state=S",
            "code=c&state=other",
            "code=c&state=other&state=s",
            "code=c&state=s&state=s",
            "error=access_denied&state=other",
        ] {
            let response = send(address, get(address, &format!("/callback?{query}"))).await;
            let (head, page) = response.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 400 "), "{query}: {head}");
            let length = format!("Content-Length: {}\r\n", page.len());
            assert!(head.contains(&length), "{head}");
        }
        send(address, get(address, "/callback?code=c&state=%73")).await
    };
    let (query, _) = tokio::join!(listener.wait("s"), browser);
    assert_eq!(query.unwrap(), "code=c&state=%73");
}

#[tokio::test]
async fn idle_connections_and_slow_requests_hold_nothing_up() {
    let listener = listener().await;
    let address = address(&listener);
    let _idle: Vec<_> = (0..5)
        .map(|_| StdStream::connect(address).unwrap())
        .collect();
    let browser = async {
        let mut slow = StdStream::connect(address).unwrap();
        for part in get(address, "/callback?code=c&state=s")
            .as_bytes()
            .chunks(7)
        {
            slow.write_all(part).unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        slow
    };
    let start = Instant::now();
    let (query, _slow) = tokio::join!(listener.wait("s"), browser);
    assert_eq!(query.unwrap(), "code=c&state=s");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_request_that_never_ends_is_closed() {
    let settings = CallbackSettings {
        request_timeout: Duration::from_millis(500),
        ..Default::default()
    };
    let listener = CallbackListener::bind(settings, None).await.unwrap();
    let address = address(&listener);
    let browser = async {
        let response = send(address, "GET /callback?state=s HTTP/1.1\r\n").await;
        assert_eq!(response, "");
        send(address, get(address, "/callback?state=s")).await
    };
    let (query, _) = tokio::join!(listener.wait("s"), browser);
    assert_eq!(query.unwrap(), "state=s");
}

#[tokio::test]
async fn the_head_of_a_request_is_bounded() {
    let listener = listener().await;
    let address = address(&listener);
    let fill = |length: usize| {
        let start = format!("GET /callback?state=s HTTP/1.1\r\nHost: {address}\r\nX: ");
        let padding = "x".repeat(length - start.len());
        format!("{start}{padding}\r\n\r\n")
    };
    let browser = async {
        send(address, fill(MAX_HEAD_BYTES + 1)).await;
        send(address, vec![b'x'; 100_000]).await;
        send(address, fill(MAX_HEAD_BYTES)).await
    };
    let (query, response) = tokio::join!(listener.wait("s"), browser);
    assert_eq!(query.unwrap(), "state=s");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[tokio::test]
async fn the_number_of_requests_is_bounded() {
    let listener = listener().await;
    let address = address(&listener);
    let browser = async {
        for _ in 0..MAX_REQUESTS {
            send(address, get(address, "/nothing")).await;
        }
    };
    let (query, ()) = tokio::join!(listener.wait("s"), browser);
    let error = query.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::LoginUnavailable);
    assert!(error.to_string().contains("32 requests"), "{error}");
}

// requirement: d89a33745faf
#[tokio::test]
async fn the_preferred_redirect_is_used_if_its_port_is_free() {
    let port = ReservedPort::new().unwrap();
    let preferred = format!("http://127.0.0.1:{}/callback", port.number());
    let first = CallbackListener::bind(CallbackSettings::default(), Some(&preferred))
        .await
        .unwrap();
    assert_eq!(first.redirect_uri(), preferred);
    let second = CallbackListener::bind(CallbackSettings::default(), Some(&preferred))
        .await
        .unwrap();
    assert_ne!(second.redirect_uri(), preferred);
    for not_loopback in [
        "http://192.0.2.1:9000/callback",
        "https://127.0.0.1:9000/c",
        "https://app.example/c",
        "x",
    ] {
        let settings = CallbackSettings::default();
        let other = CallbackListener::bind(settings, Some(not_loopback))
            .await
            .unwrap();
        assert!(
            other.redirect_uri().starts_with("http://127.0.0.1:"),
            "{not_loopback}"
        );
    }
}

// requirement: 5452aaca7d95 7042b83154ca
#[tokio::test]
async fn a_fixed_redirect_uri_is_used_or_refused() {
    let port = ReservedPort::new().unwrap();
    let fixed = format!("http://localhost:{}/oauth/callback", port.number());
    let settings = || CallbackSettings {
        redirect_uri: Some(fixed.clone()),
        ..Default::default()
    };
    let listener = CallbackListener::bind(settings(), Some("http://127.0.0.1:1/x"))
        .await
        .unwrap();
    assert_eq!(listener.redirect_uri(), fixed);
    let error = CallbackListener::bind(settings(), None).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::LoginUnavailable);
    assert!(error.to_string().contains(&fixed), "{error}");
    let address = address(&listener);
    let request = format!(
        "GET /oauth/callback?state=s HTTP/1.1\r\nhost: LocalHost:{}\r\n\r\n",
        address.port()
    );
    let (query, _) = tokio::join!(listener.wait("s"), send(address, request));
    assert_eq!(query.unwrap(), "state=s");
    for bad in [
        "https://localhost:1234/",
        "http://example.com:1234/",
        "http://localhost:0/",
        "",
    ] {
        let settings = CallbackSettings {
            redirect_uri: Some(bad.to_owned()),
            ..Default::default()
        };
        let error = CallbackListener::bind(settings, None).await.unwrap_err();
        assert!(
            error.to_string().contains("not one to listen at"),
            "{error}"
        );
    }
}
