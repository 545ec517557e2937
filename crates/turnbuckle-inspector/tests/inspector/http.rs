//! Sessions over HTTP, with turnbuckle's own server in this process, and connections that fail.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower_service::Service;
use turnbuckle_client::EraPreference;
use turnbuckle_http::{
    ClientRequestBody, ClientResponseBody, HttpClient, HttpClientError, HttpConnector, HttpServer,
    HttpServerOptions,
};
use turnbuckle_inspector::api::{ConnectionState, CopyFormat, EntryStatus, Step, TransportKind};
use turnbuckle_inspector::{BoxFuture, ClientSettings, ConnectionObserver, HttpExchange};
use turnbuckle_wire::revision::Revision;

use crate::scripted::only;
use crate::server;
use crate::servers::{Bench, Connect};

/// Reports each exchange to the observer.
#[derive(Clone)]
struct Recording {
    inner: HttpClient,
    observer: ConnectionObserver,
}

impl Service<Request<ClientRequestBody>> for Recording {
    type Response = Response<ClientResponseBody>;
    type Error = HttpClientError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let mut exchange = HttpExchange {
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            status: None,
            request: headers(request.headers()),
            response: Vec::new(),
            error: None,
            duration_us: 1,
            body: request.body().bytes().clone(),
        };
        let observer = self.observer.clone();
        let sent = self.inner.call(request);
        Box::pin(async move {
            let outcome = sent.await;
            match &outcome {
                Ok(response) => {
                    exchange.status = Some(response.status().as_u16());
                    exchange.response = headers(response.headers());
                }
                Err(error) => exchange.error = Some(error.to_string()),
            }
            observer.add_http(&exchange);
            outcome
        })
    }
}

fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

/// Connects to a URL over HTTP.
fn to_url(url: String) -> Connect {
    Box::new(move |observer, _| {
        let observer = observer.clone();
        let record = tower_layer::layer_fn(move |inner| Recording {
            inner,
            observer: observer.clone(),
        });
        let connector = HttpConnector::new(&url)
            .unwrap()
            .header("x-api-key", "key-12345")
            .unwrap();
        (Arc::new(connector.layer(record)), TransportKind::Http)
    })
}

async fn serve() -> String {
    let http = HttpServer::bind(server(), "127.0.0.1:0", HttpServerOptions::new())
        .await
        .unwrap();
    let url = http.url();
    tokio::spawn(http.serve());
    url
}

#[tokio::test]
async fn sessions_over_http_are_shown_with_their_exchanges_in_both_eras() {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let bench = Bench::connect_with(to_url(serve().await), only(revision)).await;
        let inspector = &bench.inspector;
        let n = bench.call("add", r#"{"a":1,"b":2}"#).await;
        bench
            .wait_for_entry(n, |entry| entry.status == EntryStatus::Ok)
            .await;
        let exchanges = inspector.query(&format!("kind:http about:{n} http:200"), 0, 9);
        assert_eq!(exchanges.matching, 1, "{revision}");
        let facts = inspector
            .entry(exchanges.entries[0].n)
            .unwrap()
            .http
            .unwrap();
        let value = |name: &str| {
            let found = facts.request.iter().find(|header| header.name == name);
            found.map(|header| header.value.clone())
        };
        assert_eq!(value("x-api-key").as_deref(), Some("[redacted]"));
        assert_eq!(value("mcp-protocol-version"), Some(revision.to_string()));
        let is_legacy = revision == Revision::V2025_06_18;
        assert_eq!(
            value("mcp-session-id").as_deref(),
            is_legacy.then_some("[redacted]")
        );
        let line = inspector.copy(n, CopyFormat::Curl).unwrap();
        assert!(line.contains(r#"-H 'x-api-key: '"$X_API_KEY""#), "{line}");
        assert!(
            line.starts_with("curl --globoff -sSNX POST http://127.0.0.1:"),
            "{line}"
        );
        assert!(
            line.contains(r#""arguments":{"a":1,"b":2}"#) && !line.contains("key-12345"),
            "{line}"
        );
        inspector.close_all().await;
    }
}

/// Answers each connection with the same bytes.
async fn answer_with(answer: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("127.0.0.1:{}", address.port())
}

#[tokio::test]
async fn a_failed_connection_over_http_names_its_step() {
    let refused = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let broken =
        "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\nconnection: close\r\n\r\nboom";
    let locked = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for (url, expected, word) in [
        (format!("http://{refused}/mcp"), Step::Connect, "refused"),
        (
            format!("https://{}/mcp", answer_with("no TLS").await),
            Step::Tls,
            "TLS",
        ),
        (
            format!("http://{}/mcp", answer_with(broken).await),
            Step::Http,
            "500",
        ),
        (
            format!("http://{}/mcp", answer_with(locked).await),
            Step::Authorization,
            "401",
        ),
    ] {
        let settings = ClientSettings {
            era: EraPreference::Modern,
            ..ClientSettings::default()
        };
        let bench = Bench::open_with(to_url(url), settings);
        bench
            .wait(|state| matches!(state.sessions[0].connection, ConnectionState::Failed { .. }))
            .await;
        let ConnectionState::Failed { step, errors, .. } = bench.connection() else {
            panic!("{:?}", bench.connection());
        };
        assert_eq!(step, expected, "{errors:?}");
        assert!(
            errors.iter().any(|error| error.contains(word)),
            "{errors:?}"
        );
        assert_eq!(bench.inspector.query("status:open", 0, 9).matching, 0);
    }
}
