//! Exchanges as text to copy: a command line of turnbuckle, one of curl, and JSON.
//!
//! The command lines are for a POSIX shell. JSON stays byte for byte as it was sent. A secret is a
//! variable of the shell that the user sets.

use std::ops::Range;

use bytes::Bytes;
use turnbuckle_types::Request as _;
use turnbuckle_types::base::text::has_hidden;
use turnbuckle_types::method::{CallTool, GetPrompt, ReadResource};

use crate::api::{HttpFacts, ValueKind};
use crate::outline::{member, parts};
use crate::target::{REDACTED, ServerWords};
use crate::values::{Document, Value};

/// The most bytes of an argument of a command: Linux refuses longer ones.
const MAX_WORD_BYTES: usize = 100_000;

/// The variable that takes the place of a secret without a better name.
const SECRET: &str = "SECRET";

/// The headers that curl writes itself.
const OWN_HEADERS: [&str; 8] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// The beginning of the members of `_meta` that belong to the protocol: a client adds its own.
const PROTOCOL_META: &str = "io.modelcontextprotocol/";

/// Returns the command line of turnbuckle that sends a request again.
///
/// # Errors
/// Returns a sentence if the request is too long for a command line.
pub(crate) fn as_command(request: &[u8], words: &ServerWords) -> Result<String, String> {
    let method = member_text(request, "method").unwrap_or_default();
    let params = member(request, 0, "params").map(|range| request[range].to_vec());
    let params = without_envelope(params.as_deref().unwrap_or(b"{}"));
    let (verb, own) = match plain_call(&method, &params) {
        Some(call) => call,
        None if params == "{}" => ("raw", vec![method]),
        None => ("raw", vec![method, params]),
    };
    if own.iter().any(|word| word.len() > MAX_WORD_BYTES) {
        return Err("the request is longer than a command line may be: save it".to_owned());
    }
    let mut line = format!("turnbuckle {verb}");
    let target = words.target.iter().chain(&own);
    let command = words.command.iter();
    let behind = (!words.command.is_empty()).then_some("--".to_owned());
    for word in target.chain(behind.as_ref()).chain(command) {
        line.push(' ');
        line.push_str(&shell_word(word, SECRET));
    }
    Ok(line)
}

/// Returns the command line of curl that sends a request again, as its HTTP exchange was.
///
/// # Errors
/// Returns a sentence if the request is too long for a command line.
pub(crate) fn as_curl(request: &[u8], http: &HttpFacts, address: &str) -> Result<String, String> {
    let body = String::from_utf8_lossy(request);
    if body.len() > MAX_WORD_BYTES {
        return Err("the request is longer than a command line may be: save it".to_owned());
    }
    let authority = address
        .split_once("://")
        .map_or(0, |(scheme, _)| scheme.len() + 3);
    let host = address[authority..].find(['/', '?', '#']);
    let origin = &address[..host.map_or(address.len(), |length| authority + length)];
    let url = shell_word(&format!("{origin}{}", http.path), SECRET);
    let mut line = format!(
        "curl --globoff -sSNX {} {url}",
        shell_word(&http.method, SECRET)
    );
    let headers = http.request.iter();
    for header in headers.filter(|header| !OWN_HEADERS.contains(&&*header.name)) {
        // A scheme stands before the token of credentials.
        let variable = match header.value.ends_with(&format!(" {REDACTED}")) {
            true => "TOKEN".to_owned(),
            false => variable_name(&header.name),
        };
        let text = format!("{}: {}", header.name, header.value);
        line.push_str(" \\\n  -H ");
        line.push_str(&shell_word(&text, &variable));
    }
    line.push_str(" \\\n  --data-raw ");
    line.push_str(&shell_word(&body, SECRET));
    Ok(line)
}

/// Returns messages as JSON: a lone one as it is, or a request with its response.
///
/// # Errors
/// Returns a sentence if a message is not UTF-8.
pub(crate) fn as_json(message: &[u8], answer: Option<&[u8]>) -> Result<String, String> {
    let text = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| "the message is not UTF-8: save it".to_owned())?;
        Ok::<_, String>(text.trim().to_owned())
    };
    Ok(match answer {
        None => text(message)?,
        Some(answer) => format!(
            "{{\"request\":{},\n\"response\":{}}}",
            text(message)?,
            text(answer)?
        ),
    })
}

