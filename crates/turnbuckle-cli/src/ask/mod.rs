//! Handlers for what a server asks of its client: forms, URLs, sampling and roots.
//!
//! `--answer` and `--answer-command` script the answers. Else the user is asked at the terminal, and
//! `--yes` answers with defaults. Without a terminal, or with `--no-input`, questions are cancelled.

mod answer_mode;
mod form;
mod responder;
mod sampling;
mod script;
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
use responder::Responder;
use script::AnswerScript;
use terminal::Terminal;

pub(crate) use responder::Abort;
pub(crate) use terminal::{confirm, is_interactive, read_line};

/// Registers the handlers, and so declares the capabilities, that the options allow. `abort` fires
/// when a question cannot be answered.
pub(crate) fn install_handlers(
    mut builder: ClientBuilder,
    protocol: &ProtocolArgs,
    console: &Console,
    abort: &Abort,
) -> Result<ClientBuilder, CliError> {
    let script = AnswerScript::new(protocol);
    let mode = choose_mode(protocol);
    let wants = |cap| offers(protocol, cap);
    let responder = Arc::new(Responder {
        terminal: Arc::new(Terminal::new(console.clone())),
        mode,
        script,
        abort: abort.clone(),
    });
    if wants(CapabilityChoice::Elicitation) {
        let (forms, urls) = (responder.clone(), responder.clone());
        builder = builder
            .on_form(move |form, question| form::answer(forms.clone(), form, question))
            .on_url(move |url, question| url::answer(urls.clone(), url, question));
    }
    if wants(CapabilityChoice::Sampling) {
        builder = builder.on_sampling(move |params, question| {
            sampling::answer(responder.clone(), params, question)
        });
    }
    if wants(CapabilityChoice::Roots) || !protocol.roots.is_empty() {
        let roots = Roots::new();
        for root in offered_roots(protocol)? {
            let added = roots.add(root);
            added.map_err(|error| CliError::usage(error.to_string()))?;
        }
        builder = builder.roots(roots);
    }
    Ok(builder)
}

/// Returns how questions are answered that no script answers.
fn choose_mode(protocol: &ProtocolArgs) -> AnswerMode {
    match (protocol.yes, protocol.no_input || !is_interactive()) {
        (true, _) => AnswerMode::AcceptAll,
        (false, false) => AnswerMode::Prompt,
        (false, true) => AnswerMode::Refuse,
    }
}

/// Returns whether the options declare a capability.
fn offers(protocol: &ProtocolArgs, capability: CapabilityChoice) -> bool {
    let is_scripted = protocol.answer_command.is_some() || !protocol.answers.is_empty();
    match (&protocol.caps, capability) {
        (Some(caps), _) => caps.contains(&capability),
        (None, CapabilityChoice::Elicitation) => {
            is_scripted || choose_mode(protocol) != AnswerMode::Refuse
        }
        (None, CapabilityChoice::Sampling) => is_scripted,
        (None, CapabilityChoice::Roots) => !protocol.roots.is_empty(),
        (None, CapabilityChoice::None) => false,
    }
}

/// Returns the capabilities that the options do not declare, each with the value of `--caps` that
/// declares it beside those that are declared now.
pub(crate) fn missing_capabilities(protocol: &ProtocolArgs) -> Vec<(&'static str, String)> {
    let all = [
        (CapabilityChoice::Sampling, "sampling"),
        (CapabilityChoice::Elicitation, "elicitation"),
        (CapabilityChoice::Roots, "roots"),
    ];
    let (declared, missing): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(capability, _)| offers(protocol, *capability));
    let declared: String = declared
        .iter()
        .map(|(_, name)| format!("{name},"))
        .collect();
    let value = |name| format!("{declared}{name}");
    missing
        .into_iter()
        .map(|(_, name)| (name, value(name)))
        .collect()
}

/// Returns the roots that the options offer.
pub(crate) fn offered_roots(protocol: &ProtocolArgs) -> Result<Vec<Root>, CliError> {
    let paths = protocol.roots.iter();
    paths.map(|path| root_from_path(path)).collect()
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
