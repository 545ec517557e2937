//! Finds tests and their markers in Rust source, without compiling it.
//!
//! A marker is a comment above a test, `// requirement: <id> <id>…`: the ids of the sentences for
//! which the test answers. A test is a function with an attribute whose last name ends in `test`,
//! or one that stands in a macro whose name contains `test` (a table of tests). An ignored one holds
//! nothing and is none.

use super::lexer::{self, Token, TokenKind};
use crate::tree::Tree;

/// One function; a test or not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// `module::path::name`, for `tests/it` without the crate.
    pub(super) path: String,
    /// Whether the harness runs it and expects something of it.
    pub(super) is_test: bool,
    /// The line of its first attribute, from 1.
    pub(super) top: usize,
    /// The ids in its markers.
    pub(super) ids: Vec<String>,
    /// The lines of its markers.
    pub(super) markers: Vec<usize>,
}

/// A source file and its functions, in order.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// Where it is, from the root.
    pub(super) path: String,
    /// What it holds.
    pub(super) functions: Vec<Function>,
}

/// Reads every Rust file of `tests/it` and `crates`.
pub(super) fn scan(tree: &Tree) -> Vec<SourceFile> {
    tree.texts(".rs")
        .filter(|(path, _)| path.starts_with("tests/it/") || path.starts_with("crates/"))
        .map(|(path, text)| SourceFile {
            path: path.to_owned(),
            functions: functions(&module_of(path), text),
        })
        .collect()
}

/// `crates/a-b/src/c/mod.rs` is `a_b::c`; `tests/it/tests/it/c.rs` is `c`.
fn module_of(file: &str) -> Vec<String> {
    let parts: Vec<String> = file
        .trim_end_matches(".rs")
        .split('/')
        .map(|part| part.replace('-', "_"))
        .collect();
    let is_crate = parts.first().is_some_and(|part| part == "crates");
    let name = parts.get(1).filter(|_| is_crate);
    let mut inner = parts.iter().skip(2).peekable();
    inner.next_if(|part| *part == "src" || *part == "tests");
    // The one test binary is named like its package.
    inner.next_if(|part| !is_crate && *part == "it");
    let inner = inner.filter(|part| !matches!(part.as_str(), "lib" | "main" | "mod"));
    name.into_iter().chain(inner).cloned().collect()
}

/// Every function of a source text, with the markers above it.
fn functions(module: &[String], source: &str) -> Vec<Function> {
    let tokens = lexer::tokens(source);
    let mut walk = Walk {
        tokens: &tokens,
        at: 0,
        scopes: Vec::new(),
        depth: 0,
        attributes: None,
        marked: Vec::new(),
        module,
        found: Vec::new(),
    };
    while walk.at < tokens.len() {
        walk.step();
    }
    walk.found
}

/// What a brace has opened.
enum Scope {
    Module(String),
    TestTable,
}

/// What the attributes of an item say.
struct Attributes {
    /// The line of the first.
    top: usize,
    test: bool,
    ignored: bool,
}

struct Walk<'a> {
    tokens: &'a [Token],
    at: usize,
    /// With the depth inside.
    scopes: Vec<(usize, Scope)>,
    depth: usize,
    /// What stands above the next item.
    attributes: Option<Attributes>,
    /// The markers since the last function: line and ids.
    marked: Vec<(usize, Vec<String>)>,
    module: &'a [String],
    found: Vec<Function>,
}

