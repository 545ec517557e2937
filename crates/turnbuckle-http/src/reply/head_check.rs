//! The check of a request's head, before anything else of the request is used.

use http::StatusCode;
use http::request::Parts;

use super::{HttpReply, error_reply, limit_reply};
use crate::options::HttpServerOptions;
use crate::request::head::RequestHeaders;
use crate::request::origin::OriginPolicy;

/// Reads the headers of a request whose head is within the limits, names an allowed host and origin,
/// and announces a body that can be read.
///
/// # Errors
/// Returns the reply to a request with another head. A transfer coding other than `chunked` is refused
/// as RFC 9112, section 6.1, says.
pub(crate) fn check_head<'h>(
    parts: &'h Parts,
    options: &HttpServerOptions,
    allowed: &OriginPolicy,
) -> Result<RequestHeaders<'h>, Box<HttpReply>> {
    let limits = &options.http_limits;
    let most = limits.max_headers;
    if parts.headers.len() > most {
        let message =
            format!("a request may have {most} headers at most (HttpLimits::max_headers)");
        return Err(too_large("HttpLimits::max_headers", &message));
    }
    let head = RequestHeaders::read(&parts.headers);
    let most = limits.max_header_bytes;
    if head.bytes(&parts.method, &parts.uri) > most {
        let message = format!(
            "the head of a request may have {most} bytes at most (HttpLimits::max_header_bytes)"
        );
        return Err(too_large("HttpLimits::max_header_bytes", &message));
    }
    let host = head.requested_host(&parts.uri);
    if let Err(refusal) = allowed.check(host, head.origin) {
        let message = refusal.to_string();
        let reply = limit_reply(StatusCode::FORBIDDEN, refusal.setting(), &message);
        return Err(Box::new(reply));
    }
    if head.has_unknown_coding {
        let message = "a body is sent as it is, or with \"Transfer-Encoding: chunked\" alone";
        let reply = error_reply(StatusCode::NOT_IMPLEMENTED, message);
        return Err(Box::new(reply));
    }
    Ok(head)
}

#[cold]
fn too_large(limit: &'static str, message: &str) -> Box<HttpReply> {
    let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    Box::new(limit_reply(status, limit, message))
}
