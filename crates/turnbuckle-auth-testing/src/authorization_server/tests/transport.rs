//! HTTP: methods, hosts, origins, bounds, shutdown.

use std::time::Duration;

use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Answer, Script, builder, http_client};

async fn raw(script: &Script, request: &str) -> String {
    let address = script
        .server
        .issuer()
        .strip_prefix("http://")
        .unwrap()
        .to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = request.replace("ADDRESS", &address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer));
    _ = read.await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_rebound_name_is_refused() {
    let script = Script::start(builder()).await;
    let path = "GET /.well-known/oauth-authorization-server HTTP/1.1\r\nconnection: close\r\n";
    for (host, status) in [
        ("ADDRESS", "200"),
        ("evil.example", "421"),
        ("127.0.0.1", "421"),
        ("127.0.0.1:1", "421"),
        ("evil.example:80", "421"),
    ] {
        let answer = raw(&script, &format!("{path}host: {host}\r\n\r\n")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{host}: {answer}"
        );
    }
}

#[tokio::test]
async fn each_endpoint_has_its_method_and_media_type() {
    let script = Script::start(builder()).await;
    for (method, path, status) in [
        (Method::GET, "/token", 405),
        (Method::GET, "/register", 405),
        (Method::GET, "/consent", 405),
        (Method::POST, "/authorize", 405),
        (Method::HEAD, "/authorize", 405),
        (Method::POST, "/jwks", 405),
        (Method::HEAD, "/jwks", 200),
        (Method::GET, "/unknown", 404),
        (Method::POST, "/token", 400),
    ] {
        let answer = script
            .http
            .request(method, script.url(path))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
        assert_eq!(
            answer.headers().contains_key("allow"),
            status == 405,
            "{path}"
        );
    }
}

#[tokio::test]
async fn only_pages_of_the_own_machine_may_read_answers() {
    let script = Script::start(builder()).await;
    for (origin, is_allowed) in [
        ("http://localhost:6274", true),
        ("http://127.0.0.1:3000", true),
        ("https://evil.example", false),
        ("http://localhost.evil.example", false),
        ("null", false),
    ] {
        for (method, path) in [(Method::OPTIONS, "/token"), (Method::GET, "/jwks")] {
            let request = script
                .http
                .request(method, script.url(path))
                .header("origin", origin);
            let answer = Answer::read(request.send().await.unwrap()).await;
            let allowed = answer.header("access-control-allow-origin");
            assert_eq!(allowed, if is_allowed { origin } else { "" }, "{path}");
        }
        let url = script.authorization_url(&[]);
        let request = script.http.get(url).header("origin", origin);
        let answer = Answer::read(request.send().await.unwrap()).await;
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
}

#[tokio::test]
async fn large_requests_are_refused() {
    let script = Script::start(builder()).await;
    let form = "x".repeat(70_000);
    let answer = script.post("/token", &[("code", &form)], &[]).await;
    assert_eq!(answer.status, 413);
    let long = "x".repeat(100_000);
    let answer = raw(
        &script,
        &format!("GET /{long} HTTP/1.1\r\nhost: ADDRESS\r\n\r\n"),
    )
    .await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    let query = "x".repeat(20_000);
    assert_eq!(script.authorize(&[("state", &query)]).await.status, 414);
    let headers = "x: y\r\n".repeat(200);
    let answer = raw(
        &script,
        &format!("GET / HTTP/1.1\r\nhost: ADDRESS\r\n{headers}\r\n"),
    )
    .await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    script.log_in().await.ok();
}

#[tokio::test]
async fn a_dropped_server_closes_its_connections() {
    let script = Script::start(builder()).await;
    let url = script.server.jwks_uri();
    script.get(&url).await.ok();
    let Script { server, http } = script;
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(http.get(&url).send().await.is_err());
    assert!(http_client().get(&url).send().await.is_err());
}
