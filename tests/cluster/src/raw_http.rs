//! Plain HTTP requests to instances, for what a client of MCP would hide.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::problem::Problem;

/// The revision of the sessions.
const REVISION: &str = "2025-11-25";

/// The most times that a handshake is sent again because the store did not answer in time, as on a machine that
/// is busy with something else.
const BUSY_RETRIES: usize = 20;

/// The time between two of them.
const BUSY_DELAY: Duration = Duration::from_millis(500);

/// Returns the headers of a request in a session.
pub(crate) fn in_session(session: &str) -> [(&str, &str); 2] {
    [
        ("mcp-session-id", session),
        ("mcp-protocol-version", REVISION),
    ]
}

/// A connection to an instance.
pub(crate) struct Connection {
    place: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects to an instance, or to HAProxy.
    pub(crate) async fn open(place: SocketAddr) -> Result<Self, Problem> {
        let stream = TcpStream::connect(place).await?;
        stream.set_nodelay(true)?;
        let io = TokioIo::new(stream);
        let (sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(Self { place, sender })
    }

    /// Sends a message with these headers beside the usual ones.
    pub(crate) async fn post(
        &mut self,
        headers: &[(&str, &str)],
        message: &Value,
    ) -> Result<Response<Incoming>, Problem> {
        let mut request = Request::post("/mcp")
            .header("host", self.place.to_string())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::from(message.to_string()));
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(body)?).await?)
    }

    /// Opens a session, and returns its id.
    pub(crate) async fn open_session(&mut self) -> Result<String, Problem> {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": REVISION, "capabilities": { "elicitation": {} },
                "clientInfo": { "name": "cluster-test", "version": "1.0.0" },
            },
        });
        let mut opened = self.post(&[], &initialize).await?;
        for _ in 0..BUSY_RETRIES {
            if opened.status() != StatusCode::SERVICE_UNAVAILABLE {
                break;
            }
            opened.into_body().collect().await?;
            sleep(BUSY_DELAY).await;
            opened = self.post(&[], &initialize).await?;
        }
        let session = opened.headers().get("mcp-session-id");
        let session = session.ok_or_else(|| format!("no session: {}", opened.status()))?;
        let session = session.to_str()?.to_owned();
        opened.into_body().collect().await?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let done = self.post(&in_session(&session), &initialized).await?;
        done.into_body().collect().await?;
        Ok(session)
    }
}

/// The messages of an SSE stream.
pub(crate) struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    /// Reads the messages of a response.
    pub(crate) fn new(response: Response<Incoming>) -> Self {
        Self {
            body: response.into_body(),
            text: String::new(),
        }
    }

    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> Result<Value, Problem> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let message = data
                    .filter(|data| !data.trim().is_empty())
                    .map(serde_json::from_str)
                    .transpose()?;
                self.text = rest.to_owned();
                if let Some(message) = message {
                    return Ok(message);
                }
                continue;
            }
            let limit = Duration::from_secs(10);
            let frame = tokio::time::timeout(limit, self.body.frame()).await?;
            let frame = frame.ok_or("the stream has ended")??;
            if let Ok(data) = frame.into_data() {
                self.text.push_str(std::str::from_utf8(&data)?);
            }
        }
    }
}
