//! Responses of HTTP, and the headers that decide about them.

use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use super::streams::SoundBody;

/// The media type of streams.
pub(super) const EVENTS: &str = "text/event-stream";

/// A response of the server.
pub(super) type Reply = Response<SoundBody>;

/// Returns the status of an error of the modern era; the server refused it before it began, or not.
pub(super) fn modern_status(code: i64, is_refused: bool) -> StatusCode {
    match code {
        -32601 => StatusCode::NOT_FOUND,
        -32021 => StatusCode::BAD_REQUEST,
        _ if is_refused => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

pub(super) fn legacy_status(code: i64, _: bool) -> StatusCode {
    match code {
        -32700 | -32600 => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media = kind.and_then(|kind| kind.split(';').next());
    media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}

pub(super) fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let values = headers.get_all(ACCEPT).into_iter();
    let parts = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let kind = media.split('/').next().unwrap_or_default();
    parts
        .map(|part| part.split(';').next().unwrap_or_default().trim())
        .any(|accepted| {
            accepted == "*/*"
                || accepted.eq_ignore_ascii_case(media)
                || accepted == format!("{kind}/*")
        })
}

/// Returns a response without a body.
pub(super) fn status(status: StatusCode) -> Reply {
    let mut reply = Response::new(SoundBody::empty());
    *reply.status_mut() = status;
    reply
}

/// Returns a refusal without a body.
pub(super) fn refuse(code: StatusCode) -> Box<Reply> {
    Box::new(status(code))
}

pub(super) fn refuse_method(methods: &'static str) -> Box<Reply> {
    let mut reply = refuse(StatusCode::METHOD_NOT_ALLOWED);
    reply
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(methods));
    reply
}

pub(super) fn json_reply(status: StatusCode, message: &Value) -> Reply {
    let mut reply = Response::new(SoundBody::full(json!(message).to_string()));
    *reply.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}

pub(super) fn event_reply(body: SoundBody) -> Reply {
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    reply
}

/// Returns whether a request wants events.
pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    accepts(headers, EVENTS)
}
