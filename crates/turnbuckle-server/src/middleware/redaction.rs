//! Middleware that replaces confidential text in results, log messages and progress.

use std::sync::Arc;

use tower_layer::Layer;
use turnbuckle_types::{
    CallToolResult, ContentBlock, GetPromptResult, ProtocolError, ReadResourceResult,
    ResourceContents,
};

use super::{Next, from_fn};
use crate::handler::CallKind;
use crate::request::redaction::{Redact, redact_json};
use crate::service::{CallRequest, CallResponse, CallService, Middleware};

/// Makes a layer that calls `redact` with each text of a result, and of the log messages and progress
/// that the handler sends before, and replaces the text where `redact` returns another one.
///
/// Texts are: text content and embedded text resources of tools and prompts, every string in
/// structured content, the text of resources that are read, descriptions of prompts, the message
/// and data of errors, every string in the data of log messages, and the messages of progress. Names,
/// URIs, keys of objects, media and metadata stay, and so do completions, lists, questions to the client
/// and other notifications. A text is redacted by itself: a secret that is split over two texts is not
/// found.
///
/// ```
/// use turnbuckle_server::middleware::{redaction, replace_tokens};
/// use turnbuckle_server::{Server, Tool};
///
/// let server = Server::new("careful", "1.0.0")
///     .layer(redaction(replace_tokens(["ghp_", "sk-"], "[removed]")))
///     .tool(Tool::builder("env").handler(|| "TOKEN=ghp_16C7e42F292c69"))
///     .build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
pub fn redaction<F>(redact: F) -> impl Layer<CallService, Service: Middleware> + Clone
where
    F: Fn(&str) -> Option<String> + Send + Sync + 'static,
{
    let redact: Arc<Redact> = Arc::new(redact);
    from_fn(move |mut call: CallRequest, next: Next| {
        let redact = redact.clone();
        async move {
            let kind = call.kind();
            call.add_redaction(redact.clone());
            let response = next.run(call).await;
            redact_response(response, kind, &*redact)
        }
    })
}

/// Returns a function for [`redaction`] that replaces tokens: each of the prefixes, together with the
/// ASCII letters, digits, `-`, `_` and `.` that follow it. Prefixes are compared exactly; empty ones
/// are ignored.
pub fn replace_tokens<P: Into<String>>(
    prefixes: impl IntoIterator<Item = P>,
    replacement: impl Into<String>,
) -> impl Fn(&str) -> Option<String> + Send + Sync + 'static {
    let prefixes = prefixes.into_iter().map(Into::into);
    let prefixes: Vec<String> = prefixes.filter(|prefix| !prefix.is_empty()).collect();
    let replacement = replacement.into();
    move |text| {
        let mut redacted = String::new();
        let mut rest = text;
        while let Some((at, prefix)) = first_of(rest, &prefixes) {
            redacted.push_str(&rest[..at]);
            redacted.push_str(&replacement);
            rest = rest[at + prefix.len()..].trim_start_matches(is_token_char);
        }
        (rest.len() < text.len()).then(|| redacted + rest)
    }
}

/// Returns the first of the prefixes in a text, and its position.
fn first_of<'p>(text: &str, prefixes: &'p [String]) -> Option<(usize, &'p str)> {
    let found = prefixes
        .iter()
        .filter_map(|prefix| Some((text.find(prefix)?, prefix.as_str())));
    found.min_by_key(|(at, _)| *at)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn redact_response(mut response: CallResponse, kind: CallKind, redact: &Redact) -> CallResponse {
    if let Some(error) = response.error() {
        return match redact_error(error, redact) {
            Some(error) => CallResponse::from_failure(error),
            None => response,
        };
    }
    match kind {
        CallKind::Tool => change(&mut response, |result: &mut CallToolResult| {
            let changed = any(&mut result.content, |block| redact_block(block, redact));
            let structured = result.structured_content.as_mut();
            changed | structured.is_some_and(|json| redact_json(json, redact))
        }),
        CallKind::Prompt => change(&mut response, |result: &mut GetPromptResult| {
            let description = result.description.as_mut();
            let changed = description.is_some_and(|text| redact_text(text, redact));
            changed
                | any(&mut result.messages, |it| {
                    redact_block(&mut it.content, redact)
                })
        }),
        CallKind::Resource => change(&mut response, |result: &mut ReadResourceResult| {
            any(&mut result.contents, |contents| {
                redact_contents(contents, redact)
            })
        }),
        CallKind::Completion | CallKind::List => {}
    }
    response
}

/// Replaces the result with the one that `redact` has changed, if it returns true.
fn change<T: crate::service::CallResult>(
    response: &mut CallResponse,
    redact: impl FnOnce(&mut T) -> bool,
) {
    if let Some(mut result) = response.result::<T>()
        && redact(&mut result)
    {
        response.set_result(result);
    }
}

fn redact_error(error: &ProtocolError, redact: &Redact) -> Option<ProtocolError> {
    let message = redact(error.message());
    let data = error.data().cloned().and_then(|mut data| {
        let changed = redact_json(&mut data, redact);
        changed.then_some(data)
    });
    if message.is_none() && data.is_none() {
        return None;
    }
    let message = message.unwrap_or_else(|| error.message().to_owned());
    let redacted = ProtocolError::new(error.kind().clone(), message);
    Some(match data.as_ref().or_else(|| error.data()) {
        Some(data) => redacted.with_data(data),
        None => redacted,
    })
}

/// Redacts all parts, and returns whether any has changed.
fn any<T>(parts: &mut [T], mut redact: impl FnMut(&mut T) -> bool) -> bool {
    parts
        .iter_mut()
        .fold(false, |changed, part| changed | redact(part))
}

fn redact_block(block: &mut ContentBlock, redact: &Redact) -> bool {
    match block {
        ContentBlock::Text(text) => redact_text(&mut text.text, redact),
        ContentBlock::Resource(embedded) => redact_contents(&mut embedded.resource, redact),
        _ => false,
    }
}

fn redact_contents(contents: &mut ResourceContents, redact: &Redact) -> bool {
    match contents {
        ResourceContents::Text(text) => redact_text(&mut text.text, redact),
        _ => false,
    }
}

fn redact_text(text: &mut String, redact: &Redact) -> bool {
    match redact(text) {
        Some(redacted) => {
            *text = redacted;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_redacted_with_the_text_after_their_prefix() {
        let redact = replace_tokens(["sk-", "", "ghp_"], "*");
        assert_eq!(redact("nothing here"), None);
        assert_eq!(
            redact("a sk-1.B_c, ghp_x; sk-").as_deref(),
            Some("a *, *; *")
        );
    }

    #[test]
    fn an_error_keeps_its_kind_and_its_data() {
        let error = ProtocolError::application(-7, "sk-1").with_data(&["sk-2", "rest"]);
        let redacted = redact_error(&error, &replace_tokens(["sk-"], "*")).unwrap();
        assert_eq!(redacted.kind(), error.kind());
        assert_eq!(redacted.message(), "*");
        assert_eq!(redacted.data().unwrap().as_str(), r#"["*","rest"]"#);
        let error = ProtocolError::internal("fine");
        assert!(redact_error(&error, &replace_tokens(["sk-"], "*")).is_none());
    }
}
