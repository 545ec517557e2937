//! What the server may ask, and how the user is asked.

mod form;
mod sampling;
mod terminal;
mod url;

use std::path::Path;
use std::sync::Arc;

use turnbuckle::ClientBuilder;
use turnbuckle::client::Roots;
use turnbuckle::types::Root;

use crate::args::{Cap, Speak};
use crate::failure::Failure;
use crate::output::Screen;
use terminal::Terminal;

/// Whether and how questions are answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// The user is asked.
    Asked,
    /// With defaults, and by agreeing.
    Yes,
    /// They are refused.
    Refused,
}

/// Installs handlers for what the user lets the server ask.
pub(crate) fn install(
    mut builder: ClientBuilder,
    speak: &Speak,
    screen: &Screen,
) -> Result<ClientBuilder, Failure> {
    let manner = match (speak.yes, speak.no_input || !terminal::is_there()) {
        (true, _) => Manner::Yes,
        (false, false) => Manner::Asked,
        (false, true) => Manner::Refused,
    };
    let wants = |cap| match &speak.caps {
        Some(caps) => caps.contains(&cap),
        None => match cap {
            Cap::Elicitation => manner != Manner::Refused,
            Cap::Roots => !speak.roots.is_empty(),
            Cap::Sampling | Cap::None => false,
        },
    };
    let terminal = Arc::new(Terminal::new(screen.clone()));
    if wants(Cap::Elicitation) {
        let (forms, urls) = (terminal.clone(), terminal.clone());
        builder = builder
            .on_form(move |form, question| form::answer(forms.clone(), manner, form, question))
            .on_url(move |url, question| url::answer(urls.clone(), manner, url, question));
    }
    if wants(Cap::Sampling) {
        builder = builder.on_sampling(move |params, question| {
            sampling::answer(terminal.clone(), manner, params, question)
        });
    }
    if wants(Cap::Roots) || !speak.roots.is_empty() {
        let roots = Roots::new();
        for path in &speak.roots {
            roots
                .add(root(path)?)
                .map_err(|error| Failure::usage(error.to_string()))?;
        }
        builder = builder.roots(roots);
    }
    Ok(builder)
}

/// The root at a path that is there.
fn root(path: &Path) -> Result<Root, Failure> {
    let failed = |why: String| Failure::usage(format!("the root {}: {why}", path.display()));
    let full = path
        .canonicalize()
        .map_err(|error| failed(error.to_string()))?;
    let text = full
        .to_str()
        .ok_or_else(|| failed("it is not UTF-8".into()))?;
    let root = Root::new(format!("file://{}", encoded(text)))
        .map_err(|error| failed(error.to_string()))?;
    Ok(match full.file_name().and_then(|name| name.to_str()) {
        Some(name) => root.name(name),
        None => root,
    })
}

/// A path as it stands in a URI.
fn encoded(path: &str) -> String {
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
        assert_eq!(encoded("/a b/ü#?"), "/a%20b/%C3%BC%23%3F");
        assert_eq!(encoded("C:\\x"), "/C:/x");
    }
}
