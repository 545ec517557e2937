//! The rule about the names of settings.

use super::rule::{Rule, Violation};
use crate::settings::{Table, tables};
use crate::source::{Source, Token, TokenKind, flatten};

pub(super) const RULE: Rule = Rule {
    name: "settings",
    reason: "a setting says its kind: a duration that gives up ends in _timeout, one that goes \
             on in another way in _wait, a repeated one in _interval, an age in _ttl; a number of bytes ends in _bytes, a cap begins with max_",
    check: |project| {
        let tables = tables(&project.tree, &project.sources);
        let rows = tables.iter().flat_map(rows);
        rows.chain(project.sources.iter().flat_map(fields))
            .collect()
    },
};

/// Ends of the names of structs that hold settings.
const SETTINGS_STRUCTS: &[&str] = &[
    "Limits", "Options", "Config", "Settings", "Timeouts", "Policy",
];

fn rows(table: &Table) -> Vec<Violation> {
    let rows = table.rows.iter().filter_map(|row| {
        let fault = naming_fault(&row.name, &row.field, holds_settings(&table.name))?;
        let what = format!("`{}::{}` {fault}", table.name, row.name);
        Some(Violation::new(&table.path, row.line, what))
    });
    rows.collect()
}

fn holds_settings(name: &str) -> bool {
    SETTINGS_STRUCTS.iter().any(|end| name.ends_with(end))
}

fn fields(source: &Source) -> Vec<Violation> {
    if !source.is_production() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for item in &source.items {
        let syn::Item::Struct(item) = item else {
            continue;
        };
        let holds_settings = holds_settings(&item.ident.to_string());
        for field in &item.fields {
            let (syn::Visibility::Public(_), Some(name)) = (&field.vis, &field.ident) else {
                continue;
            };
            let mut tokens = Vec::new();
            flatten(quote::ToTokens::to_token_stream(field), &mut tokens);
            if let Some(what) = naming_fault(&name.to_string(), &tokens, holds_settings) {
                let line = name.span().start().line;
                let what = format!("`{}::{name}` {what}", item.ident);
                found.push(Violation::new(&source.path, line, what));
            }
        }
    }
    found
}

/// Returns the fault in the name of a public field.
fn naming_fault(name: &str, tokens: &[Token], holds_settings: bool) -> Option<&'static str> {
    let is_of = |types: &[&str]| {
        tokens
            .iter()
            .filter_map(Token::ident)
            .any(|word| types.contains(&word))
    };
    let counts_bytes = first_sentence(tokens)
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
    use crate::tree::Tree;

    #[test]
    fn a_setting_that_does_not_say_its_kind_is_found() {
        let field = |field: &str| {
            let row = field.replace("pub ", "");
            let found = [
                format!("pub struct Limits {{ {field} }}"),
                format!("settings! {{ pub struct Limits {{ {row} = 1, }} }}"),
            ]
            .map(|text| {
                let tree = Tree::new(&[("crates/turnbuckle-http/src/a.rs", &text)]);
                let found = (RULE.check)(&Project::parse(tree).unwrap()).into_iter();
                found.map(|violation| violation.what).collect::<Vec<_>>()
            });
            // A row is public.
            if field.contains("pub ") {
                assert_eq!(found[0], found[1]);
            }
            found[0].clone()
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
