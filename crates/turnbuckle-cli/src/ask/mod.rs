//! Handlers for what a server asks of its client: forms, URLs, sampling and roots.
//!
//! The user is asked at the terminal. `--yes` answers with defaults; without a terminal, or with
//! `--no-input`, questions are cancelled.

mod answer_mode;
mod form;
mod sampling;
mod terminal;
mod url;

use std::path::Path;
use std::sync::Arc;

use turnbuckle::ClientBuilder;
use turnbuckle::client::Roots;
use turnbuckle::types::Root;

use crate::args::{CapabilityChoice, ProtocolArgs};
use crate::error::CliError;
use crate::output::Console;
use answer_mode::AnswerMode;
use terminal::Terminal;

pub(crate) use terminal::{confirm, is_interactive, read_line};

/// Registers the handlers, and so declares the capabilities, that the options allow.
pub(crate) fn install_handlers(
    mut builder: ClientBuilder,
    protocol: &ProtocolArgs,
    console: &Console,
) -> Result<ClientBuilder, CliError> {
    let mode = match (protocol.yes, protocol.no_input || !is_interactive()) {
        (true, _) => AnswerMode::AcceptAll,
        (false, false) => AnswerMode::Prompt,
        (false, true) => AnswerMode::Refuse,
    };
    let wants = |cap| match &protocol.caps {
        Some(caps) => caps.contains(&cap),
        None => match cap {
            CapabilityChoice::Elicitation => mode != AnswerMode::Refuse,
            CapabilityChoice::Roots => !protocol.roots.is_empty(),
            CapabilityChoice::Sampling | CapabilityChoice::None => false,
        },
    };
    let terminal = Arc::new(Terminal::new(console.clone()));
    if wants(CapabilityChoice::Elicitation) {
        let (forms, urls) = (terminal.clone(), terminal.clone());
        builder = builder
            .on_form(move |form, question| form::answer(forms.clone(), mode, form, question))
            .on_url(move |url, question| url::answer(urls.clone(), mode, url, question));
    }
    if wants(CapabilityChoice::Sampling) {
        builder = builder.on_sampling(move |params, question| {
            sampling::answer(terminal.clone(), mode, params, question)
        });
    }
    if wants(CapabilityChoice::Roots) || !protocol.roots.is_empty() {
        let roots = Roots::new();
        for path in &protocol.roots {
            roots
                .add(root_from_path(path)?)
                .map_err(|error| CliError::usage(error.to_string()))?;
        }
        builder = builder.roots(roots);
    }
    Ok(builder)
}

/// Returns the root for an existing path.
fn root_from_path(path: &Path) -> Result<Root, CliError> {
    let failed = |why: String| CliError::usage(format!("the root {}: {why}", path.display()));
    let full = path
        .canonicalize()
        .map_err(|error| failed(error.to_string()))?;
    let text = full
        .to_str()
        .ok_or_else(|| failed("it is not UTF-8".into()))?;
    let root = Root::new(format!("file://{}", encode_uri_path(text)))
        .map_err(|error| failed(error.to_string()))?;
    Ok(match full.file_name().and_then(|name| name.to_str()) {
        Some(name) => root.name(name),
        None => root,
    })
}

/// Encodes a path for use in a `file:` URI.
fn encode_uri_path(path: &str) -> String {
    let slashed = path.replace('\\', "/");
    let mut uri = String::with_capacity(slashed.len() + 1);
    if !slashed.starts_with('/') {
        uri.push('/');
    }
    for byte in slashed.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b':' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(encode_uri_path("/a b/ü#?"), "/a%20b/%C3%BC%23%3F");
        assert_eq!(encode_uri_path("C:\\x"), "/C:/x");
    }
}
