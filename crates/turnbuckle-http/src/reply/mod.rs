//! Replies of the HTTP endpoints: responses, refusals, streams, and the headers that let a page of
//! an allowed origin read them.

mod body;
mod head_check;
mod refusal_log;

use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Extensions, Response, StatusCode};
use turnbuckle_session::internal::{MemoryExceeded, MemoryPermit, count_refusal};
use turnbuckle_types::{AuditOutcome, ErrorKind, ProtocolError};
use turnbuckle_wire::era::{decode_error_code, write_decode_error};
use turnbuckle_wire::revision::Features;
use turnbuckle_wire::rpc::{self, DecodeError};

use crate::event;
use crate::options::HttpServerOptions;
use crate::request::body::BodyError;
use crate::shares::Exceeded;

pub use body::ResponseBody;
pub(crate) use head_check::check_head;
pub(crate) use refusal_log::RefusalLog;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static(event::MEDIA_TYPE);

/// Intermediaries must neither cache nor transform a stream.
const NO_TRANSFORM: HeaderValue = HeaderValue::from_static("no-cache, no-transform");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const NO: HeaderValue = HeaderValue::from_static("no");

/// The time after which a client whose share was used up may try again: others of its entries may have
/// ended by then.
pub(crate) const SHARE_RETRY_DELAY: Duration = Duration::from_secs(4);

/// The reply to an HTTP request.
pub(crate) struct HttpReply {
    code: StatusCode,
    content: Content,
    more: Option<Box<Extra>>,
}

/// The body of a reply.
enum Content {
    Nothing,
    /// A message in one or two parts, and the memory of the first.
    Json(Vec<u8>, Bytes, MemoryPermit),
    Events(ResponseBody),
}

/// Headers, extensions and the refusal, which few replies have.
#[derive(Default)]
struct Extra {
    headers: HeaderMap,
    extensions: Extensions,
    refusal: Option<AuditOutcome<'static>>,
}

impl HttpReply {
    fn new(code: StatusCode, content: Content) -> Self {
        Self {
            code,
            content,
            more: None,
        }
    }

    /// Returns a reply without a body.
    pub(crate) fn empty(code: StatusCode) -> Self {
        Self::new(code, Content::Nothing)
    }

