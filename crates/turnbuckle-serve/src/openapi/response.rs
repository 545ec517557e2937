//! The result of a call: what the API answered.

use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName};
use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, Json, Schema};
use turnbuckle_schema::FastValidator;
use turnbuckle_types::base::text::shorten_to;

use super::media_type::{essence, is_json};
use super::schema::shorten_text;
use super::secrets::Secrets;
use crate::web::WebResponse;

/// The characters of the body of an error.
const MAX_ERROR_CHARS: usize = 4_000;

/// Returns the result of a call, without the credentials that the API may have repeated.
///
/// # Errors
/// When the API answered with an error, or with something that its document does not promise.
pub(super) fn result(
    mut response: WebResponse,
    schema: Option<&Schema>,
    secrets: &Secrets,
    max_response_bytes: usize,
) -> Result<CallToolResult> {
    let status = response.status;
    if let Ok(text) = str::from_utf8(&response.body) {
        response.body = secrets.redact(text.to_owned()).into();
    }
    if !status.is_success() {
        return Err(Failure::new(secrets.redact(error_text(&response))));
    }
    let media_type = header(&response.headers, CONTENT_TYPE);
    let essence = essence(&media_type);
    let is_text = essence.is_empty()
        || essence.starts_with("text/")
        || is_json(&essence)
        || essence.ends_with("xml");
    // The request is done, also if its response is not what the document says.
    let mismatch = |reason: &str| {
        let body = beginning(&response);
        Failure::new(format!("HTTP {status}: {reason}\n\n{body}"))
    };
    if response.is_cut {
        let size =
            format!("the response has more than {max_response_bytes} bytes (--max-response)");
        return match is_text {
            // The beginning of a JSON value is none.
            true if schema.is_none() => {
                let text = String::from_utf8_lossy(&response.body);
                let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
                Ok(CallToolResult::from_text(format!(
                    "{text}\n\n[Cut: {size}.]"
                )))
            }
            _ => Err(Failure::new(format!("HTTP {status}: {size}: ask for less"))),
        };
    }
    if is_json(&essence)
        && let Ok(text) = std::str::from_utf8(&response.body)
        && let Ok(json) = text.parse::<Json>()
    {
        if let Some(reason) = schema.and_then(|schema| violation(schema, &json)) {
            return Err(mismatch(&reason));
        }
        let text = text.to_owned();
        let is_structured = schema.is_some() || json.is_object();
        let result = CallToolResult::from_text(text);
        return Ok(match is_structured {
            true => result.structured_content(json),
            false => result,
        });
    }
    if schema.is_some() {
        return Err(mismatch(&format!(
            "the response is no JSON, which the API promises; it has the media type {:?}",
            secrets.redact(media_type)
        )));
    }
    if response.body.is_empty() {
        return Ok(CallToolResult::from_text(format!("HTTP {status}")));
    }
    match (is_text, String::from_utf8(response.body.to_vec())) {
        (true, Ok(text)) => Ok(CallToolResult::from_text(text)),
        (_, bytes) => {
            let bytes =
                bytes.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
            let path = response.url.path();
            let name = path.rsplit('/').next().unwrap_or("file").to_owned();
            let content =
                turnbuckle::types::ContentBlock::from(turnbuckle::File::new(name, essence, bytes));
            Ok(CallToolResult::new().content([content]))
        }
    }
}

fn error_text(response: &WebResponse) -> String {
    let mut text = format!("HTTP {}", response.status);
    if response.status.is_redirection() {
        let target = header(&response.headers, LOCATION);
        // Its query can repeat a credential.
        if let Ok(target) = response.url.join(&target) {
            let target = format!("{}{}", target.origin().ascii_serialization(), target.path());
            text += &format!(" to {}", shorten_to(&target, 200));
        }
        text += ": redirects are not followed";
    }
    let after = header(&response.headers, RETRY_AFTER);
    if !after.is_empty() {
        text += &format!("\nRetry-After: {}", shorten_to(&after, 40));
    }
    let body = beginning(response);
    if !body.is_empty() {
        text += &format!("\n\n{body}");
    }
    text
}

/// Returns the beginning of the body.
fn beginning(response: &WebResponse) -> String {
    shorten_text(&String::from_utf8_lossy(&response.body), MAX_ERROR_CHARS)
}

/// Returns the reason why a value does not match a schema.
fn violation(schema: &Schema, value: &Json) -> Option<String> {
    let validator = FastValidator::compile(schema).ok()?;
    let violations = validator.validate(value.into()).err()?;
    let first = violations.iter().next();
    let first = first.map(|first| first.describe("response"));
    Some(format!(
        "the response does not match the document of the API: {}",
        first.unwrap_or_default()
    ))
}

fn header(headers: &HeaderMap, name: HeaderName) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}
