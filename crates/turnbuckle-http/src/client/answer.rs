//! The head of an answer, judged; and its body, read within a bound.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body as _;
use turnbuckle_session::LinkError;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::rpc::{self, Message};

use super::http::{AnswerBody, HttpFailure};

/// Bytes that are read of a body that explains a refusal.
const EXPLANATION: usize = 64 << 10;

/// How long that may take.
const EXPLANATION_TIME: Duration = Duration::from_secs(5);

/// Characters that are shown of it.
const EXCERPT: usize = 512;

/// Characters of a challenge that are kept.
const CHALLENGE: usize = 8 << 10;

/// What a body is said to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Events,
    Other(String),
    None,
}

impl Media {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(CONTENT_TYPE) else {
            return Self::None;
        };
        let kind = value.as_bytes().split(|&byte| byte == b';').next();
        let kind = kind.unwrap_or_default().trim_ascii();
        if kind.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Events
        } else {
            Self::Other(excerpt(kind))
        }
    }

    /// It is not what was asked for.
    pub(crate) fn unexpected(&self) -> LinkError {
        let reason = match self {
            Self::Json => "JSON where a stream of events was asked for".to_owned(),
            Self::Events => "a stream of events where none was asked for".to_owned(),
            Self::Other(kind) => {
                format!("an answer of type {kind}, which is neither JSON nor a stream of events")
            }
            Self::None => "an answer that does not say of which type it is".to_owned(),
        };
        LinkError::Violation { reason }
    }
}

/// A status that is no success, explained.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// By what the body says in the protocol's own words.
    Error { frame: Bytes, status: u16 },
    /// Otherwise.
    Status(LinkError),
}

impl Refusal {
    /// As an error of the link, whatever the body says.
    pub(crate) fn error(self) -> LinkError {
        match self {
            Self::Error { frame, status } => LinkError::Status {
                status,
                body: excerpt(&frame),
            },
            Self::Status(error) => error,
        }
    }
}

/// What a status means that is no success.
pub(crate) async fn refusal(answer: Response<AnswerBody>, has_session: bool) -> Refusal {
    let (head, mut body) = answer.into_parts();
    let status = head.status.as_u16();
    match head.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let challenge = challenge(&head.headers);
            return Refusal::Status(LinkError::Unauthorized { status, challenge });
        }
        StatusCode::NOT_FOUND if has_session => return Refusal::Status(LinkError::SessionGone),
        _ => {}
    }
    // What cannot be read explains nothing.
    let explained = tokio::time::timeout(EXPLANATION_TIME, read(&mut body, EXPLANATION));
    let frame = match explained.await {
        Ok(Ok(body)) => body.bytes,
        Ok(Err(_)) | Err(_) => Bytes::new(),
    };
    if is_error(&frame) {
        return Refusal::Error { frame, status };
    }
    let body = excerpt(&frame);
    Refusal::Status(LinkError::Status { status, body })
}

/// What was read of a body.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) whole: bool,
}

/// Reads a body, at most `max` bytes of it.
pub(crate) async fn read(body: &mut AnswerBody, max: usize) -> Result<Read, HttpFailure> {
    // A body of one piece is taken as it is.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut whole = true;
    while let Some(piece) = body.piece().await {
        let mut piece = piece?;
        let room = max - first.len() - rest.len();
        whole = piece.len() <= room;
        piece.truncate(room);
        if first.is_empty() && rest.is_empty() {
            first = piece;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&piece);
        }
        if !whole || body.is_end_stream() {
            break;
        }
    }
    let bytes = if rest.is_empty() {
        first
    } else {
        rest.freeze()
    };
    Ok(Read { bytes, whole })
}

/// Whether a body is an error of the protocol.
fn is_error(frame: &[u8]) -> bool {
    let text = std::str::from_utf8(frame).ok();
    let message = text.and_then(|text| rpc::decode::<Params<'_>>(text).ok());
    matches!(message, Some(Message::Response(response)) if response.outcome.is_err())
}

fn challenge(headers: &HeaderMap) -> Option<String> {
    let values: Vec<_> = headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let challenge = values.join(", ").chars().take(CHALLENGE).collect();
    (!values.is_empty()).then_some(challenge)
}

/// The beginning of a text, fit to be shown.
pub(crate) fn excerpt(text: &[u8]) -> String {
    let text = &text[..text.len().min(4 * EXCERPT)];
    let text = String::from_utf8_lossy(text);
    let plain = text.trim().chars().filter(|char| !char.is_control());
    plain.take(EXCERPT).collect()
}