/// Returns the verb and the words of a request that has a command of its own; `None` if the command
/// would not send the same.
fn plain_call(method: &str, params: &str) -> Option<(&'static str, Vec<String>)> {
    let (verb, names): (_, &[&str]) = match method {
        CallTool::METHOD => ("call", &["name", "arguments"]),
        GetPrompt::METHOD => ("prompt", &["name", "arguments"]),
        ReadResource::METHOD => ("read", &["uri"]),
        _ => return None,
    };
    let document = Document::new(Bytes::copy_from_slice(params.as_bytes()));
    let root = document.root()?;
    let has_only = root
        .children()
        .all(|it| it.key().is_some_and(|key| names.contains(&&*key)));
    if !has_only || !survives_parsing(root) {
        return None;
    }
    let name = root.member(names[0])?.as_str()?;
    if name.starts_with('-') || has_hidden(&name) {
        return None;
    }
    let mut words = vec![name];
    if let Some(arguments) = root.member("arguments") {
        if arguments.kind() != ValueKind::Object {
            return None;
        }
        if !arguments.is_empty() {
            words.push(arguments.raw_text());
        }
    }
    Some((verb, words))
}

/// Returns whether a reader of JSON with 64-bit numbers gets the whole value.
fn survives_parsing(value: Value<'_>) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let survives = match value.kind() {
            ValueKind::Number => {
                let text = value.raw_text();
                let parsed = serde_json::from_str::<serde_json::Number>(&text);
                parsed.is_ok_and(|number| number.to_string() == text)
            }
            ValueKind::Object => value.duplicates().is_empty(),
            _ => true,
        };
        if !survives {
            return false;
        }
        open.extend(value.children());
    }
    true
}

