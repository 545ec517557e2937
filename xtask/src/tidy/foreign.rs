//! What the public API is made of: our own types, std's, and a few agreed foreign traits.
//!
//! A scan of the source, not of the compiler's view: it reads public signatures and fields, and
//! knows a foreign type by its crate's name or by a `use` in the same file. An item that is itself
//! marked `#[doc(hidden)]` is no part of the API.

use super::source::{Source, rooms, words};
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "foreign types",
    advice: "wrap it: a dependency's type in a public signature makes its major version ours",
    check,
};

/// Crates whose types are no part of our API.
const FOREIGN: &[&str] = &[
    "axum",
    "chacha20poly1305",
    "hyper",
    "hyper_util",
    "jsonschema",
    "oauth2",
    "reqwest",
    "schemars",
];

/// The one foreign item of those crates that may stand in a public bound.
const AGREED: &str = "JsonSchema";

/// What stands before an item that is no part of the API.
const HIDDEN: &str = "#[doc(hidden)]";

fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // A binary has no public API.
    for source in rooms(tree).filter(|source| !source.path.starts_with("crates/turnbuckle-cli/")) {
        let imported = imported(&source.bare);
        for (offset, signature) in signatures(&source) {
            if let Some(name) = foreign(signature, &imported) {
                let what = format!("`{name}` in a public signature");
                breaches.push(Breach::at(source.path, &source.bare, offset, what));
            }
        }
    }
    breaches
}

/// The first foreign name in a signature.
fn foreign<'a>(signature: &'a str, imported: &[&str]) -> Option<&'a str> {
    let found = words(signature).find(|&(offset, word)| {
        let after = signature[offset + word.len()..].trim_start();
        let agreed = after
            .strip_prefix("::")
            .is_some_and(|item| item.starts_with(AGREED));
        imported.contains(&word) || (FOREIGN.contains(&word) && !agreed)
    });
    found.map(|(_, word)| word)
}

/// The types that a file's `use` items bring in from foreign crates.
fn imported(bare: &str) -> Vec<&str> {
    let mut imported = Vec::new();
    for (offset, _) in words(bare).filter(|(_, word)| *word == "use") {
        let item = &bare[offset + "use".len()..];
        let item = &item[..item.find(';').unwrap_or_default()];
        if words(item)
            .next()
            .is_some_and(|(_, root)| FOREIGN.contains(&root))
        {
            let types = words(item)
                .map(|(_, word)| word)
                .filter(|word| *word != AGREED);
            imported.extend(types.filter(|word| word.starts_with(char::is_uppercase)));
        }
    }
    imported
}

/// What of the file is public, piece by piece.
fn signatures<'a>(source: &'a Source<'_>) -> Vec<(usize, &'a str)> {
    let bare = source.bare.as_str();
    let mut signatures = Vec::new();
    for (offset, word) in source.words() {
        let rest = &bare[offset..];
        let length = match word {
            "pub" if rest.starts_with("pub(") => 0,
            "pub" if bare[..offset].trim_end().ends_with(HIDDEN) => 0,
            "pub" => public_length(rest),
            "impl" if rest.starts_with("impl From<") => until(rest, &['{']),
            _ => 0,
        };
        signatures.push((offset, &rest[..length]));
    }
    signatures
}

/// How much of `rest`, which begins with `pub`, is public.
fn public_length(rest: &str) -> usize {
    let keyword = words(rest)
        .map(|(_, word)| word)
        .find(|word| !matches!(*word, "pub" | "async" | "const" | "unsafe" | "extern"));
    match keyword {
        Some("fn") => until(rest, &['{', ';']),
        Some("struct" | "union") => until(rest, &['{', '(', ';']),
        Some("enum" | "trait") => body(rest),
        Some("type" | "use" | "mod") => until(rest, &[';', '{']).max(use_list(rest)),
        // A field, or a constant, whose type ends at its value.
        _ => until(rest, &[',', '=', ';', '}']),
    }
}

/// The length of `text` before the first of `ends` outside brackets.
fn until(text: &str, ends: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (offset, c) in text.char_indices() {
        if depth == 0 && ends.contains(&c) {
            return offset;
        }
        match c {
            '(' | '[' | '<' => depth += 1,
            '>' if matches!(before, '-' | '=') => {}
            ')' if depth == 0 => return offset,
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
    }
    text.len()
}

/// The length of a `use` with its braces; 0 for other items.
fn use_list(text: &str) -> usize {
    if text.starts_with("pub use ") {
        text.find(';').unwrap_or_default()
    } else {
        0
    }
}

/// The length of an item up to the closing brace of its body.
fn body(text: &str) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return offset,
            '}' => depth -= 1,
            ';' if depth == 0 => return offset,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("crates/turnbuckle-http/src/serve.rs", text)])).len()
    }

    #[test]
    fn foreign_types_in_public_signatures_are_found() {
        assert_eq!(found("pub fn f(body: hyper::body::Incoming) {}"), 1);
        assert_eq!(
            found("use hyper::body::Incoming;\npub async fn f(\n    b: Incoming,\n) {}"),
            1
        );
        assert_eq!(found("pub struct A { pub b: Vec<axum::Router> }"), 1);
        assert_eq!(found("pub struct A(pub schemars::Schema);"), 1);
        assert_eq!(found("pub enum E { Http(reqwest::Error) }"), 1);
        assert_eq!(
            found("pub trait T { fn f(&self) -> jsonschema::Validator; }"),
            1
        );
        assert_eq!(found("pub use hyper::{\n    Request, Response,\n};"), 1);
        assert_eq!(found("pub type Key = chacha20poly1305::Key;"), 1);
        assert_eq!(
            found("use hyper::Error as Http;\nimpl From<Http> for Error {}"),
            1
        );
    }

    #[test]
    fn hidden_items_are_free_and_what_follows_them_is_not() {
        assert_eq!(found("#[doc(hidden)]\npub use {schemars, serde};"), 0);
        assert_eq!(found("#[doc(hidden)]\npub fn f() {}\npub use hyper;"), 1);
    }

    #[test]
    fn bodies_private_items_and_agreed_traits_are_free() {
        assert_eq!(found("pub fn f() { hyper::g() }"), 0);
        assert_eq!(found("pub(crate) fn f(body: hyper::body::Incoming) {}"), 0);
        assert_eq!(found("pub struct A { b: hyper::Body, pub c: u8 }"), 0);
        assert_eq!(found("pub struct A(hyper::Body);"), 0);
        assert_eq!(
            found("use schemars::JsonSchema;\npub fn f<T: JsonSchema>() {}"),
            0
        );
        assert_eq!(
            found("pub fn f<T: schemars::JsonSchema>(x: http::Request<T>) {}"),
            0
        );
        assert_eq!(found("pub const N: usize = hyper::N;"), 0);
    }
}
