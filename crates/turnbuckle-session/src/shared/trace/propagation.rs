//! The trace that a request belongs to, as `_meta` and HTTP headers carry it.

use std::borrow::Cow;
use turnbuckle_types::base::debug_fields;

use serde::Deserialize;
use turnbuckle_wire::era::params::raw_meta;
use turnbuckle_wire::json;

use super::telemetry::telemetry;
use crate::shared::transport::HttpHead;

/// The most bytes of a `traceparent`; one of version 00 has 55.
const MAX_TRACEPARENT_BYTES: usize = 64;

/// The most bytes of a `tracestate`; W3C Trace Context asks for at least 512.
const MAX_TRACESTATE_BYTES: usize = 512;

/// The most bytes of a `baggage`; W3C Baggage asks for at least 8,192.
const MAX_BAGGAGE_BYTES: usize = 8192;

/// The context of a trace, as W3C Trace Context and W3C Baggage write it: the values of
/// `traceparent`, `tracestate` and `baggage`.
///
/// Specification: basic/index, "`_meta`" (2026-07-28); SEP-414.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    values: [Option<Box<str>>; 3],
}

impl TraceContext {
    /// The keys of the values, in `_meta` and as HTTP headers.
    pub const KEYS: [&'static str; 3] = ["traceparent", "tracestate", "baggage"];

    const MAX_BYTES: [usize; 3] = [
        MAX_TRACEPARENT_BYTES,
        MAX_TRACESTATE_BYTES,
        MAX_BAGGAGE_BYTES,
    ];

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let index = Self::KEYS.iter().position(|known| *known == key)?;
        self.values[index].as_deref()
    }

    /// Sets the value of a key. Other keys than [`KEYS`](Self::KEYS) are ignored, and so are values
    /// that are too long or are no visible ASCII text, which no header can carry.
    pub fn set(&mut self, key: &str, value: &str) {
        let is_text = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if let Some(index) = Self::KEYS.iter().position(|known| *known == key)
            && value.len() <= Self::MAX_BYTES[index]
            && value.bytes().all(is_text)
        {
            self.values[index] = Some(value.into());
        }
    }

    /// Returns whether no value is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    /// Returns the keys that are set, with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let pairs = Self::KEYS.into_iter().zip(&self.values);
        pairs.filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }

    /// Returns the values as JSON, for `_meta`.
    pub(crate) fn to_members(&self) -> Vec<(&'static str, Vec<u8>)> {
        let encode = |(key, value)| Some((key, json::to_vec(value).ok()?));
        self.iter().filter_map(encode).collect()
    }
}

// Shows only the trace: baggage may be confidential.
debug_fields!(TraceContext { traceparent = |it| it.get("traceparent").map(str::to_owned) });

/// Returns the context that a message carries in its `_meta`, or else in the headers of its HTTP
/// request. `None` if nothing exports traces.
pub(crate) fn received_context(text: &str, head: Option<&dyn HttpHead>) -> Option<TraceContext> {
    telemetry()?;
    read_meta(text).or_else(|| read_headers(head?))
}

fn read_meta(text: &str) -> Option<TraceContext> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(borrow, default)]
        traceparent: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        tracestate: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        baggage: Option<Cow<'a, str>>,
    }
    let members: Members<'_> = serde_json::from_str(raw_meta(text)?.as_str()).ok()?;
    trace_context([members.traceparent, members.tracestate, members.baggage])
}

fn read_headers(head: &dyn HttpHead) -> Option<TraceContext> {
    trace_context(TraceContext::KEYS.map(|key| head.header(key).map(Cow::Borrowed)))
}

/// Returns a context with the values that fit; `None` if there are none.
fn trace_context(values: [Option<Cow<'_, str>>; 3]) -> Option<TraceContext> {
    let mut context = TraceContext::default();
    for (key, value) in TraceContext::KEYS.into_iter().zip(values) {
        if let Some(value) = value {
            context.set(key, &value);
        }
    }
    (!context.is_empty()).then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn message(meta: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{meta}}}}}"#)
    }

    #[test]
    fn a_trace_context_is_read_from_meta() {
        let text = message(&format!(
            r#"{{"traceparent":"{PARENT}","tracestate":"a=1","baggage":"user=7"}}"#
        ));
        let context = read_meta(&text).unwrap();
        assert_eq!(context.get("traceparent"), Some(PARENT));
        assert_eq!(context.get("tracestate"), Some("a=1"));
        assert_eq!(context.get("baggage"), Some("user=7"));
        assert!(!format!("{context:?}").contains("user=7"));
        assert_eq!(read_meta(&message("{}")), None);
        assert_eq!(read_meta(&message(r#"{"traceparent":1}"#)), None);
        assert_eq!(read_meta(&message(r#"{"traceparent":"a\nb"}"#)), None);
    }

    #[derive(Default)]
    struct Head {
        #[cfg(feature = "http")]
        extensions: http::Extensions,
    }

    impl HttpHead for Head {
        fn method(&self) -> &str {
            "POST"
        }

        fn target(&self) -> &str {
            "/mcp"
        }

        fn header(&self, name: &str) -> Option<&str> {
            (name == "traceparent").then_some(PARENT)
        }

        #[cfg(feature = "http")]
        fn extensions(&self) -> &http::Extensions {
            &self.extensions
        }
    }

    #[test]
    fn a_trace_context_is_read_from_headers() {
        let context = read_headers(&Head::default()).unwrap();
        assert_eq!(context.get("traceparent"), Some(PARENT));
        assert_eq!(context.get("baggage"), None);
    }

    #[test]
    fn an_oversized_trace_context_is_ignored() {
        for (key, max_bytes) in TraceContext::KEYS.into_iter().zip(TraceContext::MAX_BYTES) {
            for bytes in [max_bytes, max_bytes + 1] {
                let value = "a".repeat(bytes);
                let context = read_meta(&message(&format!(r#"{{"{key}":"{value}"}}"#)));
                assert_eq!(context.is_some(), bytes == max_bytes, "{key}: {bytes}");
            }
        }
    }
}