    pub(crate) fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.more.get_or_insert_default().headers
    }

    /// Returns how the audit log records a request that was refused before its message was served.
    pub(crate) fn refusal(&self) -> Option<AuditOutcome<'static>> {
        self.more.as_ref()?.refusal
    }

    /// Returns whether the reply says that the messages were accepted and want no response.
    #[cfg(feature = "store")]
    pub(crate) fn is_accepted(&self) -> bool {
        self.code == StatusCode::ACCEPTED
    }

    fn set_refusal(&mut self, outcome: AuditOutcome<'static>) {
        self.more.get_or_insert_default().refusal = Some(outcome);
    }

    pub(crate) fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.more.get_or_insert_default().extensions
    }

    /// Makes the reply an SSE stream with a single event, for a client that does not accept JSON.
    pub(crate) fn into_event(mut self) -> Self {
        self.content = match self.content {
            Content::Json(frame, tail, memory) if self.code == StatusCode::OK => {
                let event = event::from_answer(frame, &tail);
                Content::Events(ResponseBody::full(memory.attach(event)))
            }
            content => content,
        };
        self
    }

    /// Returns the HTTP response. It reuses the header map of the request.
    pub(crate) fn into_response(self, mut headers: HeaderMap) -> Response<ResponseBody> {
        headers.clear();
        let body = match self.content {
            Content::Nothing => ResponseBody::empty(),
            Content::Json(frame, tail, memory) => {
                headers.insert(header::CONTENT_TYPE, JSON);
                ResponseBody::parts(memory.attach(frame), tail)
            }
            Content::Events(body) => {
                headers.insert(header::CONTENT_TYPE, EVENTS);
                headers.insert(header::CACHE_CONTROL, NO_TRANSFORM);
                headers.insert(X_ACCEL_BUFFERING, NO);
                body
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.code;
        if let Some(more) = self.more {
            headers.extend(more.headers);
            *response.extensions_mut() = more.extensions;
        }
        *response.headers_mut() = headers;
        response
    }
}

/// Returns the reply to a body that is not a message. `features` are those of the sender's
/// revision, if it is known.
pub(crate) fn refusal_reply(refusal: &DecodeError, features: Option<&Features>) -> HttpReply {
    let mut frame = Vec::with_capacity(128);
    write_decode_error(&mut frame, refusal, features);
    let mut reply = json_reply(StatusCode::BAD_REQUEST, frame, Bytes::new());
    let code = decode_error_code(refusal.kind);
    reply.set_refusal(AuditOutcome::Error { code });
    reply
}

/// Returns a reply with an error message that belongs to no request.
pub(crate) fn error_reply(code: StatusCode, message: &str) -> HttpReply {
    let mut frame = Vec::with_capacity(128);
    let number = rpc::code::INVALID_REQUEST;
    rpc::write_error_response_without_id(&mut frame, false, number, message);
    let mut reply = json_reply(code, frame, Bytes::new());
    reply.set_refusal(AuditOutcome::Error { code: number });
    reply
}

/// Returns a reply with the message of a refusal because of a limit, the setting `limit`, and counts
/// it.
#[cold]
pub(crate) fn limit_reply(code: StatusCode, limit: &'static str, message: &str) -> HttpReply {
    count_refusal(limit);
    let mut reply = error_reply(code, message);
    reply.set_refusal(AuditOutcome::Refused { limit });
    reply
}

/// Returns the reply to a handshake that comes too fast, which was counted.
#[cold]
pub(crate) fn too_fast_reply(error: &ProtocolError) -> HttpReply {
    let mut reply = error_reply(StatusCode::TOO_MANY_REQUESTS, error.message());
    if let Some(limit) = error.limit() {
        reply.set_refusal(AuditOutcome::Refused { limit });
    }
    if let ErrorKind::RateLimited {
        retry_after: Some(delay),
    } = error.kind()
    {
        set_retry_after(&mut reply, *delay);
    }
    reply
}

/// Returns a reply with a message in one or two parts.
pub(crate) fn json_reply(code: StatusCode, frame: Vec<u8>, tail: Bytes) -> HttpReply {
    counted_json_reply(code, frame, tail, MemoryPermit::default())
}

/// Returns a reply with a message in one or two parts. `memory` is held until the message was
/// written.
pub(crate) fn counted_json_reply(
    code: StatusCode,
    frame: Vec<u8>,
    tail: Bytes,
    memory: MemoryPermit,
) -> HttpReply {
    HttpReply::new(code, Content::Json(frame, tail, memory))
}

/// Returns the reply to a message that wants no response.
pub(crate) fn accepted_reply() -> HttpReply {
    HttpReply::empty(StatusCode::ACCEPTED)
}

/// Returns a reply that is an SSE stream.
pub(crate) fn stream_reply(body: ResponseBody) -> HttpReply {
    HttpReply::new(StatusCode::OK, Content::Events(body))
}

/// Lets a page of an allowed origin read the response.
pub(crate) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// Returns the reply to a CORS preflight request of a page of an allowed origin.
pub(crate) fn preflight_reply(map: &HeaderMap, methods: HeaderValue) -> HttpReply {
    let mut reply = HttpReply::empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, methods.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    if let Some(wanted) = map.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("3600"),
    );
    reply
}

/// Returns the reply to an HTTP method that the endpoint does not have.
pub(crate) fn method_not_allowed(methods: HeaderValue) -> HttpReply {
    let mut reply = error_reply(
        StatusCode::METHOD_NOT_ALLOWED,
        "this endpoint takes other methods",
    );
    reply.headers_mut().insert(header::ALLOW, methods);
    reply
}

