//! Responses of the page's server, with the headers that all of them have.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::{Either, Full};
use serde::Serialize;
use serde_json::json;

use super::events::EventBody;

/// The body of a response.
pub(super) type ReplyBody = Either<Full<Bytes>, EventBody>;

/// A response.
pub(super) type Reply = Response<ReplyBody>;

/// The policy of the page: it loads its own files, and pictures and sounds that it made itself.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     media-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'none'",
);

/// The policy of content from a server, if it is opened on its own: it loads and runs nothing.
const CONTENT_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'");

const COMMON_HEADERS: [(HeaderName, HeaderValue); 5] = [
    (
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    ),
    (
        HeaderName::from_static("referrer-policy"),
        HeaderValue::from_static("no-referrer"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Returns a response with a body of this media type.
pub(super) fn reply(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Reply {
    build(
        status,
        content_type,
        PAGE_POLICY,
        Either::Left(Full::new(body.into())),
    )
}

/// Returns a response with content of a server, which a browser shows without any of its scripts.
pub(super) fn content(content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let body = Either::Left(Full::new(body.into()));
    build(StatusCode::OK, content_type, CONTENT_POLICY, body)
}

/// Returns a stream of events.
pub(super) fn event_stream(events: EventBody) -> Reply {
    build(
        StatusCode::OK,
        "text/event-stream",
        PAGE_POLICY,
        Either::Right(events),
    )
}

/// Returns a response with JSON.
pub(super) fn json(value: &impl Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(text) => reply(StatusCode::OK, "application/json", text),
        Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Returns a response without content.
pub(super) fn done() -> Reply {
    let mut done = reply(StatusCode::NO_CONTENT, "text/plain", Bytes::new());
    done.headers_mut().remove(CONTENT_TYPE);
    done
}

/// Returns a refusal with its reason in a sentence.
pub(super) fn refuse(status: StatusCode, reason: &str) -> Reply {
    let text = json!({ "error": reason }).to_string();
    reply(status, "application/json", text)
}

fn build(
    status: StatusCode,
    content_type: &'static str,
    policy: HeaderValue,
    body: ReplyBody,
) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.extend(COMMON_HEADERS);
    reply
}
