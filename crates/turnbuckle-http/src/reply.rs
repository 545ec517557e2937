//! Responses that every endpoint gives: refusals, acceptance, streams, and what a page may read.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use turnbuckle_session::Features;
use turnbuckle_wire::era::write_refusal;
use turnbuckle_wire::rpc::{self, Refusal, RefusalKind};

use crate::body::{NoBody, ResponseBody};
use crate::config::Config;
use crate::event;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static(event::MEDIA_TYPE);

pub(crate) type Reply = Response<ResponseBody>;

pub(crate) fn malformed(message: &'static str) -> Refusal {
    Refusal {
        kind: RefusalKind::Malformed,
        id: None,
        message: message.into(),
    }
}

/// The answer to a body that is no message.
pub(crate) fn refused(refusal: &Refusal, features: Option<&Features>) -> Reply {
    let mut frame = Vec::with_capacity(128);
    write_refusal(&mut frame, refusal, features);
    json(StatusCode::BAD_REQUEST, frame)
}

/// A response that says in a sentence what is wrong, as an error that belongs to no request.
pub(crate) fn plain(code: StatusCode, message: &str) -> Reply {
    let mut frame = Vec::with_capacity(128);
    rpc::error_without_id(&mut frame, false, rpc::code::INVALID_REQUEST, message);
    json(code, frame)
}

pub(crate) fn json(code: StatusCode, frame: Vec<u8>) -> Reply {
    let mut reply = Response::new(ResponseBody::full(frame));
    *reply.status_mut() = code;
    reply.headers_mut().insert(header::CONTENT_TYPE, JSON);
    reply
}

/// The answer to a message that wants none.
pub(crate) fn accepted() -> Reply {
    let mut reply = Response::new(ResponseBody::empty());
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

/// A response that is a stream.
pub(crate) fn stream(body: ResponseBody) -> Reply {
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENTS);
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    reply
}

/// Lets a page of an allowed origin read the response.
pub(crate) fn share_with(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// Lets a page of an allowed origin ask.
pub(crate) fn preflight(map: &HeaderMap, methods: HeaderValue) -> Reply {
    let mut reply = Response::new(ResponseBody::empty());
    *reply.status_mut() = StatusCode::NO_CONTENT;
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

/// The answer to a method that is not one of these.
pub(crate) fn wrong_method(methods: HeaderValue) -> Reply {
    let mut reply = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "this endpoint takes other methods",
    );
    reply.headers_mut().insert(header::ALLOW, methods);
    reply
}

/// The answer to a body that is not said to be JSON.
pub(crate) fn wrong_type() -> Reply {
    plain(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "the body must be application/json",
    )
}

/// The answer to a body that could not be had.
pub(crate) fn unread(why: &NoBody, config: &Config) -> Reply {
    match why {
        NoBody::TooLarge => {
            let message = format!(
                "a message may have {} bytes at most (Config::max_body)",
                config.max_body
            );
            plain(StatusCode::PAYLOAD_TOO_LARGE, &message)
        }
        NoBody::Broken => plain(StatusCode::BAD_REQUEST, "the body broke off"),
        NoBody::Late => plain(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not come in time (Config::body_time)",
        ),
    }
}
