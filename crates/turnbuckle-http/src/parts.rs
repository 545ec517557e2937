//! The head of a request, for handlers that look at it.

use std::sync::Arc;

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::request::Parts;
use turnbuckle_session::HttpHead;

/// What a handler may see of a request.
struct Seen {
    method: http::Method,
    uri: http::Uri,
    headers: HeaderMap,
}

/// What a handler may see of a request, if one `wants` to.
pub(crate) fn seen(parts: &Parts, wants: bool) -> Option<Arc<dyn HttpHead>> {
    if !wants {
        return None;
    }
    let mut headers = parts.headers.clone();
    for secret in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        headers.remove(secret);
    }
    Some(Arc::new(Seen {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        headers,
    }))
}

impl HttpHead for Seen {
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
    fn what_carries_credentials_is_not_seen() {
        let request = http::Request::get("http://here/mcp?x=1")
            .header("X-Tenant", "acme")
            .header("Authorization", "Bearer secret")
            .header("Cookie", "session=secret");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert!(seen(&parts, false).is_none());
        let seen = seen(&parts, true).unwrap();
        assert_eq!((seen.method(), seen.target()), ("GET", "/mcp?x=1"));
        assert_eq!(seen.header("x-tenant"), Some("acme"));
        assert_eq!(seen.header("authorization"), None);
        assert_eq!(seen.header("cookie"), None);
    }
}
