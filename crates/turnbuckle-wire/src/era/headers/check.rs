//! Checks that the HTTP headers of a request agree with its body.
//!
//! Specification: basic/transports/streamable-http, "Server Validation" and "Server Behavior for
//! Custom Headers" (2026-07-28).

use std::borrow::Cow;

use turnbuckle_types::{ProtocolError, RawJson};

use super::arguments::{extract, header_text, is_mirrorable};
use super::{METHOD, NAME, decode_value, encode_value, value_matches};
use crate::era::ParamHeader;
use crate::era::params::Params;
use crate::revision::{Method, MirroredParam};

/// The values of one header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderValues<'h> {
    /// The header is absent.
    Missing,
    /// The header occurs once, with this value.
    One(&'h [u8]),
    /// The header occurs more than once, so that no value counts.
    Repeated,
}

impl<'h> From<Option<&'h [u8]>> for HeaderValues<'h> {
    fn from(value: Option<&'h [u8]>) -> Self {
        value.map_or(Self::Missing, Self::One)
    }
}

impl<'h> FromIterator<&'h [u8]> for HeaderValues<'h> {
    fn from_iter<I: IntoIterator<Item = &'h [u8]>>(values: I) -> Self {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Missing,
            (Some(value), None) => Self::One(value),
            (Some(_), Some(_)) => Self::Repeated,
        }
    }
}

/// Returns the member of a request's parameters that its name header mirrors: `None` when the method needs
/// no such header, `Some(None)` when it does and the request has no such member.
#[must_use]
pub fn mirrored_name<'a>(method: Method, params: &Params<'a>) -> Option<Option<RawJson<'a>>> {
    match method.mirrored_param()? {
        MirroredParam::Name => Some(params.name),
        MirroredParam::Uri => Some(params.uri),
    }
}

/// Checks that the headers `Mcp-Method` and `Mcp-Name` of a modern request agree with its body.
/// `mirrored` is the member of the parameters that the latter mirrors, as [`mirrored_name`] returns it.
///
/// The header of the revision, `MCP-Protocol-Version`, is checked by
/// [`message_era`](crate::era::message_era).
///
/// # Errors
/// [`ErrorKind::HeaderMismatch`](turnbuckle_types::ErrorKind::HeaderMismatch) when one is missing,
/// repeated, malformed, or differs from the body.
pub fn check_headers<'h>(
    method: &str,
    mirrored: Option<Option<RawJson<'_>>>,
    header_method: impl Into<HeaderValues<'h>>,
    header_name: impl Into<HeaderValues<'h>>,
) -> Result<(), ProtocolError> {
    match header_method.into() {
        HeaderValues::One(value) if value.trim_ascii() == method.as_bytes() => {}
        HeaderValues::One(value) => {
            return Err(differs(METHOD, &String::from_utf8_lossy(value), method));
        }
        other => return Err(absent_or_repeated(METHOD, other)),
    }
    let Some(body) = mirrored else {
        return Ok(());
    };
    let header = match header_name.into() {
        HeaderValues::One(value) => decode(NAME, value)?,
        other => return Err(absent_or_repeated(NAME, other)),
    };
    let body = body.and_then(RawJson::text);
    if body.as_deref() == Some(&*header) {
        return Ok(());
    }
    Err(differs(NAME, &header, body.as_deref().unwrap_or_default()))
}

/// The headers of an HTTP request.
pub trait HeaderSource: Sync {
    /// Returns the values of the header with a lower-case name.
    fn values(&self, name: &str) -> HeaderValues<'_>;
}

