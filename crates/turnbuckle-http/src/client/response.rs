//! Responses: their content type, the meaning of an error status, and bodies within a limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body as _;
use turnbuckle_session::transport::LinkError;
use turnbuckle_types::AuthorizationFailure;
use turnbuckle_types::base::text::one_line;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::rpc::{self, Message};

use super::error::HttpClientError;
use super::response_body::ClientResponseBody;

/// Bytes that are read of the body of an error response.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;

/// The time that reading the body of an error response may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Characters of a body that error texts show.
const MAX_EXCERPT_CHARS: usize = 512;

/// Characters of `WWW-Authenticate` that are kept.
const MAX_CHALLENGE_CHARS: usize = 8 << 10;

/// The content type of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ContentType {
    Json,
    EventStream,
    Other(String),
    Missing,
}

impl ContentType {
    /// Reads the `Content-Type` header.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(CONTENT_TYPE) else {
            return Self::Missing;
        };
        let name = value.as_bytes().split(|&byte| byte == b';').next();
        let name = name.unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if name.eq_ignore_ascii_case(b"text/event-stream") {
            Self::EventStream
        } else {
            Self::Other(excerpt(name))
        }
    }

    /// Returns the error for a response of a type that the request did not ask for.
    pub(crate) fn to_unexpected_error(&self) -> LinkError {
        let reason = match self {
            Self::Json => "JSON where a stream of events was asked for".to_owned(),
            Self::EventStream => "a stream of events where none was asked for".to_owned(),
            Self::Other(kind) => {
                format!("an answer of type {kind}, which is neither JSON nor a stream of events")
            }
            Self::Missing => "an answer that does not say of which type it is".to_owned(),
        };
        LinkError::ProtocolViolation { reason }
    }
}

/// A response whose status is no success.
#[derive(Debug)]
pub(crate) enum ErrorResponse {
    /// The body is a JSON-RPC error.
    JsonRpc { frame: Bytes, status: u16 },
    /// Any other body.
    Link(LinkError),
}

impl ErrorResponse {
    /// Converts it into an error of the link; the text of a JSON-RPC error is an excerpt of the body.
    pub(crate) fn into_link_error(self) -> LinkError {
        match self {
            Self::JsonRpc { frame, status } => LinkError::HttpStatus {
                status,
                body: excerpt(&frame),
            },
            Self::Link(error) => error,
        }
    }
}

/// Returns whether a response may ask for an authorization, which a layer then obtains.
pub(crate) fn is_challenge(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Reads a response whose status is no success. With a session, 404 means that the server does not
/// know the session.
///
/// Specification: basic/transports, "Session Management" (2025-11-25).
pub(crate) async fn read_error_response(
    response: Response<ClientResponseBody>,
    has_session: bool,
) -> ErrorResponse {
    let (head, mut body) = response.into_parts();
    let status = head.status.as_u16();
    if head.status == StatusCode::NOT_FOUND && has_session {
        return ErrorResponse::Link(LinkError::SessionNotFound);
    }
    // A body that cannot be read is treated as empty.
    let reading = tokio::time::timeout(
        ERROR_BODY_TIMEOUT,
        read_body(&mut body, MAX_ERROR_BODY_BYTES),
    );
    let frame = match reading.await {
        Ok(Ok(body)) => body.bytes,
        Ok(Err(_)) | Err(_) => Bytes::new(),
    };
    if matches!(
        head.status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    ) {
        return ErrorResponse::Link(LinkError::Unauthorized {
            status,
            challenge: authentication_challenge(&head.headers),
            failure: head.extensions.get::<AuthorizationFailure>().cloned(),
            body: excerpt(&frame),
        });
    }
    if is_jsonrpc_error(&frame) {
        return ErrorResponse::JsonRpc { frame, status };
    }
    let body = excerpt(&frame);
    ErrorResponse::Link(LinkError::HttpStatus { status, body })
}

/// The part of a body that was read.
#[derive(Debug)]
pub(crate) struct BodyRead {
    pub(crate) bytes: Bytes,
    pub(crate) is_complete: bool,
}

/// Reads at most `max_bytes` of a body.
pub(crate) async fn read_body(
    body: &mut ClientResponseBody,
    max_bytes: usize,
) -> Result<BodyRead, HttpClientError> {
    // A body of one chunk is not copied.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut is_complete = true;
    while let Some(chunk) = body.next_chunk().await {
        let mut chunk = chunk?;
        let room = max_bytes - first.len() - rest.len();
        is_complete = chunk.len() <= room;
        chunk.truncate(room);
        if first.is_empty() && rest.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&chunk);
        }
        if !is_complete || body.is_end_stream() {
            break;
        }
    }
    let bytes = if rest.is_empty() {
        first
    } else {
        rest.freeze()
    };
    Ok(BodyRead { bytes, is_complete })
}

/// Returns whether a body is a JSON-RPC error.
fn is_jsonrpc_error(frame: &[u8]) -> bool {
    let text = std::str::from_utf8(frame).ok();
    let message = text.and_then(|text| rpc::decode::<Params<'_>>(text).ok());
    matches!(message, Some(Message::Response(response)) if response.outcome.is_err())
}

/// Returns the values of `WWW-Authenticate`.
fn authentication_challenge(headers: &HeaderMap) -> Option<String> {
    let values: Vec<_> = headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let challenge = values
        .join(", ")
        .chars()
        .take(MAX_CHALLENGE_CHARS)
        .collect();
    (!values.is_empty()).then_some(challenge)
}

/// Returns the beginning of a text, as one line that is safe to show.
pub(crate) fn excerpt(text: &[u8]) -> String {
    let text = &text[..text.len().min(4 * MAX_EXCERPT_CHARS)];
    one_line(&String::from_utf8_lossy(text), MAX_EXCERPT_CHARS)
}
