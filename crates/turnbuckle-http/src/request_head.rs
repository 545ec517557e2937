//! The head of a request as handlers may see it: method, target, headers without credentials, and
//! the values that layers put into the request.

use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{Extensions, HeaderMap};
use turnbuckle_session::{HttpHead, HttpNeeds};

/// A copy of a request's head.
struct RequestHead {
    method: http::Method,
    uri: http::Uri,
    headers: HeaderMap,
    extensions: Extensions,
}

/// Copies what is needed of the head of a request, without headers that carry credentials. Returns
/// `None` if nothing is needed: few servers have a handler that reads it.
pub(crate) fn capture(parts: &Parts, needs: HttpNeeds) -> Option<Arc<dyn HttpHead>> {
    if needs == HttpNeeds::default() {
        return None;
    }
    let mut head = RequestHead {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        headers: HeaderMap::new(),
        extensions: Extensions::new(),
    };
    if needs.head {
        head.headers.clone_from(&parts.headers);
        for secret in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
            head.headers.remove(secret);
        }
    }
    if needs.extensions {
        head.extensions.clone_from(&parts.extensions);
    }
    Some(Arc::new(head))
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

    fn extensions(&self) -> &Extensions {
        &self.extensions
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
        assert!(capture(&parts, HttpNeeds::default()).is_none());
        let needs = HttpNeeds {
            head: true,
            extensions: false,
        };
        let seen = capture(&parts, needs).unwrap();
        assert_eq!((seen.method(), seen.target()), ("GET", "/mcp?x=1"));
        assert_eq!(seen.header("x-tenant"), Some("acme"));
        assert_eq!(seen.header("authorization"), None);
        assert_eq!(seen.header("cookie"), None);
    }

    #[test]
    fn only_the_parts_that_are_needed_are_kept() {
        let request = http::Request::get("/mcp").header("x-tenant", "acme");
        let (parts, ()) = request.extension(7_u8).body(()).unwrap().into_parts();
        let kept = |head, extensions| {
            let seen = capture(&parts, HttpNeeds { head, extensions }).unwrap();
            (
                seen.header("x-tenant").is_some(),
                seen.extensions().get::<u8>().copied(),
            )
        };
        assert_eq!(kept(true, false), (true, None));
        assert_eq!(kept(false, true), (false, Some(7)));
    }
}
