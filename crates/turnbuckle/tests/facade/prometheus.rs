//! The metrics of the process as a route, read by a strict reader of the text format.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;
use turnbuckle::auth::ResourceServer;
use turnbuckle::client::EraPreference;
use turnbuckle::http::{HttpConnector, HttpServer, HttpServerOptions};
use turnbuckle::prelude::*;
use turnbuckle::types::AuditRecord;
use turnbuckle::{Authorize, Client, Revision};

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns the status and the body of a response.
fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head[9..12].to_owned(), body.to_owned())
}

/// Reads one sample: its name, its labels and its value.
fn parse_sample(line: &str) -> Option<(String, BTreeMap<String, String>, f64)> {
    let is_name = |name: &str| {
        let mut chars = name.chars();
        let first = chars
            .next()
            .is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
        first && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    let (name, mut rest) = line.split_at(line.find(['{', ' '])?);
    let mut labels = BTreeMap::new();
    if let Some(mut list) = rest.strip_prefix('{') {
        loop {
            let (label, value) = list.split_once("=\"")?;
            let mut text = String::new();
            let mut chars = value.char_indices();
            let end = loop {
                match chars.next()? {
                    (index, '"') => break index,
                    (_, '\\') => text.push(match chars.next()?.1 {
                        'n' => '\n',
                        char @ ('\\' | '"') => char,
                        _ => return None,
                    }),
                    (_, char) => text.push(char),
                }
            };
            if !is_name(label) || labels.insert(label.to_owned(), text).is_some() {
                return None;
            }
            list = &value[end + 1..];
            match list.strip_prefix(',') {
                Some(next) => list = next,
                None => break,
            }
        }
        rest = list.strip_prefix('}')?;
    }
    let value = rest.strip_prefix(' ')?.parse().ok()?;
    is_name(name).then(|| (name.to_owned(), labels, value))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrape_without_a_token_reads_what_was_measured() {
    let server = Server::new("s", "1.0.0")
        .tools(tools![add])
        .build()
        .unwrap();
    let options = HttpServerOptions::new();
    let server = HttpServer::bind(server, "127.0.0.1:0", options)
        .await
        .unwrap();
    let address = server.local_addr().unwrap();
    let url = server.url();
    let refused = Arc::new(Mutex::new(Vec::new()));
    let records = refused.clone();
    let auth = ResourceServer::builder(&url)
        .audit(move |record: &AuditRecord<'_>| {
            let text = format!("{:?} {:?}", record.outcome, record.client_address);
            records.lock().unwrap().push(text);
        })
        .static_token("tester", "a-token-for-the-test-of-metrics", ["read"])
        .build()
        .unwrap();
    let served = tokio::spawn(server.auth(auth).metrics_route("metrics").serve());
    let status = tokio::task::spawn_blocking(move || get(address, "/mcp").0);
    assert_eq!(status.await.unwrap(), "401");
    let record = "Unauthorized { status: 401, error: None } Some(127.0.0.1)";
    assert_eq!(*refused.lock().unwrap(), [record]);

    let token = "Bearer a-token-for-the-test-of-metrics";
    let connector = HttpConnector::new(&url)
        .unwrap()
        .header("authorization", token)
        .unwrap();
    let client = Client::builder("test", "1")
        .era(EraPreference::Only(Revision::NEWEST))
        .connect(connector)
        .await
        .unwrap();
    client
        .call_tool("add", &json!({"a": 1, "b": 2}))
        .await
        .unwrap();
    client.close().await;

    let (status, text) = tokio::task::spawn_blocking(move || get(address, "/metrics"))
        .await
        .unwrap();
    assert_eq!(status, "200");
    let mut calls = 0.0;
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, labels, value) = parse_sample(line).unwrap_or_else(|| panic!("{line}"));
        let declared = text.lines().any(|declared| {
            let metric = declared
                .strip_prefix("# TYPE ")
                .and_then(|it| it.split(' ').next());
            metric.is_some_and(|metric| name.starts_with(metric))
        });
        assert!(declared, "{line}");
        let is_call = labels
            .get("gen_ai_tool_name")
            .is_some_and(|tool| tool == "add");
        if is_call && name == "mcp_server_operation_duration_seconds_count" {
            calls += value;
        }
    }
    assert!(calls >= 1.0, "{text}");
    served.abort();
}

/// Runs a server on a Unix socket as `run` does, and returns the status of `/metrics`.
#[cfg(unix)]
async fn status_of_run(name: &str, is_on: bool) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixStream;

    let path = std::env::temp_dir().join(format!("turnbuckle-{name}-{}", std::process::id()));
    let mut args = turnbuckle::RunArgs::default();
    args.http = Some(format!("unix:{}", path.display()));
    args.metrics = is_on;
    let served = tokio::spawn(Server::new("s", "1.0.0").tools(tools![add]).run_with(args));
    let mut stream = loop {
        match UnixStream::connect(&path).await {
            Ok(stream) => break stream,
            Err(_) => tokio::task::yield_now().await,
        }
        assert!(!served.is_finished(), "it serves");
    };
    let request = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    served.abort();
    let _ = std::fs::remove_file(path);
    response[9..12].to_owned()
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_shows_its_metrics_only_if_it_is_told_to() {
    assert_eq!(status_of_run("metrics-off", false).await, "404");
    assert_eq!(status_of_run("metrics-on", true).await, "200");
}
