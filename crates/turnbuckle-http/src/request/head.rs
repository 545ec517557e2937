//! The headers of a request that an endpoint needs, read in one pass.

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Uri};
use turnbuckle_wire::era::NamedRevision;
use turnbuckle_wire::era::headers::{self, HeaderValues};

const JSON: &[u8] = b"application/json";

/// The `Accept` header in the spelling of most clients.
const JSON_AND_EVENTS: &[u8] = b"application/json, text/event-stream";

/// The bytes of a header line beside the name and the value: colon, space, and end of line.
const LINE_OVERHEAD: usize = 4;

/// The bytes of a request line beside the method and the target: two spaces, the version, and the end of
/// the line.
const REQUEST_LINE_OVERHEAD: usize = " ".len() + " HTTP/1.1\r\n".len();

/// The headers of a request that an endpoint needs.
#[derive(Debug)]
pub(crate) struct RequestHeaders<'h> {
    host: HeaderValues<'h>,
    pub(crate) origin: HeaderValues<'h>,
    content_type: HeaderValues<'h>,
    pub(crate) accepts_json: bool,
    pub(crate) accepts_events: bool,
    pub(crate) content_length: Option<u64>,
    /// True if the body has a transfer coding other than `chunked` alone, which nothing here decodes.
    pub(crate) has_unknown_coding: bool,
    pub(crate) protocol_version: HeaderValues<'h>,
    pub(crate) method: HeaderValues<'h>,
    pub(crate) name: HeaderValues<'h>,
    pub(crate) session_id: HeaderValues<'h>,
    pub(crate) last_event_id: HeaderValues<'h>,
    /// The bytes of the header lines, as they are sent without needless spaces.
    line_bytes: usize,
}