/// Sets the `Retry-After` header.
pub(crate) fn set_retry_after(reply: &mut HttpReply, wait: Duration) {
    let seconds = HeaderValue::from(retry_after_seconds(wait));
    reply.headers_mut().insert(header::RETRY_AFTER, seconds);
}

/// Returns the value of a `Retry-After` header: whole seconds, after which `wait` is over.
pub(crate) fn retry_after_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(1)
}

/// Returns the reply to a request that would add an entry to a table that has no room for it: 429 if
/// the client has its share already, 503 if the table is full. `total` is the setting of the table's
/// total.
#[cold]
pub(crate) fn exceeded_reply(exceeded: Exceeded, things: &str, total: &'static str) -> HttpReply {
    let code = match exceeded {
        Exceeded::Total => StatusCode::SERVICE_UNAVAILABLE,
        Exceeded::Owner | Exceeded::Address => StatusCode::TOO_MANY_REQUESTS,
    };
    let message = exceeded.message(things, total);
    let mut reply = limit_reply(code, exceeded.setting(total), &message);
    set_retry_after(&mut reply, SHARE_RETRY_DELAY);
    reply
}

/// Returns the status of a request for which there is no memory: 429 if its owner has too much, 503 if
/// all owners together have.
pub(crate) fn memory_status(exceeded: &MemoryExceeded) -> StatusCode {
    match exceeded {
        MemoryExceeded::Owner { .. } => StatusCode::TOO_MANY_REQUESTS,
        MemoryExceeded::Total { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Returns the reply to a request for which there is no memory.
#[cold]
pub(crate) fn memory_reply(exceeded: MemoryExceeded) -> HttpReply {
    let message = exceeded.to_string();
    let mut reply = limit_reply(memory_status(&exceeded), exceeded.limit(), &message);
    set_retry_after(&mut reply, exceeded.retry_after());
    reply
}

/// The time after which a client may try again when the store has failed.
#[cfg(feature = "store")]
const STORE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Returns the reply to a request of a session whose store fails.
#[cfg(feature = "store")]
#[cold]
pub(crate) fn store_reply(error: &turnbuckle_store::StoreError) -> HttpReply {
    let error = turnbuckle_types::base::text::Escaped(error);
    let message =
        format!("the store of the sessions failed: {error} (HttpTimeouts::stale_session_ttl)");
    let mut frame = Vec::with_capacity(128);
    let number = rpc::code::INTERNAL_ERROR;
    rpc::write_error_response_without_id(&mut frame, false, number, &message);
    let mut reply = json_reply(StatusCode::SERVICE_UNAVAILABLE, frame, Bytes::new());
    reply.set_refusal(AuditOutcome::Error { code: number });
    set_retry_after(&mut reply, STORE_RETRY_DELAY);
    reply
}

/// Returns the reply to a body that is not declared as JSON.
pub(crate) fn unsupported_media_type() -> HttpReply {
    error_reply(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "the body must be application/json",
    )
}

/// Returns the reply to a body that could not be read.
pub(crate) fn body_error_reply(why: &BodyError, options: &HttpServerOptions) -> HttpReply {
    match why {
        BodyError::TooLarge => {
            let message = format!(
                "a message may have {} bytes at most (HttpServerOptions::max_message_bytes)",
                options.max_message_bytes
            );
            let limit = "HttpServerOptions::max_message_bytes";
            limit_reply(StatusCode::PAYLOAD_TOO_LARGE, limit, &message)
        }
        BodyError::NoMemory(exceeded) => memory_reply(*exceeded),
        BodyError::Broken => error_reply(StatusCode::BAD_REQUEST, "the body broke off"),
        BodyError::TimedOut => limit_reply(
            StatusCode::REQUEST_TIMEOUT,
            "HttpTimeouts::body_timeout",
            "the body did not come in time (HttpTimeouts::body_timeout)",
        ),
    }
}
