//! Servers that answer 100 MB: the proxy never has them in memory. In a program of its own, whose memory is
//! measured.

#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_http::HttpConnector;
use turnbuckle_server::Server;
use turnbuckle_servers::{InProcess, Servers};
use turnbuckle_stdio::Command;

/// The bytes of the text that the tool `large` returns.
const LARGE: usize = 100_000_000;

/// The most memory that may be taken meanwhile: the bound of a message is 16 MiB.
const MAX_GROWTH: usize = 64 << 20;

/// A legacy server on a pipe. Its tool `large` answers with `$SIZE` bytes, and its tool `small` with a word.
const SCRIPT: &str = include_str!("large_answers.sh");

/// Returns the most memory that the program has had so far, in bytes.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: usize = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib << 10)
}

/// Answers requests of one HTTP connection as the script does those of a pipe.
fn answer(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut length = 0;
        let mut is_post = false;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            is_post |= line.starts_with("post ");
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        if !is_post {
            let refused = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n";
            writer.write_all(refused.as_bytes()).ok()?;
            continue;
        }
        let message: Value = serde_json::from_slice(&body).ok()?;
        let schema = json!({"type": "object"});
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let result = match (
            message["method"].as_str(),
            message["params"]["name"].as_str(),
        ) {
            (Some("initialize"), _) => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "large", "version": "1"},
            }),
            (Some("tools/list"), _) => json!({"tools": [
                {"name": "large", "inputSchema": schema}, {"name": "small", "inputSchema": schema},
            ]}),
            (Some("tools/call"), Some("large")) => {
                large_response(&mut writer, &message["id"])?;
                continue;
            }
            (Some("tools/call"), _) => text("word"),
            _ if message["id"].is_null() => {
                let accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
                writer.write_all(accepted.as_bytes()).ok()?;
                continue;
            }
            _ => json!({}),
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        head(&mut writer, body.len())?;
        writer.write_all(body.as_bytes()).ok()?;
    }
}

fn head(writer: &mut impl Write, length: usize) -> Option<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    writer.write_all(head.as_bytes()).ok()
}

fn large_response(writer: &mut impl Write, id: &Value) -> Option<()> {
    let start =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
    let end = r#""}]}}"#;
    head(writer, start.len() + LARGE + end.len())?;
    writer.write_all(start.as_bytes()).ok()?;
    let piece = vec![b'x'; 100_000];
    for _ in 0..LARGE / piece.len() {
        // The client may close the connection.
        writer.write_all(&piece).ok()?;
    }
    writer.write_all(end.as_bytes()).ok()
}

#[tokio::test]
async fn a_result_of_100_mb_is_refused_before_it_is_in_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || answer(stream.unwrap()));
        }
    });
    let pipe = Command::new("sh").args(["-c", SCRIPT]);
    let pipe = pipe.env("SIZE", LARGE.to_string());
    let proxy = Servers::builder("host", "1")
        .server("pipe", pipe)
        .server("web", HttpConnector::new(&url).unwrap())
        .clients(|builder| builder.era(EraPreference::Legacy))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let gateway = InProcess::new(proxy.server().clone());
    let client = Client::builder("c", "1").connect(gateway).await.unwrap();
    for server in ["pipe", "web"] {
        let small = format!("{server}__small");
        let before = peak().unwrap();
        client.call_tool(&small, &()).await.unwrap();
        let refused = client.call_tool(format!("{server}__large"), &()).await;
        let text = match refused {
            Ok(result) => result.text().to_string(),
            Err(error) => error.to_string(),
        };
        let expected = format!("{server}: the server sent a message of more than");
        assert!(text.starts_with(&expected), "{server}: {text:.300}");
        let grown = peak().unwrap() - before;
        assert!(grown < MAX_GROWTH, "{server}: {} MiB", grown >> 20);
        let result = client.call_tool(&small, &()).await.unwrap();
        assert_eq!(result.text(), "word", "{server}");
    }
}