impl<'h> RequestHeaders<'h> {
    pub(crate) fn read(map: &'h HeaderMap) -> Self {
        let mut head = Self {
            host: HeaderValues::Missing,
            origin: HeaderValues::Missing,
            content_type: HeaderValues::Missing,
            accepts_json: false,
            accepts_events: false,
            content_length: None,
            has_unknown_coding: false,
            protocol_version: HeaderValues::Missing,
            method: HeaderValues::Missing,
            name: HeaderValues::Missing,
            session_id: HeaderValues::Missing,
            last_event_id: HeaderValues::Missing,
            line_bytes: 0,
        };
        let mut accept_said = false;
        for (name, value) in map {
            let value = value.as_bytes();
            head.line_bytes += name.as_str().len() + value.len() + LINE_OVERHEAD;
            if *name == ACCEPT {
                accept_said = true;
                head.read_accept(value);
            } else if *name == CONTENT_TYPE {
                add(&mut head.content_type, value);
            } else if *name == HOST {
                add(&mut head.host, value);
            } else if *name == ORIGIN {
                add(&mut head.origin, value);
            } else if *name == TRANSFER_ENCODING {
                head.has_unknown_coding |= !value.eq_ignore_ascii_case(b"chunked");
            } else if *name == CONTENT_LENGTH {
                head.content_length = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
            } else {
                match name.as_str() {
                    headers::PROTOCOL_VERSION => add(&mut head.protocol_version, value),
                    headers::METHOD => add(&mut head.method, value),
                    headers::NAME => add(&mut head.name, value),
                    headers::SESSION_ID => add(&mut head.session_id, value),
                    headers::LAST_EVENT_ID => add(&mut head.last_event_id, value),
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

    /// Returns the bytes of the whole head, with a request line of this method and target, as HTTP/1.1
    /// sends it.
    pub(crate) fn bytes(&self, method: &Method, target: &Uri) -> usize {
        let authority = match (target.scheme_str(), target.authority()) {
            (Some(scheme), Some(authority)) => scheme.len() + 3 + authority.as_str().len(),
            _ => 0,
        };
        let path = target
            .path_and_query()
            .map_or(1, |path| path.as_str().len());
        let request_line = method.as_str().len() + authority + path + REQUEST_LINE_OVERHEAD;
        request_line + self.line_bytes + 2
    }

    /// Returns the host that the request is for: that of the `Host` header, or else of its target. Two
    /// that differ are like two headers: a proxy and this server could read them differently.
    pub(crate) fn requested_host<'u>(&self, target: &'u Uri) -> HeaderValues<'u>
    where
        'h: 'u,
    {
        match (self.host, target.authority()) {
            (HeaderValues::Missing, Some(host)) => HeaderValues::One(host.as_str().as_bytes()),
            (HeaderValues::One(host), Some(other))
                if !host.eq_ignore_ascii_case(other.as_str().as_bytes()) =>
            {
                HeaderValues::Repeated
            }
            (host, _) => host,
        }
    }

    /// Returns whether there is one `Content-Type` header, and it names JSON.
    pub(crate) fn has_json_body(&self) -> bool {
        matches!(self.content_type, HeaderValues::One(value)
            if value == JSON || media_type(value).eq_ignore_ascii_case(JSON))
    }

    /// Returns the revision that the `MCP-Protocol-Version` header names. A header that is repeated
    /// or not text names an unknown one.
    pub(crate) fn mark(&self) -> NamedRevision<'h> {
        NamedRevision::parse(match self.protocol_version {
            HeaderValues::Missing => None,
            HeaderValues::One(value) => Some(std::str::from_utf8(value).unwrap_or("").trim_ascii()),
            HeaderValues::Repeated => Some("(several)"),
        })
    }

    fn read_accept(&mut self, value: &[u8]) {
        if value == JSON_AND_EVENTS {
            self.accepts_json = true;
            self.accepts_events = true;
            return;
        }
        for part in value.split(|&byte| byte == b',') {
            let kind = media_type(part);
            let any = kind == b"*/*";
            self.accepts_json |= any
                || kind.eq_ignore_ascii_case(JSON)
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

/// Returns a media type without its parameters.
fn media_type(value: &[u8]) -> &[u8] {
    value
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

/// Returns the values of one header.
pub(crate) fn header_values<'h>(map: &'h HeaderMap, name: &str) -> HeaderValues<'h> {
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
                map.append(
                    name.parse::<http::HeaderName>().unwrap(),
                    HeaderValue::from_static(value),
                );
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
            let head = RequestHeaders::read(&map);
            assert_eq!(
                (head.accepts_json, head.accepts_events),
                (json, events),
                "{accept}"
            );
        }
        let map = HeaderMap::new();
        assert!(RequestHeaders::read(&map).accepts_events);
    }

    #[test]
    fn a_target_whose_authority_differs_from_host_is_refused() {
        for (host, target, expected) in [
            (
                Some("a.example"),
                "/mcp",
                HeaderValues::One(&b"a.example"[..]),
            ),
            (
                None,
                "http://a.example/mcp",
                HeaderValues::One(b"a.example"),
            ),
            (
                Some("a.example:80"),
                "http://A.example:80/mcp",
                HeaderValues::One(b"a.example:80"),
            ),
            (
                Some("a.example"),
                "http://b.example/mcp",
                HeaderValues::Repeated,
            ),
            (
                Some("a.example"),
                "http://a.example:81/",
                HeaderValues::Repeated,
            ),
            (
                Some("a.example"),
                "http://a.example@b.example/",
                HeaderValues::Repeated,
            ),
            (None, "/mcp", HeaderValues::Missing),
        ] {
            let pairs = host.map(|host| ("host", host));
            let map = map(pairs.as_slice());
            let target: Uri = target.parse().unwrap();
            let found = RequestHeaders::read(&map).requested_host(&target);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{target}");
        }
    }

    #[test]
    fn the_bytes_of_a_head_are_those_that_are_sent() {
        for text in [
            "POST /mcp?x=1 HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\naccept: b\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET http://localhost:80/mcp HTTP/1.1\r\nx-a: \r\n\r\n",
        ] {
            let mut lines = text.lines();
            let mut first = lines.next().unwrap().split(' ');
            let mut map = HeaderMap::new();
            for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
                let name: http::HeaderName = name.parse().unwrap();
                map.append(name, value.parse().unwrap());
            }
            let method: Method = first.next().unwrap().parse().unwrap();
            let target: Uri = first.next().unwrap().parse().unwrap();
            let head = RequestHeaders::read(&map);
            assert_eq!(head.bytes(&method, &target), text.len(), "{text}");
        }
    }

    #[test]
    fn chunked_alone_is_a_transfer_coding_that_is_read() {
        for (coding, unknown) in [
            (&["chunked"][..], false),
            (&["Chunked"], false),
            (&["gzip, chunked"], true),
            (&["gzip", "chunked"], true),
            (&["identity"], true),
            (&[""], true),
            (&["chunked, chunked"], true),
        ] {
            let pairs: Vec<_> = coding.iter().map(|it| ("transfer-encoding", *it)).collect();
            let map = map(&pairs);
            assert_eq!(
                RequestHeaders::read(&map).has_unknown_coding,
                unknown,
                "{coding:?}"
            );
        }
    }

    #[test]
    fn repeated_headers_of_ours_are_seen() {
        let map = map(&[
            ("mcp-method", "a"),
            ("Mcp-Method", "b"),
            ("MCP-NAME", "n"),
            ("content-type", "Application/JSON; charset=utf-8"),
        ]);
        let head = RequestHeaders::read(&map);
        assert_eq!(head.method, HeaderValues::Repeated);
        assert_eq!(head.name, HeaderValues::One(b"n"));
        assert_eq!(head.protocol_version, HeaderValues::Missing);
        assert!(head.has_json_body());
    }

    #[test]
    fn a_media_type_counts_once_and_without_its_parameters() {
        for (types, json) in [
            (&[][..], false),
            (&["application/json"], true),
            (&["application/json ; charset=utf-8"], true),
            (&["text/plain"], false),
            (&["application/json-rpc"], false),
            (&["application/json", "application/json"], false),
            (&["text/plain", "application/json"], false),
        ] {
            let pairs: Vec<_> = types.iter().map(|it| ("content-type", *it)).collect();
            assert_eq!(
                RequestHeaders::read(&map(&pairs)).has_json_body(),
                json,
                "{types:?}"
            );
        }
    }

    #[test]
    fn repeated_headers_are_recognized_even_with_equal_values() {
        let map = map(&[
            ("host", "a"),
            ("host", "b"),
            ("origin", "a"),
            ("origin", "a"),
            ("last-event-id", "1-1"),
            ("last-event-id", "1-2"),
        ]);
        let head = RequestHeaders::read(&map);
        for values in [head.host, head.origin, head.last_event_id] {
            assert_eq!(values, HeaderValues::Repeated);
        }
    }

    #[test]
    fn a_version_is_of_an_era_or_unknown() {
        let mark = |values: &[&'static str]| {
            let pairs: Vec<_> = values
                .iter()
                .map(|it| ("MCP-Protocol-Version", *it))
                .collect();
            format!("{:?}", RequestHeaders::read(&map(&pairs)).mark())
        };
        assert_eq!(mark(&[]), "None");
        assert!(mark(&["2025-11-25"]).starts_with("Legacy"));
        assert!(mark(&["2026-07-28"]).starts_with("Modern"));
        for unknown in [&["2026-07-29"][..], &[""], &["2026-07-28", "2026-07-28"]] {
            assert!(mark(unknown).starts_with("Unknown"), "{unknown:?}");
        }
    }

    #[test]
    fn a_length_is_read_if_it_is_one() {
        for (text, length) in [("17", Some(17)), ("-1", None), ("1e3", None), ("", None)] {
            let map = map(&[("content-length", text)]);
            assert_eq!(RequestHeaders::read(&map).content_length, length, "{text}");
        }
    }
}