/// Returns parameters without what a client adds to `_meta` by itself. All other bytes stay.
fn without_envelope(params: &[u8]) -> String {
    let is_own = |key: &[u8]| key == b"progressToken" || key.starts_with(PROTOCOL_META.as_bytes());
    let Some(meta) = member(params, 0, "_meta") else {
        return String::from_utf8_lossy(params).into_owned();
    };
    let others: Vec<_> = parts(params, meta.start)
        .filter(|part| !is_own(part.key))
        .map(|part| member_bytes(params, part.key, part.range))
        .collect();
    let mut members = Vec::new();
    for part in parts(params, 0) {
        if part.range != meta {
            members.push(member_bytes(params, part.key, part.range));
        } else if !others.is_empty() {
            members.push(format!("\"_meta\":{{{}}}", others.join(",")));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn member_bytes(text: &[u8], key: &[u8], range: Range<usize>) -> String {
    let key = String::from_utf8_lossy(key);
    format!("\"{key}\":{}", String::from_utf8_lossy(&text[range]))
}

fn member_text(text: &[u8], name: &str) -> Option<String> {
    let range = member(text, 0, name)?;
    serde_json::from_slice(&text[range]).ok()
}

/// Returns a word as a POSIX shell reads it. Each secret in it is the variable `variable`.
fn shell_word(word: &str, variable: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let quoted = |part: &str| format!("'{}'", part.replace('\'', r"'\''"));
    let parts = word.split(REDACTED).map(|part| match part {
        "" => String::new(),
        part => quoted(part),
    });
    let parts: Vec<_> = parts.collect();
    match parts.join(&format!("\"${variable}\"")) {
        empty if empty.is_empty() => "''".to_owned(),
        word => word,
    }
}

/// Returns the name of a header as that of a variable.
fn variable_name(header: &str) -> String {
    let letter = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = header.chars().map(letter).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Header;

    fn words(target: &[&str], command: &[&str]) -> ServerWords {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        ServerWords {
            target: owned(target),
            command: owned(command),
        }
    }

    fn command(method: &str, params: &str) -> String {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        as_command(message.as_bytes(), &words(&["shop"], &[])).unwrap()
    }

    #[test]
    fn a_request_is_a_command_line_with_its_arguments_byte_for_byte() {
        for (method, params, line) in [
            (
                "tools/call",
                r#"{"name":"add","arguments":{"a": 1,"b":"it's $x `y` \n"}}"#,
                r#"turnbuckle call shop add '{"a": 1,"b":"it'\''s $x `y` \n"}'"#,
            ),
            (
                "tools/call",
                r#"{"name":"a b"}"#,
                "turnbuckle call shop 'a b'",
            ),
            (
                "tools/call",
                r#"{"name":"x","arguments":{},"_meta":{"progressToken":1,"io.modelcontextprotocol/x":{}}}"#,
                "turnbuckle call shop x",
            ),
            // A reader of JSON would change these.
            (
                "tools/call",
                r#"{"name":"x","arguments":{"n":1E400}}"#,
                r#"turnbuckle raw shop tools/call '{"name":"x","arguments":{"n":1E400}}'"#,
            ),
            (
                "tools/call",
                r#"{"name":"x","arguments":{"a":[{"b":1,"\u0062":2}]}}"#,
                r#"turnbuckle raw shop tools/call '{"name":"x","arguments":{"a":[{"b":1,"\u0062":2}]}}'"#,
            ),
            // These are no words of a terminal, or options.
            (
                "tools/call",
                r#"{"name":"\u001b[2J"}"#,
                r#"turnbuckle raw shop tools/call '{"name":"\u001b[2J"}'"#,
            ),
            (
                "resources/read",
                r#"{"uri":"--config"}"#,
                r#"turnbuckle raw shop resources/read '{"uri":"--config"}'"#,
            ),
            (
                "tools/call",
                r#"{"name":"x","task":{"ttl":1},"_meta":{"a" : [1 ],"progressToken":"p"}}"#,
                r#"turnbuckle raw shop tools/call '{"name":"x","task":{"ttl":1},"_meta":{"a":[1 ]}}'"#,
            ),
            (
                "resources/read",
                r#"{"uri":"a:b"}"#,
                "turnbuckle read shop a:b",
            ),
            (
                "prompts/get",
                r#"{"name":"p","arguments":{"k":"v"}}"#,
                r#"turnbuckle prompt shop p '{"k":"v"}'"#,
            ),
            ("tools/list", "{}", "turnbuckle raw shop tools/list"),
            (
                "tools/list",
                r#"{"cursor":"a"}"#,
                r#"turnbuckle raw shop tools/list '{"cursor":"a"}'"#,
            ),
        ] {
            assert_eq!(command(method, params), line, "{params}");
        }
        let message = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let words = words(&[], &["node", "a b.js", "--key=[redacted]", ""]);
        assert_eq!(
            as_command(message, &words).unwrap(),
            r#"turnbuckle raw ping -- node 'a b.js' '--key='"$SECRET" ''"#
        );
        let long = format!(
            r#"{{"method":"x","params":{{"a":"{}"}}}}"#,
            "x".repeat(MAX_WORD_BYTES)
        );
        assert!(as_command(long.as_bytes(), &words).is_err());
    }

    #[test]
    fn a_request_over_http_is_a_command_of_curl_without_secrets() {
        let header = |name: &str, value: &str| Header {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let http = HttpFacts {
            method: "POST".to_owned(),
            path: "/mcp?key=[redacted]".to_owned(),
            status: Some(200),
            request: vec![
                header("content-type", "application/json"),
                header("content-length", "10"),
                header("authorization", "Bearer [redacted]"),
                header("x-api-key", "[redacted]"),
                header("3d", "[redacted]"),
                header("x-odd", "$HOME 'q'"),
            ],
            response: Vec::new(),
            error: None,
        };
        let line = as_curl(
            br#"{"a":"it's [redacted]"}"#,
            &http,
            "https://a.example:8443/other?…",
        );
        assert_eq!(
            line.unwrap(),
            [
                r#"curl --globoff -sSNX POST 'https://a.example:8443/mcp?key='"$SECRET" \"#,
                r"  -H 'content-type: application/json' \",
                r#"  -H 'authorization: Bearer '"$TOKEN" \"#,
                r#"  -H 'x-api-key: '"$X_API_KEY" \"#,
                r#"  -H '3d: '"$_3D" \"#,
                r"  -H 'x-odd: $HOME '\''q'\''' \",
                r#"  --data-raw '{"a":"it'\''s '"$SECRET"'"}'"#,
            ]
            .join("\n")
        );
        assert!(as_curl(&[b'x'; MAX_WORD_BYTES + 1], &http, "").is_err());
    }

    #[test]
    fn messages_are_json_as_they_were_sent() {
        let request = br#"{"id":1, "n":1E400,"n":"\u0061"}"#;
        assert_eq!(as_json(request, None).unwrap().as_bytes(), request);
        assert_eq!(
            as_json(b"{\"id\":1}\n", Some(b"{\"id\" :1}")).unwrap(),
            "{\"request\":{\"id\":1},\n\"response\":{\"id\" :1}}"
        );
        assert!(as_json(b"\xff", None).is_err());
    }
}
