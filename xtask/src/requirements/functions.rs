//! Finds tests and their markers in Rust source, without compiling it.
//!
//! A marker is a comment above a test, `// requirement: <id> <id>…`: the ids of the sentences for
//! which the test answers. A test is a function with an attribute whose last name ends in `test`,
//! or one that stands in a macro whose name contains `test` (a table of tests). An ignored one
//! checks nothing and is none.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::Tree;

/// One function, a test or not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// `module::path::name`, for `tests/it` without the crate.
    pub(super) path: String,
    /// True if the harness runs the function.
    pub(super) is_test: bool,
    /// The line of the first attribute, from 1.
    pub(super) top: usize,
    /// The line of `fn`.
    pub(super) line: usize,
    /// The ids in the markers.
    pub(super) ids: Vec<String>,
    /// The lines of the markers.
    pub(super) markers: Vec<usize>,
}

/// A source file and its functions, in order.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// The path from the root.
    pub(super) path: String,
    pub(super) functions: Vec<Function>,
}

/// Reads every Rust file of `crates`, and of the tests that requirements and mutations name.
pub(super) fn scan(tree: &Tree) -> Vec<SourceFile> {
    let folders = [
        "tests/compile-errors/",
        "tests/it/",
        "tests/macros/",
        "crates/",
    ];
    let files = tree
        .texts(".rs")
        .filter(|(path, _)| folders.iter().any(|folder| path.starts_with(folder)));
    let read = files.map(|(path, text)| SourceFile {
        path: path.to_owned(),
        functions: functions(&module_of(path), text),
    });
    read.collect()
}

/// Returns the module of a file: `crates/a-b/src/c/mod.rs` is `a_b::c`, `tests/it/tests/it/c.rs` is `c`.
fn module_of(file: &str) -> Vec<String> {
    let parts = file.trim_end_matches(".rs").split('/');
    let parts: Vec<String> = parts.map(|part| part.replace('-', "_")).collect();
    let is_crate = parts.first().is_some_and(|part| part == "crates");
    let name = match parts.get(1).map(String::as_str) {
        name if is_crate => name,
        Some("macros") => Some("turnbuckle_macros_test"),
        Some("compile_errors") => Some("turnbuckle_compile_errors"),
        _ => None,
    };
    let mut inner = parts.iter().skip(2).peekable();
    inner.next_if(|part| *part == "src" || *part == "tests");
    // The one test binary is named like its package.
    inner.next_if(|part| !is_crate && *part == "it");
    let inner = inner.filter(|part| !matches!(part.as_str(), "lib" | "main" | "mod"));
    name.into_iter()
        .chain(inner.map(String::as_str))
        .map(str::to_owned)
        .collect()
}

/// Returns the functions of a source text, with the markers above them.
fn functions(module: &[String], source: &str) -> Vec<Function> {
    let mut found = Vec::new();
    if let Ok(stream) = source.parse() {
        find(stream, module, false, &mut found);
    }
    found.sort_by_key(|function| function.line);
    for (index, line) in source.lines().enumerate() {
        let Some(ids) = line.trim_start().strip_prefix("// requirement:") else {
            continue;
        };
        let below = found.iter_mut().find(|function| function.line > index);
        if let Some(function) = below {
            function.markers.push(index + 1);
            function
                .ids
                .extend(ids.split_whitespace().map(str::to_owned));
        }
    }
    found
}

/// The attributes above an item.
#[derive(Default)]
struct Attributes {
    top: Option<usize>,
    is_test: bool,
    is_ignored: bool,
}

/// Appends the functions in a stream; `in_table` says that all of them are tests.
fn find(stream: TokenStream, module: &[String], in_table: bool, found: &mut Vec<Function>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut above = Attributes::default();
    let mut at = 0;
    while at < trees.len() {
        let is_table = at >= 2
            && is_punct(&trees[at - 1], '!')
            && ident(&trees[at - 2]).is_some_and(|name| name.contains("test"));
        let (here, next) = (&trees[at], trees.get(at + 1));
        at += 1;
        match (here, next) {
            (TokenTree::Punct(_), Some(TokenTree::Group(group))) if is_punct(here, '#') => {
                at += 1;
                let name = attribute_name(group.stream());
                above.top.get_or_insert(here.span().start().line);
                above.is_test |= name.ends_with("test");
                above.is_ignored |= name == "ignore";
            }
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => {
                let line = word.span().start().line;
                let Attributes {
                    top,
                    is_test,
                    is_ignored,
                } = std::mem::take(&mut above);
                found.push(Function {
                    path: format!("{}::{name}", module.join("::"))
                        .trim_start_matches(':')
                        .to_owned(),
                    is_test: (is_test || in_table) && !is_ignored,
                    top: top.unwrap_or(line),
                    line,
                    ids: Vec::new(),
                    markers: Vec::new(),
                });
            }
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "mod" => {
                if let Some(TokenTree::Group(group)) = trees.get(at + 1) {
                    let inner = [module, &[name.to_string()]].concat();
                    find(group.stream(), &inner, false, found);
                    at += 2;
                }
                above = Attributes::default();
            }
            (TokenTree::Group(group), _) => {
                find(
                    group.stream(),
                    module,
                    is_table && group.delimiter() == Delimiter::Brace,
                    found,
                );
                if group.delimiter() == Delimiter::Brace {
                    above = Attributes::default();
                }
            }
            _ if is_punct(here, ';') => above = Attributes::default(),
            _ => {}
        }
    }
}

/// Returns the last name in the path of an attribute.
fn attribute_name(stream: TokenStream) -> String {
    let path = stream
        .into_iter()
        .take_while(|tree| ident(tree).is_some() || is_punct(tree, ':'));
    path.filter_map(|tree| ident(&tree))
        .last()
        .unwrap_or_default()
}

fn ident(tree: &TokenTree) -> Option<String> {
    match tree {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    }
}

fn is_punct(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_file_is_its_module() {
        let module = |file: &str| module_of(file).join("::");
        assert_eq!(module("tests/it/src/lib.rs"), "");
        assert_eq!(module("tests/it/src/http/origin.rs"), "http::origin");
        assert_eq!(module("tests/it/tests/stdio/mod.rs"), "stdio");
        assert_eq!(module("crates/a-b/src/rpc/id.rs"), "a_b::rpc::id");
        assert_eq!(
            module("tests/macros/tests/macros/task.rs"),
            "turnbuckle_macros_test::macros::task"
        );
    }

    #[test]
    fn tests_are_found_with_their_markers() {
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
