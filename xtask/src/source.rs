//! Rust source files as tokens and as syntax trees.

use std::iter::Peekable;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree, token_stream};
use syn::spanned::Spanned;

use crate::tree::Tree;

/// A Rust file of the workspace.
pub(crate) struct Source {
    /// The path from the root of the workspace.
    pub(crate) path: String,
    /// Every item of the file.
    pub(crate) items: Vec<syn::Item>,
    /// The tokens of the whole file.
    pub(crate) tokens: Vec<Token>,
    /// The tokens without items that only tests have.
    pub(crate) production: Vec<Token>,
    /// The lines of items that only tests have.
    pub(crate) test_lines: Vec<RangeInclusive<usize>>,
}

/// A token with the line where it begins, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Ident(String),
    /// A sign or a bracket.
    Punct(char),
    /// The value of a string or byte string.
    Text(String),
    /// The text of a doc comment, without its slashes.
    Doc(String),
    /// A number, a character, or another literal.
    Other,
}

impl Token {
    pub(crate) fn ident(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Ident(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is(&self, punct: char) -> bool {
        self.kind == TokenKind::Punct(punct)
    }
}

impl Source {
    /// Parses one file.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, String> {
        let at = |line: usize, error: &dyn std::fmt::Display| format!("{path}:{line}: {error}");
        let stream: TokenStream = text
            .parse()
            .map_err(|error: LexError| at(error.span().start().line, &error))?;
        let mut tokens = Vec::new();
        flatten(stream.clone(), &mut tokens);
        let file: syn::File =
            syn::parse2(stream).map_err(|error| at(error.span().start().line, &error))?;
        let mut tests = Vec::new();
        test_lines(&file.items, &mut tests);
        let is_test = |token: &Token| tests.iter().any(|lines| lines.contains(&token.line));
        let production = tokens.iter().filter(|token| !is_test(token));
        Ok(Self {
            path: path.to_owned(),
            production: production.cloned().collect(),
            items: file.items,
            tokens,
            test_lines: tests,
        })
    }

    /// Returns the package's folder: `crates/turnbuckle-http`, `benches/load`, `tests/it`, `xtask`.
    pub(crate) fn package(&self) -> &str {
        package_of(&self.path)
    }

    /// Returns whether the file belongs to a crate under `crates` and is compiled into it without tests.
    pub(crate) fn is_production(&self) -> bool {
        self.path.starts_with("crates/") && !is_test(&self.path)
    }
}

/// Parses every Rust file of the tree; the second list has an error for each that does not parse.
pub(crate) fn parse_all(tree: &Tree) -> (Vec<Source>, Vec<String>) {
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    // A file that a test of the macros expects not to compile may also not parse.
    for (path, text) in tree.texts(".rs").filter(|(path, _)| !path.contains("/ui/")) {
        match Source::parse(path, text) {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(error),
        }
    }
    (sources, errors)
}

/// Returns the folder of the package that holds the file at `path`.
pub(crate) fn package_of(path: &str) -> &str {
    let depth = match path.split('/').next() {
        Some("crates" | "benches" | "tests") => 2,
        _ => 1,
    };
    let end = path.match_indices('/').nth(depth - 1);
    end.map_or(path, |(at, _)| &path[..at])
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path
            .split('/')
            .any(|part| matches!(part, "tests" | "benches" | "examples"))
}

/// Appends the lines of the items under `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn test_lines(items: &[syn::Item], lines: &mut Vec<RangeInclusive<usize>>) {
    fn lines_of(item: &impl Spanned) -> RangeInclusive<usize> {
        let span = item.span();
        span.start().line..=span.end().line
    }
    for item in items {
        match item {
            _ if is_test_only(attributes(item)) => lines.push(lines_of(item)),
            syn::Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    test_lines(items, lines);
                }
            }
            syn::Item::Impl(item) => {
                for function in &item.items {
                    match function {
                        syn::ImplItem::Fn(item) if is_test_only(&item.attrs) => {
                            lines.push(lines_of(item));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns whether an item is compiled for tests only.
pub(crate) fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            _ => return false,
        };
        let condition = condition.replace(' ', "");
        condition == "test" || condition.starts_with("all(test")
    })
}

/// Returns the attributes of an item.
pub(crate) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item;
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Appends the tokens of `stream` to `out`, brackets as signs and doc attributes as [`TokenKind::Doc`].
pub(crate) fn flatten(stream: TokenStream, out: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        let kind = match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => (' ', ' '),
                };
                let end = group.span_close().end().line;
                out.push(Token {
                    line,
                    kind: TokenKind::Punct(open),
                });
                flatten(group.stream(), out);
                out.push(Token {
                    line: end,
                    kind: TokenKind::Punct(close),
                });
                continue;
            }
            TokenTree::Punct(punct) if punct.as_char() == '#' => match doc(&mut trees) {
                Some(text) => TokenKind::Doc(text),
                None => TokenKind::Punct('#'),
            },
            TokenTree::Punct(punct) => TokenKind::Punct(punct.as_char()),
            TokenTree::Ident(ident) => TokenKind::Ident(ident.to_string()),
            TokenTree::Literal(literal) => match syn::Lit::new(literal) {
                syn::Lit::Str(text) => TokenKind::Text(text.value()),
                syn::Lit::ByteStr(text) => {
                    TokenKind::Text(String::from_utf8_lossy(&text.value()).into_owned())
                }
                _ => TokenKind::Other,
            },
        };
        out.push(Token { line, kind });
    }
}