/// Checks the headers that mirror arguments of a tool whose input schema declares them.
///
/// `lookup` is asked for each declared header by its lower-case name. A header must be there exactly
/// where its argument is there and not `null`, once, and say the same.
///
/// # Errors
/// [`ErrorKind::HeaderMismatch`](turnbuckle_types::ErrorKind::HeaderMismatch) when that is not so, or
/// when an integer is outside of what a header can mirror (±(2⁵³ − 1)).
pub fn check_param_headers<'h>(
    declared: &[ParamHeader],
    arguments: Option<RawJson<'_>>,
    lookup: impl Fn(&str) -> HeaderValues<'h>,
) -> Result<(), ProtocolError> {
    let values = extract(declared, arguments).map_err(mismatch)?;
    for (ParamHeader { header, path, .. }, value) in declared.iter().zip(values) {
        match (lookup(header), value) {
            (HeaderValues::Missing, None) => {}
            (HeaderValues::Repeated, _) => {
                return Err(absent_or_repeated(header, HeaderValues::Repeated));
            }
            (HeaderValues::Missing, Some(_)) => {
                return Err(mismatch(format!(
                    "the header {header} is missing, and the argument {} is there",
                    path.join(".")
                )));
            }
            (HeaderValues::One(_), None) => {
                return Err(mismatch(format!(
                    "the header {header} is there, and the argument {} is not",
                    path.join(".")
                )));
            }
            (HeaderValues::One(sent), Some(value)) => {
                let sent = decode(header, sent)?;
                if !value_matches(&sent, value) {
                    return Err(differs(header, &sent, value.as_str()));
                }
                if !is_mirrorable(value) {
                    return Err(mismatch(format!(
                        "the argument {} is no integer that a header can mirror",
                        path.join(".")
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Returns the headers, name and encoded value, that a call with these arguments carries for a tool whose
/// input schema declares `declared`.
///
/// # Errors
/// [`ErrorKind::InvalidParams`](turnbuckle_types::ErrorKind::InvalidParams) when an argument cannot
/// be mirrored: it is an array, an object or a fraction, or an integer outside of ±(2⁵³ − 1).
pub fn mirror_param_headers<'p>(
    declared: &'p [ParamHeader],
    arguments: Option<RawJson<'_>>,
) -> Result<Vec<(&'p str, String)>, ProtocolError> {
    let unfit = ProtocolError::invalid_params;
    let values = extract(declared, arguments).map_err(unfit)?;
    let mut headers = Vec::with_capacity(declared.len());
    for (param, value) in declared.iter().zip(values) {
        let Some(value) = value else { continue };
        let text = header_text(value).ok_or_else(|| {
            unfit(format!(
                "the argument {} cannot be mirrored in a header",
                param.path.join(".")
            ))
        })?;
        headers.push((param.header.as_str(), encode_value(&text).into_owned()));
    }
    Ok(headers)
}

fn decode<'h>(header: &str, value: &'h [u8]) -> Result<Cow<'h, str>, ProtocolError> {
    decode_value(value)
        .map_err(|error| mismatch(format!("the header {header} is malformed: {error}")))
}

fn absent_or_repeated(header: &str, values: HeaderValues<'_>) -> ProtocolError {
    let wrong = if values == HeaderValues::Repeated {
        "there more than once"
    } else {
        "missing"
    };
    mismatch(format!("the header {header} is {wrong}"))
}

fn differs(header: &str, sent: &str, body: &str) -> ProtocolError {
    mismatch(format!(
        "the header {header} says {:?}, the body {:?}",
        brief(sent),
        brief(body)
    ))
}

fn mismatch(message: String) -> ProtocolError {
    ProtocolError::header_mismatch(message)
}

/// Returns the beginning of a text that may be of any length.
fn brief(text: &str) -> &str {
    const LONGEST: usize = 64;
    text.char_indices()
        .nth(LONGEST)
        .map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::ErrorKind;

    use super::*;
    use crate::era::param_headers;

    fn mismatch_message(result: Result<(), ProtocolError>) -> String {
        let error = result.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::HeaderMismatch, "{error}");
        error.message().to_owned()
    }

    fn judge(
        method: &str,
        params: &str,
        header: Option<&str>,
        name: Option<&str>,
    ) -> Result<(), ProtocolError> {
        let params: Params<'_> = serde_json::from_str(params).unwrap();
        check_headers(
            method,
            Method::parse(method).and_then(|method| mirrored_name(method, &params)),
            header.map(str::as_bytes),
            name.map(str::as_bytes),
        )
    }

    #[test]
    fn the_method_is_mirrored_for_every_request() {
        assert!(judge("tools/list", "{}", Some("tools/list"), None).is_ok());
        assert!(judge("tools/list", "{}", Some(" tools/list\t"), Some("ignored")).is_ok());
        assert!(judge("com.example/own", "{}", Some("com.example/own"), None).is_ok());
        assert!(
            mismatch_message(judge("tools/list", "{}", None, None))
                .contains("mcp-method is missing")
        );
        for header in [
            "TOOLS/LIST",
            "tools/call",
            "",
            "=?base64?dG9vbHMvbGlzdA==?=",
        ] {
            assert!(
                mismatch_message(judge("tools/list", "{}", Some(header), None))
                    .contains("tools/list")
            );
        }
    }

    #[test]
    fn the_name_is_mirrored_where_there_is_one() {
        for (method, member) in [
            ("tools/call", "name"),
            ("prompts/get", "name"),
            ("resources/read", "uri"),
        ] {
            let params = format!(r#"{{"{member}":"näme"}}"#);
            let judge = |name: &str| judge(method, &params, Some(method), Some(name));
            assert!(judge(&encode_value("näme")).is_ok());
            assert!(mismatch_message(judge("name")).contains("says \"name\""));
            assert!(mismatch_message(judge("=?base64?bsOkbWU?=")).contains("Base64"));
            assert!(mismatch_message(judge("n\u{e4}me")).contains("character"));
        }
        let missing = judge("tools/call", r#"{"name":"a"}"#, Some("tools/call"), None);
        assert!(mismatch_message(missing).contains("mcp-name is missing"));
        for params in ["{}", r#"{"name":7}"#, r#"{"uri":"a"}"#] {
            mismatch_message(judge("tools/call", params, Some("tools/call"), Some("a")));
        }
        let plain = judge(
            "tools/call",
            r#"{"name":"a\"b"}"#,
            Some("tools/call"),
            Some(" a\"b "),
        );
        assert!(plain.is_ok());
    }

    #[test]
    fn a_repeated_header_is_refused_and_a_long_one_is_cut_in_the_message() {
        let twice: HeaderValues<'_> = [&b"ping"[..], b"ping"].into_iter().collect();
        assert!(
            mismatch_message(check_headers("ping", None, twice, None)).contains("more than once")
        );
        let long = "ä".repeat(100_000);
        let message = mismatch_message(check_headers("ping", None, Some(long.as_bytes()), None));
        assert!(message.len() < 300, "{}", message.len());
    }

    const SCHEMA: &str = r#"{"properties":{
        "count":{"type":"integer","x-mcp-header":"Count"},
        "options":{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}}"#;

    fn judge_params(arguments: &str, headers: &[(&str, &str)]) -> Result<(), ProtocolError> {
        let declared = param_headers(&SCHEMA.parse().unwrap()).unwrap();
        let arguments: RawJson<'_> = serde_json::from_str(arguments).unwrap();
        let lookup = |name: &str| {
            let same = headers.iter().filter(|(header, _)| *header == name);
            same.map(|(_, value)| value.as_bytes()).collect()
        };
        check_param_headers(&declared, Some(arguments), lookup)
    }

    /// Arguments, headers, and what is wrong with them.
    type Case<'t> = (&'t str, &'t [(&'t str, &'t str)], &'t str);

    #[test]
    fn arguments_and_headers_come_together_or_not_at_all() {
        let (count, region) = ("mcp-param-count", "mcp-param-region");
        let both = r#"{"count":42,"options":{"region":"us"}}"#;
        assert!(judge_params(both, &[(count, "42"), (region, "us")]).is_ok());
        assert!(judge_params(both, &[(count, "42.0"), (region, "=?base64?dXM=?=")]).is_ok());
        assert!(judge_params("{}", &[]).is_ok());
        assert!(
            judge_params(
                r#"{"count":null,"options":{}}"#,
                &[("mcp-param-other", "x")]
            )
            .is_ok()
        );

        let table: [Case<'_>; 8] = [
            (both, &[(count, "42")], "mcp-param-region is missing"),
            (both, &[(count, "43"), (region, "us")], "says \"43\""),
            (both, &[(count, "42"), (region, "US")], "says \"US\""),
            (
                both,
                &[(count, "42"), (count, "42"), (region, "us")],
                "more than once",
            ),
            (
                both,
                &[(count, "42"), (region, "=?base64?dXM?=")],
                "malformed",
            ),
            ("{}", &[(count, "42")], "the argument count is not"),
            (
                r#"{"count":null}"#,
                &[(count, "null")],
                "the argument count is not",
            ),
            (
                r#"{"count":9007199254740993}"#,
                &[(count, "9007199254740993")],
                "no integer",
            ),
        ];
        for (arguments, headers, expected) in table {
            let message = mismatch_message(judge_params(arguments, headers));
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn the_server_accepts_the_headers_that_the_client_mirrors() {
        let declared = param_headers(&SCHEMA.parse().unwrap()).unwrap();
        let check = |json: &str| {
            let arguments: RawJson<'_> = serde_json::from_str(json).unwrap();
            let headers = mirror_param_headers(&declared, Some(arguments))?;
            let lookup = |name: &str| {
                let value = headers.iter().find(|(header, _)| *header == name);
                value.map(|(_, value)| value.as_bytes()).into()
            };
            check_param_headers(&declared, Some(arguments), lookup)
        };
        for arguments in [
            "{}",
            r#"{"count":1e3,"options":{"region":" \u4e16 "}}"#,
            r#"{"count":-7.0,"options":{"region":""}}"#,
            r#"{"count":null,"options":{"region":"=?base64?x?="}}"#,
        ] {
            check(arguments).unwrap();
        }
        for arguments in [
            r#"{"count":1.5}"#,
            r#"{"count":[]}"#,
            r#"{"count":1,"count":2}"#,
        ] {
            let error = check(arguments).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::InvalidParams);
        }
    }
}
