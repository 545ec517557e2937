//! The head of a request as handlers may see it: method, target, headers without credentials, and
//! the values that layers put into the request.

use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue};
use turnbuckle_session::transport::{HttpHead, HttpNeeds};

/// A copy of a request's head.
struct RequestHead {
    method: http::Method,
    uri: http::Uri,
    headers: HeaderMap,
    extensions: Extensions,
    /// The bytes that the copy takes beside what every request takes.
    bytes: usize,
}

/// Copies what is needed of the head of a request, without headers that carry credentials. Returns
/// `None` if nothing is needed: few servers have a handler that reads it. A head of `large_bytes` bytes
/// is copied, since a piece of it would keep all of the buffer that it was read into.
pub(crate) fn capture(
    parts: &Parts,
    needs: HttpNeeds,
    large_bytes: Option<usize>,
) -> Option<Arc<dyn HttpHead>> {
    if needs == HttpNeeds::default() {
        return None;
    }
    let mut head = RequestHead {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        headers: HeaderMap::new(),
        extensions: Extensions::new(),
        bytes: large_bytes.unwrap_or(0),
    };
    if needs.head {
        head.headers.clone_from(&parts.headers);
        for secret in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
            head.headers.remove(secret);
        }
    }
    if large_bytes.is_some() {
        head.detach();
    }
    if needs.extensions {
        head.extensions.clone_from(&parts.extensions);
    }
    Some(Arc::new(head))
}

impl RequestHead {
    /// Copies the target and the headers out of the buffer that they were read into.
    #[cold]
    fn detach(&mut self) {
        self.uri = self.uri.to_string().parse().unwrap_or_default();
        for value in self.headers.values_mut() {
            if let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) {
                copy.set_sensitive(value.is_sensitive());
                *value = copy;
            }
        }
    }
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
        str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    fn byte_count(&self) -> usize {
        self.bytes
    }

    fn extensions(&self) -> &Extensions {
        &self.extensions
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn headers_with_credentials_are_left_out() {
        let request = http::Request::get("http://here/mcp?x=1")
            .header("X-Tenant", "acme")
            .header("Authorization", "Bearer secret")
            .header("Cookie", "session=secret");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert!(capture(&parts, HttpNeeds::default(), None).is_none());
        let needs = HttpNeeds {
            head: true,
            extensions: false,
        };
        let seen = capture(&parts, needs, None).unwrap();
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
            let seen = capture(&parts, HttpNeeds { head, extensions }, None).unwrap();
            (
                seen.header("x-tenant").is_some(),
                seen.extensions().get::<u8>().copied(),
            )
        };
        assert_eq!(kept(true, false), (true, None));
        assert_eq!(kept(false, true), (false, Some(7)));
    }

    #[test]
    fn a_large_head_is_copied_and_counted() {
        let value = Bytes::from(vec![b'a'; 5000]);
        let in_buffer = HeaderValue::from_maybe_shared(value.slice(0..10)).unwrap();
        let request = http::Request::get("/mcp?x=1").header("x-tenant", in_buffer);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let needs = HttpNeeds {
            head: true,
            extensions: false,
        };
        let seen = capture(&parts, needs, Some(5000)).unwrap();
        drop(parts);
        assert!(value.is_unique(), "nothing of the buffer is kept");
        assert_eq!(
            (seen.header("x-tenant"), seen.target()),
            (Some("aaaaaaaaaa"), "/mcp?x=1")
        );
        assert_eq!(seen.byte_count(), 5000);
    }
}