/// Takes the rest of `#[doc = "…"]` or `#![doc = "…"]`, and leaves any other attribute.
fn doc(trees: &mut Peekable<token_stream::IntoIter>) -> Option<String> {
    let mut ahead = trees.clone();
    if let Some(TokenTree::Punct(_)) = ahead.peek() {
        ahead.next();
    }
    let Some(TokenTree::Group(group)) = ahead.next() else {
        return None;
    };
    let mut inner = group.stream().into_iter();
    let is_doc = matches!(inner.next(), Some(TokenTree::Ident(name)) if name == "doc");
    let is_set = matches!(inner.next(), Some(TokenTree::Punct(sign)) if sign.as_char() == '=');
    match inner.next() {
        Some(TokenTree::Literal(literal)) if is_doc && is_set => {
            *trees = ahead;
            match syn::Lit::new(literal) {
                syn::Lit::Str(text) => Some(text.value()),
                _ => Some(String::new()),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idents(tokens: &[Token]) -> Vec<&str> {
        tokens.iter().filter_map(Token::ident).collect()
    }

    #[test]
    fn comments_are_left_out_and_literals_are_values() {
        let text = "//! A.\n/// B.\nfn a() { b(\"c\\n\", 'd', b\"e\") } // f\n";
        let source = Source::parse("a.rs", text).unwrap();
        assert_eq!(idents(&source.tokens), ["fn", "a", "b"]);
        let texts: Vec<_> = source.tokens.iter().filter_map(Token::text).collect();
        assert_eq!(texts, ["c\n", "e"]);
        let docs = source.tokens.iter().filter_map(|token| match &token.kind {
            TokenKind::Doc(text) => Some((token.line, text.as_str())),
            _ => None,
        });
        assert_eq!(docs.collect::<Vec<_>>(), [(1, " A."), (2, " B.")]);
    }

    #[test]
    fn items_of_tests_are_not_production_code() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\n\
                    #[cfg(all(test, unix))]\nuse c;\nimpl D {\n #[cfg(test)] fn e() {}\n }\nfn f() {}";
        let source = Source::parse("a.rs", text).unwrap();
        assert_eq!(
            idents(&source.production),
            ["fn", "a", "impl", "D", "fn", "f"]
        );
        assert_eq!(source.production.last().unwrap().line, 9);
    }

    #[test]
    fn a_package_is_the_folder_of_its_manifest() {
        assert_eq!(package_of("crates/a/src/x/y.rs"), "crates/a");
        assert_eq!(package_of("xtask/src/main.rs"), "xtask");
        assert_eq!(package_of("tests/it/src/lib.rs"), "tests/it");
    }

    #[test]
    fn a_source_that_does_not_parse_is_an_error_with_its_place() {
        let error = Source::parse("a.rs", "fn a() {}\nfn {}").err().unwrap();
        assert!(error.starts_with("a.rs:2: "), "{error}");
    }
}