impl Walk<'_> {
    fn step(&mut self) {
        let Some(token) = self.tokens.get(self.at) else {
            return;
        };
        let line = token.line;
        self.at += 1;
        match &token.kind {
            TokenKind::Comment(text) => {
                if let Some(ids) = text.trim().strip_prefix("requirement:") {
                    let ids = ids.split_whitespace().map(str::to_owned).collect();
                    self.marked.push((line, ids));
                }
            }
            TokenKind::Punct('#') => self.attribute_at(line),
            TokenKind::Punct('{') => {
                self.depth += 1;
                self.attributes = None;
            }
            TokenKind::Punct('}') => {
                self.depth = self.depth.saturating_sub(1);
                self.scopes.retain(|(depth, _)| *depth <= self.depth);
                self.attributes = None;
            }
            TokenKind::Punct(';') => self.attributes = None,
            TokenKind::Ident(word) if word == "mod" => {
                if let (Some(name), true) = (self.ident(0), self.is_punct(1, '{')) {
                    self.enter(Scope::Module(name), 2);
                }
            }
            TokenKind::Ident(word) if word == "fn" => {
                if let Some(name) = self.ident(0) {
                    self.function(&name, line);
                }
            }
            TokenKind::Ident(word)
                if word.contains("test") && self.is_punct(0, '!') && self.is_punct(1, '{') =>
            {
                self.enter(Scope::TestTable, 2);
            }
            _ => {}
        }
    }

    fn ident(&self, ahead: usize) -> Option<String> {
        match &self.tokens.get(self.at + ahead)?.kind {
            TokenKind::Ident(name) => Some(name.clone()),
            _ => None,
        }
    }

    fn is_punct(&self, ahead: usize, c: char) -> bool {
        self.tokens
            .get(self.at + ahead)
            .is_some_and(|token| token.kind == TokenKind::Punct(c))
    }

    /// Steps over `width` tokens, the last of which is the brace that opens `scope`.
    fn enter(&mut self, scope: Scope, width: usize) {
        self.at += width;
        self.depth += 1;
        self.scopes.push((self.depth, scope));
        self.attributes = None;
    }

    /// Reads `[path(…)]`; an inner attribute (`#!`) belongs to no function.
    fn attribute_at(&mut self, line: usize) {
        if !self.is_punct(0, '[') {
            return;
        }
        let mut open = 0_usize;
        let mut name = String::new();
        let mut in_path = true;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match &token.kind {
                TokenKind::Punct('[') => open += 1,
                TokenKind::Punct(']') => open -= 1,
                TokenKind::Punct(':') => {}
                TokenKind::Ident(word) if in_path => name.clone_from(word),
                _ => in_path = false,
            }
            if open == 0 {
                break;
            }
        }
        let attributes = self.attributes.get_or_insert(Attributes {
            top: line,
            test: false,
            ignored: false,
        });
        attributes.test |= name.ends_with("test");
        attributes.ignored |= name == "ignore";
    }

    fn function(&mut self, name: &str, line: usize) {
        let in_table = matches!(
            self.scopes.last(),
            Some((depth, Scope::TestTable)) if *depth == self.depth
        );
        let attributes = self.attributes.take();
        let (top, test, ignored) =
            attributes.map_or((line, false, false), |a| (a.top, a.test, a.ignored));
        let inline = self.scopes.iter().filter_map(|(_, scope)| match scope {
            Scope::Module(name) => Some(name.as_str()),
            Scope::TestTable => None,
        });
        let outer = self.module.iter().map(String::as_str);
        let path: Vec<&str> = outer.chain(inline).chain([name]).collect();
        let (markers, ids): (Vec<_>, Vec<_>) = self.marked.drain(..).unzip();
        self.found.push(Function {
            path: path.join("::"),
            is_test: (test || in_table) && !ignored,
            top,
            ids: ids.concat(),
            markers,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_place_is_its_module() {
        let module = |file: &str| module_of(file).join("::");
        assert_eq!(module("tests/it/src/lib.rs"), "");
        assert_eq!(module("tests/it/src/http/origin.rs"), "http::origin");
        assert_eq!(module("tests/it/tests/stdio/mod.rs"), "stdio");
        assert_eq!(module("crates/a-b/src/rpc/id.rs"), "a_b::rpc::id");
    }

    #[test]
    fn tests_are_told_from_functions_and_carry_their_markers() {
        let source = r#"
            fn plain() { let c = '{'; let s = "fn fake() {"; let l: &'static str = s; }
            // requirement: 0123456789ab ba9876543210
            // requirement: aaaaaaaaaaaa
            #[allow(dead_code)]
            #[tokio::test(flavor = "current_thread")]
            async fn first() { assert!(true); }
            mod inner {
                #[cfg(test)]
                fn helper() {}
                #[test]
                fn second() { fn nested() {} }
            }
            each_test! { fn third() {} }
            #[test]
            fn fourth() {}
            #[test]
            #[ignore = "slow"]
            fn fifth() {}
        "#;
        let found = functions(&["room".to_owned()], source);
        let tests: Vec<&str> = found
            .iter()
            .filter(|f| f.is_test)
            .map(|f| f.path.as_str())
            .collect();
        assert_eq!(
            tests,
            [
                "room::first",
                "room::inner::second",
                "room::third",
                "room::fourth"
            ]
        );
        assert_eq!(found.len(), 8);
        assert_eq!(
            found[1].ids,
            ["0123456789ab", "ba9876543210", "aaaaaaaaaaaa"]
        );
        assert_eq!(
            (found[1].markers.as_slice(), found[1].top),
            (&[3, 4][..], 5)
        );
    }
}
