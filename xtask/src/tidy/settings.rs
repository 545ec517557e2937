//! The rule about the names of settings.

use super::rule::{Rule, Violation};
use crate::source::{Source, Token, TokenKind};

pub(super) const RULE: Rule = Rule {
    name: "settings",
    reason: "a setting says its kind: a duration that gives up ends in _timeout, one that goes \
             on in another way in _wait, a repeated one in _interval, an age in _ttl; a number of bytes ends in _bytes, a cap begins with max_",
    check: |project| project.sources.iter().flat_map(settings).collect(),
};

/// Ends of the names of structs that hold settings.
const SETTINGS_STRUCTS: &[&str] = &[
    "Limits", "Options", "Config", "Settings", "Timeouts", "Policy",
];

fn settings(source: &Source) -> Vec<Violation> {
    if !source.is_production() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for item in &source.items {
        let syn::Item::Struct(item) = item else {
            continue;
        };
        let holds_settings = SETTINGS_STRUCTS
            .iter()
            .any(|end| item.ident.to_string().ends_with(end));
        for field in &item.fields {
            let (syn::Visibility::Public(_), Some(name)) = (&field.vis, &field.ident) else {
                continue;
            };
            if let Some(what) = naming_fault(&name.to_string(), field, holds_settings) {
                let line = name.span().start().line;
                let what = format!("`{}::{name}` {what}", item.ident);
                found.push(Violation::new(&source.path, line, what));
            }
        }
    }
    found
}

/// Returns the fault in the name of a public field.
fn naming_fault(name: &str, field: &syn::Field, holds_settings: bool) -> Option<&'static str> {
    let mut tokens = Vec::new();
    crate::source::flatten(quote::ToTokens::to_token_stream(field), &mut tokens);
    let is_of = |types: &[&str]| {
        tokens
            .iter()
            .filter_map(Token::ident)
            .any(|word| types.contains(&word))
    };
    let counts_bytes = first_sentence(&tokens)
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| word == "bytes");
    if is_of(&["Duration"]) {
        const ENDS: &[&str] = &[
            "timeout", "interval", "ttl", "delay", "backoff", "wait", "window",
        ];
        let ends = ENDS.iter().any(|end| name.ends_with(end));
        return (!ends).then_some("is a duration: it ends in _timeout, _interval, _ttl or _delay");
    }
    if !holds_settings || !is_of(&["u16", "u32", "u64", "usize"]) {
        return None;
    }
    if !name.starts_with("max_") {
        return Some("is a cap: it begins with max_");
    }
    (counts_bytes && !name.ends_with("_bytes")).then_some("counts bytes: it ends in _bytes")
}

/// Returns the first sentence of the doc comment among the tokens of an item.
fn first_sentence(tokens: &[Token]) -> String {
    let mut lines = Vec::new();
    for token in tokens {
        if let TokenKind::Doc(text) = &token.kind {
            lines.push(text.trim());
        }
    }
    let text = lines.join(" ");
    match text.split_once(". ") {
        Some((first, _)) => first.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Project;
    use super::*;
    use turnbuckle_requirements::Tree;

    #[test]
    fn a_setting_that_does_not_say_its_kind_is_found() {
        let field = |field: &str| {
            let text = format!("pub struct Limits {{ {field} }}");
            let tree = Tree::new(&[("crates/turnbuckle-http/src/a.rs", &text)]);
            let found = (RULE.check)(&Project::parse(tree).unwrap()).into_iter();
            found.map(|violation| violation.what).collect::<Vec<_>>()
        };
        for text in [
            "pub drain: Duration",
            "pub ping: Option<Duration>",
            "pub batch: usize",
            "/// Bytes: so many bytes.\npub max_line: usize",
        ] {
            assert_eq!(field(text).len(), 1, "{text}");
        }
        for text in [
            "pub drain_timeout: Duration",
            "drain: Duration",
            "pub max_batch: usize",
            "/// In bytes.\npub max_line_bytes: usize",
            "/// The most work. Reading 64 bytes is one unit.\npub max_work: usize",
            "pub json_wait: Duration",
        ] {
            assert_eq!(field(text), [""; 0], "{text}");
        }
    }
}
