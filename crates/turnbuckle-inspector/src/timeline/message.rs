//! The facts of a message that the timeline shows and pairs messages by.

use turnbuckle_types::Notification as _;
use turnbuckle_types::method::{Cancelled, LoggingMessage, Progress};

use crate::outline::{find_nested, member, parts};
use crate::values::string::{decode, excerpt};

/// The facts of a JSON-RPC message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MessageFacts {
    pub(super) method: Option<String>,
    /// The id, as it was sent.
    pub(super) id: Option<String>,
    /// The outcome of a response.
    pub(super) outcome: Option<Outcome>,
    /// The token for progress that a request names, or that a notification of progress has.
    pub(super) progress_token: Option<String>,
    /// The id of the request that a notification cancels.
    pub(super) cancelled_id: Option<String>,
    /// The words of an error, of a log message or of progress.
    pub(super) summary: Option<String>,
}

/// The outcome of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Error,
}

/// The longest method, id or token that is kept, in bytes.
const MAX_NAME_BYTES: usize = 512;

impl MessageFacts {
    /// Reads a message. Returns `None` for a text that is no JSON-RPC object.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let mut facts = Self::default();
        let mut is_message = false;
        for part in parts(text, 0) {
            let value = &text[part.range];
            match part.key {
                b"jsonrpc" => is_message = true,
                b"method" => facts.method = name(value),
                b"id" => facts.id = name(value).and(raw(value)),
                b"error" => {
                    facts.outcome = Some(Outcome::Error);
                    facts.summary = text_member(value, &["message"]);
                }
                b"result" => {
                    let is_error = member(value, 0, "isError");
                    let is_error = is_error.is_some_and(|range| &value[range] == b"true");
                    facts.outcome = Some(if is_error {
                        Outcome::Error
                    } else {
                        Outcome::Ok
                    });
                }
                _ => {}
            }
        }
        if !is_message {
            return None;
        }
        let params = member(text, 0, "params").map(|range| &text[range]);
        if let (Some(method), Some(params)) = (&facts.method, params) {
            match method.as_str() {
                Progress::METHOD => {
                    facts.progress_token = raw_member(params, &["progressToken"]);
                    facts.summary = text_member(params, &["message"]);
                }
                Cancelled::METHOD => {
                    facts.cancelled_id = raw_member(params, &["requestId"]);
                    facts.summary = text_member(params, &["reason"]);
                }
                LoggingMessage::METHOD => facts.summary = raw_member(params, &["data"]),
                _ => facts.progress_token = raw_member(params, &["_meta", "progressToken"]),
            }
        }
        Some(facts)
    }
}

/// Returns the first bytes of a raw value.
fn raw(value: &[u8]) -> Option<String> {
    let cut = &value[..value.len().min(MAX_NAME_BYTES)];
    Some(excerpt(cut).text)
}

/// Returns the decoded text of a string, or the value itself.
fn name(value: &[u8]) -> Option<String> {
    let cut = &value[..value.len().min(MAX_NAME_BYTES)];
    let body = cut.strip_prefix(b"\"");
    let body = body.map(|body| body.strip_suffix(b"\"").unwrap_or(body));
    Some(body.map_or_else(|| excerpt(cut).text, decode))
}

fn raw_member(value: &[u8], names: &[&str]) -> Option<String> {
    find_nested(value, names).and_then(|range| raw(&value[range]))
}

fn text_member(value: &[u8], names: &[&str]) -> Option<String> {
    find_nested(value, names).and_then(|range| name(&value[range]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_of_each_kind_of_message_are_read() {
        let read = |text: &str| MessageFacts::read(text.as_bytes()).unwrap();
        let request = read(
            r#"{"jsonrpc":"2.0","id":"a\u0041","method":"tools/call","params":{"_meta":{"progressToken":7}}}"#,
        );
        assert_eq!(request.method.as_deref(), Some("tools/call"));
        assert_eq!(request.id.as_deref(), Some(r#""a\u0041""#));
        assert_eq!(request.progress_token.as_deref(), Some("7"));
        let failed = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no\n"}}"#);
        assert_eq!(failed.outcome, Some(Outcome::Error));
        assert_eq!(failed.summary.as_deref(), Some("no\n"));
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","result":{}}"#).outcome,
            Some(Outcome::Ok)
        );
        let failed = read(r#"{"jsonrpc":"2.0","result":{"content":[],"isError":true}}"#);
        assert_eq!(failed.outcome, Some(Outcome::Error));
        let cancelled = read(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#,
        );
        assert_eq!(cancelled.cancelled_id.as_deref(), Some("\"x\""));
        for noise in ["", "hello", "{}", "[1]", "{\"id\":1}"] {
            assert_eq!(MessageFacts::read(noise.as_bytes()), None, "{noise}");
        }
    }
}
