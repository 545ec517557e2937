//! The head of a request as handlers may see it: method, target and headers without credentials.

use std::sync::Arc;

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::request::Parts;
use turnbuckle_session::HttpHead;

/// A copy of a request's head.
struct RequestHead {
    method: http::Method,
    uri: http::Uri,
    headers: HeaderMap,
}

/// Copies the head of a request, without headers that carry credentials. Returns `None` unless
/// `is_needed`: few servers have a handler that reads it.
pub(crate) fn capture(parts: &Parts, is_needed: bool) -> Option<Arc<dyn HttpHead>> {
    if !is_needed {
        return None;
    }
    let mut headers = parts.headers.clone();
    for secret in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        headers.remove(secret);
    }
    Some(Arc::new(RequestHead {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        headers,
    }))
}

impl HttpHead for RequestHead {
    fn method(&self) -> &str {
        self.method.as_str()
    }

    fn target(&self) -> &str {
        self.uri
            .path_and_query()
            .map_or("/", |target| target.as_str())
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_credentials_are_left_out() {
        let request = http::Request::get("http://here/mcp?x=1")
            .header("X-Tenant", "acme")
            .header("Authorization", "Bearer secret")
            .header("Cookie", "session=secret");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert!(capture(&parts, false).is_none());
        let seen = capture(&parts, true).unwrap();
        assert_eq!((seen.method(), seen.target()), ("GET", "/mcp?x=1"));
        assert_eq!(seen.header("x-tenant"), Some("acme"));
        assert_eq!(seen.header("authorization"), None);
        assert_eq!(seen.header("cookie"), None);
    }
}
