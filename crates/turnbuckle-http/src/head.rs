//! The head of a request, read in one pass.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use turnbuckle_wire::era::headers::{self, HeaderValues};

/// What is read of a request's headers, borrowed.
#[derive(Debug)]
pub(crate) struct Head<'h> {
    pub(crate) host: Option<&'h [u8]>,
    pub(crate) origin: Option<&'h [u8]>,
    pub(crate) json_body: bool,
    pub(crate) accepts_json: bool,
    pub(crate) accepts_events: bool,
    pub(crate) length: Option<u64>,
    pub(crate) version: HeaderValues<'h>,
    pub(crate) method: HeaderValues<'h>,
    pub(crate) name: HeaderValues<'h>,
    pub(crate) session: HeaderValues<'h>,
    pub(crate) last_event: Option<&'h [u8]>,
}

impl<'h> Head<'h> {
    pub(crate) fn read(map: &'h HeaderMap) -> Self {
        let mut head = Self {
            host: None,
            origin: None,
            json_body: false,
            accepts_json: false,
            accepts_events: false,
            length: None,
            version: HeaderValues::Missing,
            method: HeaderValues::Missing,
            name: HeaderValues::Missing,
            session: HeaderValues::Missing,
            last_event: None,
        };
        let mut accept_said = false;
        for (name, value) in map {
            let value = value.as_bytes();
            if *name == ACCEPT {
                accept_said = true;
                head.accept(value);
            } else if *name == CONTENT_TYPE {
                head.json_body = media_type(value).eq_ignore_ascii_case(b"application/json");
            } else if *name == HOST {
                head.host = Some(value);
            } else if *name == ORIGIN {
                head.origin = Some(value);
            } else if *name == CONTENT_LENGTH {
                head.length = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
            } else {
                match name.as_str() {
                    headers::PROTOCOL_VERSION => add(&mut head.version, value),
                    headers::METHOD => add(&mut head.method, value),
                    headers::NAME => add(&mut head.name, value),
                    headers::SESSION_ID => add(&mut head.session, value),
                    headers::LAST_EVENT_ID => head.last_event = Some(value),
                    _ => {}
                }
            }
        }
        if !accept_said {
            head.accepts_json = true;
            head.accepts_events = true;
        }
        head
    }

    fn accept(&mut self, value: &[u8]) {
        for part in value.split(|&byte| byte == b',') {
            let kind = media_type(part);
            let any = kind == b"*/*";
            self.accepts_json |= any
                || kind.eq_ignore_ascii_case(b"application/json")
                || kind.eq_ignore_ascii_case(b"application/*");
            self.accepts_events |= any
                || kind.eq_ignore_ascii_case(b"text/event-stream")
                || kind.eq_ignore_ascii_case(b"text/*");
        }
    }
}

fn add<'h>(values: &mut HeaderValues<'h>, value: &'h [u8]) {
    *values = match values {
        HeaderValues::Missing => HeaderValues::One(value),
        _ => HeaderValues::Repeated,
    };
}

/// A media type without its parameters.
fn media_type(value: &[u8]) -> &[u8] {
    value
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

/// The values of one header.
pub(crate) fn values_of<'h>(map: &'h HeaderMap, name: &str) -> HeaderValues<'h> {
    map.get_all(name)
        .iter()
        .map(http::HeaderValue::as_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(*name, HeaderValue::from_static(value));
                map
            })
    }

    #[test]
    fn accept_is_understood_with_parameters_and_wildcards() {
        for (accept, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("application/json;q=0.9,text/html", true, false),
            ("*/*", true, true),
            ("text/*", false, true),
            ("text/html", false, false),
        ] {
            let map = map(&[("accept", accept)]);
            let head = Head::read(&map);
            assert_eq!(
                (head.accepts_json, head.accepts_events),
                (json, events),
                "{accept}"
            );
        }
        let map = HeaderMap::new();
        assert!(Head::read(&map).accepts_events);
    }

    #[test]
    fn repeated_headers_of_ours_are_seen() {
        let map = map(&[
            ("mcp-method", "a"),
            ("mcp-method", "b"),
            ("mcp-name", "n"),
            ("content-type", "Application/JSON; charset=utf-8"),
        ]);
        let head = Head::read(&map);
        assert_eq!(head.method, HeaderValues::Repeated);
        assert_eq!(head.name, HeaderValues::One(b"n"));
        assert_eq!(head.version, HeaderValues::Missing);
        assert!(head.json_body);
    }
}
