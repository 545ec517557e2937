//! HTTP by hand, for clients that do what no library would.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use crate::problem::Problem;
use crate::route::{ByteStream, Route};

/// The time that anything may take that the server is to do.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The revision of a legacy client.
pub(crate) const LEGACY: &str = "2025-11-25";

/// The revision of a modern client.
pub(crate) const MODERN: &str = "2026-07-28";

/// The first and the second message of a legacy client.
pub(crate) const GREETING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"bad","version":"1"}}}"#;
pub(crate) const GREETED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The time that a connection may have rested that is used again. The server ends those that rest for
/// long; every client has to allow for that.
const REST: Duration = Duration::from_secs(2);

/// A connection.
pub(crate) struct Raw {
    pub(crate) stream: Box<dyn ByteStream>,
    route: Route,
    read: Vec<u8>,
    /// Since when all that was asked is answered.
    rests: Option<Instant>,
}

/// The beginning of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    text: String,
}

impl Head {
    /// Returns the value of the header of that name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| {
            let (other, value) = line.split_once(':')?;
            other.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Raw {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self, Problem> {
        Self::connect_by(Route::new(address)).await
    }

    pub(crate) async fn connect_by(route: Route) -> Result<Self, Problem> {
        Ok(Self {
            stream: route.connect().await?,
            route,
            read: Vec::new(),
            rests: None,
        })
    }

    /// Writes a request, on another connection if this one has rested for long.
    async fn request(&mut self, text: String) {
        let rested = self.rests.take().is_some_and(|it| it.elapsed() > REST);
        if rested && let Ok(other) = Self::connect_by(self.route.clone()).await {
            *self = other;
        }
        self.write(text).await;
    }

    /// Writes bytes; that the server has gone away is not this side's problem.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = timeout(SOON, self.stream.write_all(bytes.as_ref())).await;
    }

    /// Posts a message with headers, each with its end.
    pub(crate) async fn post(&mut self, path: &str, headers: &str, body: &str) {
        let head = self.post_head(path, headers, body.len());
        self.request(head + body).await;
    }

    /// Returns the head of a POST request with headers, each with its end.
    pub(crate) fn post_head(&self, path: &str, headers: &str, body_bytes: usize) -> String {
        let authorization = self.route.authorization();
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{authorization}{headers}\
             content-length: {body_bytes}\r\n\r\n"
        )
    }

    /// Returns a modern request.
    pub(crate) async fn modern(&mut self, method: &str, params: Value) {
        let (headers, body) = modern(method, params);
        self.post("/mcp", &headers, &body).await;
    }

    /// Returns a message of a session.
    pub(crate) async fn legacy(&mut self, session: &str, message: &Value) {
        self.post("/mcp", &of_session(session), &message.to_string())
            .await;
    }

    /// Opens a session; its id.
    pub(crate) async fn open(&mut self) -> Result<String, Problem> {
        let session = self.greet().await?;
        self.post("/mcp", &of_session(&session), GREETED).await;
        match self.answer().await?.0.status {
            202 => Ok(session),
            status => Err(format!("a handshake that ended with {status}")),
        }
    }

    /// Opens a session without saying that its handshake is over.
    pub(crate) async fn greet(&mut self) -> Result<String, Problem> {
        self.post("/mcp", "", GREETING).await;
        let (head, _) = self.answer().await?;
        let session = head.header("mcp-session-id").map(ToOwned::to_owned);
        session.ok_or_else(|| format!("no session, but {}", head.status))
    }

    /// Asks without a body, with headers, each with its end.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &str) {
        let authorization = self.route.authorization();
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}{headers}\r\n");
        self.request(head).await;
    }

    /// Returns the head of the next answer; an error at the end of the connection, or when none comes.
    pub(crate) async fn head(&mut self) -> Result<Head, Problem> {
        loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                let text: Vec<u8> = self.read.drain(..end + 4).collect();
                let text = String::from_utf8_lossy(&text).into_owned();
                let status = text.get(9..12).and_then(|status| status.parse().ok());
                let status = status.ok_or_else(|| format!("no status: {text:?}"))?;
                return Ok(Head { status, text });
            }
            self.more().await?;
        }
    }

    /// Returns the next whole answer.
    pub(crate) async fn answer(&mut self) -> Result<(Head, Vec<u8>), Problem> {
        let answer = self.whole_answer().await?;
        self.rests = Some(Instant::now());
        Ok(answer)
    }

    async fn whole_answer(&mut self) -> Result<(Head, Vec<u8>), Problem> {
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
        let length = head.header("content-length").and_then(|it| it.parse().ok());
        let length: usize = length.unwrap_or_default();
        while self.read.len() < length {
            self.more().await?;
        }
        let body = self.read.drain(..length).collect();
        Ok((head, body))
    }

    /// Returns the next piece of a chunked body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Vec<u8>, Problem> {
        loop {
            if let Some(end) = find(&self.read, b"\r\n") {
                let size = String::from_utf8_lossy(&self.read[..end]).into_owned();
                let size = usize::from_str_radix(&size, 16)
                    .map_err(|_| format!("no size of a chunk: {size:?}"))?;
                while self.read.len() < end + 2 + size + 2 {
                    self.more().await?;
                }
                let chunk = self.read[end + 2..end + 2 + size].to_vec();
                self.read.drain(..end + 2 + size + 2);
                return Ok(chunk);
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<(), Problem> {
        let read = timeout(SOON, self.stream.read_buf(&mut self.read)).await;
        match read.map_err(|_| "the server says nothing".to_owned())? {
            Ok(0) => Err("the server ended the connection".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("the connection broke: {error}")),
        }
    }

    /// Reads until the server ends the connection, which it has to within `time`.
    pub(crate) async fn ends_within(&mut self, time: Duration) -> Result<(), Problem> {
        let mut rest = [0; 4096];
        let end = async {
            loop {
                match self.stream.read(&mut rest).await {
                    Ok(0) => return,
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                    _ => {}
                }
            }
        };
        let ended = timeout(time, end).await;
        ended.map_err(|_| format!("the connection stands after {time:?}"))
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|part| part == what)
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
    if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
        headers.push_str(&format!("mcp-name: {name}\r\n"));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    (headers, body.to_string())
}

/// Returns the params of a call.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// Returns a request of a legacy client.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
