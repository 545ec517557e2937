//! HTTP/1.1 by hand, for clients that do what no library would.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::problem::Result;
use crate::process::{SOON, within};
use crate::route::{ByteStream, Route};

/// The revisions of a legacy and of a modern client.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// The two messages of a legacy handshake.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"bad","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The header of a request for a stream of events.
pub(crate) const EVENTS: &str = "accept: text/event-stream\r\n";

/// A connection.
pub(crate) struct Raw {
    pub(crate) stream: Box<dyn ByteStream>,
    authorization: String,
    read: Vec<u8>,
}

/// The head of an answer.
pub(crate) struct Head {
    pub(crate) status: u16,
    text: String,
}

impl Head {
    /// Returns the value of a header by its name in lower case.
    fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| {
            let (other, value) = line.split_once(':')?;
            other.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Raw {
    pub(crate) async fn connect(route: &Route) -> Result<Self> {
        Ok(Self {
            stream: route.connect().await?,
            authorization: route.authorization(),
            read: Vec::new(),
        })
    }

    /// Writes bytes. It is no problem of the client if the server has gone away.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = timeout(SOON, self.stream.write_all(bytes.as_ref())).await;
    }

    /// Writes byte by byte, with a pause after each.
    pub(crate) async fn drip(&mut self, bytes: &[u8], pause: Duration) {
        for byte in bytes {
            self.write([*byte]).await;
            sleep(pause).await;
        }
    }

    /// Posts a message, with headers that each have their end.
    pub(crate) async fn post(&mut self, path: &str, headers: &str, body: &str) {
        let head = self.post_head(path, headers, body.len());
        self.write(head + body).await;
    }

    /// Returns the head of a POST request.
    pub(crate) fn post_head(&self, path: &str, headers: &str, body_bytes: usize) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{}{headers}\
             content-length: {body_bytes}\r\n\r\n",
            self.authorization
        )
    }

    /// Sends a request without a body.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &str) {
        let authorization = &self.authorization;
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}{headers}\r\n");
        self.write(head).await;
    }

    /// Sends a modern request.
    pub(crate) async fn modern(&mut self, method: &str, params: Value) {
        let (headers, body) = modern(method, params);
        self.post("/mcp", &headers, &body).await;
    }

    /// Calls a tool as a modern client does.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) {
        self.modern("tools/call", call(tool, arguments)).await;
    }

    /// Sends a message of a session.
    pub(crate) async fn legacy(&mut self, session: &str, message: &Value) {
        let headers = of_session(session);
        self.post("/mcp", &headers, &message.to_string()).await;
    }

    /// Opens a session and returns its id.
    pub(crate) async fn open(&mut self) -> Result<String> {
        let session = self.initialize().await?;
        self.post("/mcp", &of_session(&session), INITIALIZED).await;
        match self.answer().await?.0.status {
            202 => Ok(session),
            status => Err(format!("a handshake that ended with {status}").into()),
        }
    }

    /// Opens a session without the end of its handshake.
    pub(crate) async fn initialize(&mut self) -> Result<String> {
        self.post("/mcp", "", INITIALIZE).await;
        let (head, _) = self.answer().await?;
        let session = head.header("mcp-session-id").map(ToOwned::to_owned);
        Ok(session.ok_or_else(|| format!("no session, but {}", head.status))?)
    }

    /// Ends a session.
    pub(crate) async fn delete(&mut self, session: &str) -> Result {
        self.ask("DELETE", "/mcp", &of_session(session)).await;
        self.answer().await.map(drop)
    }

    /// Returns the head of the next answer.
    pub(crate) async fn head(&mut self) -> Result<Head> {
        let end = self.find(b"\r\n\r\n").await? + 4;
        let text: Vec<u8> = self.read.drain(..end).collect();
        let text = String::from_utf8_lossy(&text).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| format!("no status: {text:?}"))?;
        Ok(Head { status, text })
    }

    /// Returns whether the next answer begins with the status 200.
    pub(crate) async fn succeeds(&mut self) -> bool {
        self.head().await.is_ok_and(|head| head.status == 200)
    }

    /// Returns the next whole answer.
    pub(crate) async fn answer(&mut self) -> Result<(Head, Vec<u8>)> {
        let head = self.head().await?;
        if head.header("transfer-encoding") == Some("chunked") {
            let mut body = Vec::new();
            loop {
                let chunk = self.chunk().await?;
                if chunk.is_empty() {
                    return Ok((head, body));
                }
                body.extend(chunk);
            }
        }
        let length = head
            .header("content-length")
            .and_then(|length| length.parse().ok());
        let body = self.take(length.unwrap_or(0)).await?;
        Ok((head, body))
    }

    /// Returns the next piece of a chunked body, which is empty at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Vec<u8>> {
        let end = self.find(b"\r\n").await?;
        let size = self.take(end + 2).await?;
        let size = usize::from_str_radix(String::from_utf8_lossy(&size).trim(), 16)?;
        let mut chunk = self.take(size + 2).await?;
        chunk.truncate(size);
        Ok(chunk)
    }

    /// Reads up to `end` and returns its place.
    async fn find(&mut self, end: &[u8]) -> Result<usize> {
        loop {
            let mut places = self.read.windows(end.len());
            if let Some(at) = places.position(|part| part == end) {
                return Ok(at);
            }
            self.read_more().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.read.len() < length {
            self.read_more().await?;
        }
        Ok(self.read.drain(..length).collect())
    }

    async fn read_more(&mut self) -> Result {
        let reading = self.stream.read_buf(&mut self.read);
        match within(SOON, "the server says nothing", reading).await? {
            0 => Err("the server ended the connection".into()),
            _ => Ok(()),
        }
    }
}

/// Returns the headers of a message of a session.
pub(crate) fn of_session(session: &str) -> String {
    format!("mcp-session-id: {session}\r\nmcp-protocol-version: {LEGACY}\r\n")
}

/// Returns the headers and the body of a modern request.
pub(crate) fn modern(method: &str, mut params: Value) -> (String, String) {
    let capabilities = json!({"elicitation": {"form": {}}});
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let mut headers = format!("mcp-protocol-version: {MODERN}\r\nmcp-method: {method}\r\n");
    if let Some(name) = params["name"].as_str() {
        headers.push_str(&format!("mcp-name: {name}\r\n"));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    (headers, body.to_string())
}

/// Returns the parameters of a call.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// Returns a request of a legacy client.
pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Returns a call of a legacy client.
pub(crate) fn legacy_call(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", call(tool, arguments))
}

/// Returns a call whose tool sends so many log messages and progress reports before its answer.
pub(crate) fn flood(messages: u64) -> Value {
    json!({"name": "flood", "arguments": {"messages": messages},
        "_meta": {"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}})
}
