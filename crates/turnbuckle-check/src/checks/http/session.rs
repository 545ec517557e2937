//! A session over plain HTTP, for checks that look at heads of requests and responses.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use crate::check::Stop;
use crate::context::CheckContext;
use crate::probe::{Answer, Ask, ProbeError};

/// Time in which the head of a response to GET comes, from a server that sends it at once.
const HEAD_TIMEOUT: Duration = Duration::from_secs(1);

/// A session of a legacy revision. In a modern revision there is none, and requests stay as they are.
pub(crate) struct Session {
    /// The id that the server gave.
    pub(crate) id: Option<HeaderValue>,
    /// The status of the response to `notifications/initialized`; `None` in a modern revision.
    pub(super) initialized: Option<(u16, String)>,
}

impl Session {
    /// Opens a session by the whole handshake.
    pub(crate) async fn open(cx: &mut CheckContext<'_>) -> Result<Self, Stop> {
        Self::open_as(cx, None).await
    }

    /// Opens a session by the whole handshake, with a header of authorization of its own.
    pub(crate) async fn open_as(
        cx: &mut CheckContext<'_>,
        authorization: Option<&str>,
    ) -> Result<Self, Stop> {
        let with_header = |ask: Ask| match authorization {
            Some(value) => ask.header("authorization", value),
            None => ask,
        };
        let mut session = Self {
            id: None,
            initialized: None,
        };
        if cx.is_modern() {
            return Ok(session);
        }
        let answer = with_header(cx.post(&opening(cx))?).send().await?;
        if answer.status != StatusCode::OK.as_u16() {
            return Err(Stop::Broken(ProbeError::Status {
                status: answer.status,
                beginning: String::new(),
                challenge: None,
            }));
        }
        session.id = answer.headers.get("mcp-session-id").cloned();
        let opened = answer.json().await?;
        if opened.get("result").is_none() {
            let error = format!("the server refused `initialize`: {}", opened["error"]);
            return Err(Stop::Broken(ProbeError::Io(error)));
        }
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let answer = with_header(session.post(cx, &initialized)?).send().await?;
        let status = answer.status;
        session.initialized = Some((status, answer.text().await?));
        Ok(session)
    }

    /// Returns a request with the headers of the session.
    pub(crate) fn ask(
        &self,
        cx: &CheckContext<'_>,
        method: Method,
        body: impl Into<Bytes>,
    ) -> Result<Ask, Stop> {
        Ok(self.with_headers(cx, cx.ask(method, body)?))
    }

    /// Returns a POST of a message with the headers of the session.
    pub(crate) fn post(&self, cx: &CheckContext<'_>, message: &Value) -> Result<Ask, Stop> {
        Ok(self.with_headers(cx, cx.post(message)?))
    }

    fn with_headers(&self, cx: &CheckContext<'_>, mut ask: Ask) -> Ask {
        if let Some(id) = &self.id {
            ask = ask.header("mcp-session-id", id);
        }
        if !cx.is_modern() && cx.features().version_header {
            ask = ask.header("mcp-protocol-version", cx.revision().as_str());
        }
        ask
    }
}

/// Sends a GET for the stream of a session. Some servers begin their response with its first event: those are
/// skipped, since the specification sets no time.
pub(super) async fn general_stream(
    cx: &mut CheckContext<'_>,
    session: &Session,
) -> Result<Answer, Stop> {
    let ask = session.ask(cx, Method::GET, "")?;
    match ask.timeout(HEAD_TIMEOUT.min(cx.timeout())).send().await {
        Err(ProbeError::TimedOut { .. }) => Err(Stop::Skip(
            "the response to GET does not begin before there is an event".into(),
        )),
        answer => Ok(answer?),
    }
}

/// Returns the first request of a client: `initialize`, or `server/discover` in a modern revision.
pub(crate) fn opening(cx: &CheckContext<'_>) -> Value {
    if cx.is_modern() {
        return cx.message("check-opening", "server/discover", json!({}));
    }
    let params = cx.options().handshake_params(cx.revision());
    cx.message("check-opening", "initialize", params)
}

/// Returns a request that every server answers and that changes nothing.
pub(crate) fn harmless(cx: &CheckContext<'_>, id: &str) -> Value {
    cx.message(id, cx.harmless_request(), json!({}))
}
