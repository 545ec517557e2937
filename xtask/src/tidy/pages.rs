//! The rules about what Markdown pages point at and quote.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::rule::{Project, Rule, Violation};
use crate::source::TokenKind;

pub(super) const LINKS: Rule = Rule {
    name: "links",
    reason: "a link in a Markdown page leads to a file of the project: mend it or take it out",
    check: |project| {
        project
            .tree
            .texts(".md")
            .flat_map(|(path, text)| broken_links(project, path, text))
            .collect()
    },
};

pub(super) const ERRORS: Rule = Rule {
    name: "quoted-errors",
    reason: "the page quotes the first column of its tables from a source file, with `…` for what \
             differs: copy the text that is printed now, or take the row out",
    check: check_errors,
};

pub(super) const CODE: Rule = Rule {
    name: "quoted-code",
    reason: "a block of the page that is not compiled is an excerpt of a file that is: copy it from \
             there, without leaving out lines in the middle",
    check: check_code,
};

const TROUBLESHOOTING: &str = "docs/guide/src/troubleshooting.md";

/// The compiler's output, as the tests of the macros expect it.
const COMPILER_OUTPUT: &str = "tests/compile-errors/tests/ui/";

/// The pages that show another library's code, how that is marked, and where it is compiled or run.
const FROM_OTHERS: [(&str, &str, &str); 2] = [
    (
        "docs/guide/src/from-rmcp.md",
        "rust,ignore",
        "tests/peers-check/rmcp/",
    ),
    (
        "docs/guide/src/from-fastmcp.md",
        "python",
        "tests/peers-check/fastmcp/",
    ),
];

/// The most bytes that a `…` stands for.
const MAX_GAP: usize = 80;

/// The fixed text that a quotation needs at least, in bytes.
const MIN_FIXED: usize = 10;

/// Returns a page's parts, each with its bytes.
fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}

fn broken_links(project: &Project, path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (event, range) in events(text) {
        let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) =
            event
        else {
            continue;
        };
        let file = dest_url.split(['#', '?']).next().unwrap_or_default();
        let is_local =
            !dest_url.contains("://") && !dest_url.starts_with("mailto:") && !file.is_empty();
        if is_local && !resolve(path, file).is_some_and(|file| project.tree.contains(&file)) {
            let line = line_of(text, range.start);
            found.push(Violation::new(path, line, format!("no file at {dest_url}")));
        }
    }
    found
}

/// Returns the path of `target` as seen from the folder of `from`; nothing when it leads out of the
/// project.
fn resolve(from: &str, target: &str) -> Option<String> {
    let (folder, _) = from.rsplit_once('/').unwrap_or_default();
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the code spans of a page with their lines.
pub(super) fn code_spans(text: &str) -> Vec<(usize, String)> {
    let spans = events(text).filter_map(|(event, range)| match event {
        Event::Code(code) => Some((line_of(text, range.start), code.into_string())),
        _ => None,
    });
    spans.collect()
}

fn check_errors(project: &Project) -> Vec<Violation> {
    let Some(page) = project.tree.text(TROUBLESHOOTING) else {
        return Vec::new();
    };
    let printed = printed_texts(project);
    let mut found = Vec::new();
    for (line, quoted) in quotations(page) {
        let fixed: usize = quoted.split('…').map(|piece| piece.trim().len()).sum();
        let what = if fixed < MIN_FIXED {
            format!("{quoted:?} could stand anywhere")
        } else if !is_printed(&quoted, &printed) {
            format!("nothing prints {quoted:?}")
        } else {
            continue;
        };
        found.push(Violation::new(TROUBLESHOOTING, line, what));
    }
    found
}

/// Returns the code that begins a row of a table, with its line.
fn quotations(page: &str) -> Vec<(usize, String)> {
    let mut quotations = Vec::new();
    let mut is_first = false;
    for (event, range) in events(page) {
        match event {
            Event::Start(Tag::TableRow) => is_first = true,
            Event::End(TagEnd::TableCell) => is_first = false,
            Event::Code(code) if is_first => {
                is_first = false;
                quotations.push((line_of(page, range.start), code.into_string()));
            }
            _ => {}
        }
    }
    quotations
}

/// Returns the texts in the code of the crates as they are printed, a line for each line of code,
/// and the compiler's output.
pub(super) fn printed_texts(project: &Project) -> Vec<String> {
    let code = project.production().map(|source| {
        let mut text = String::new();
        let mut last = 0;
        for token in &source.production {
            let piece = match &token.kind {
                TokenKind::Text(piece) => piece.replace("{{", "{").replace("}}", "}"),
                TokenKind::Ident(name) => name.clone(),
                TokenKind::Punct(sign) => sign.to_string(),
                TokenKind::Doc(_) | TokenKind::Other => continue,
            };
            text.push(if token.line == last { ' ' } else { '\n' });
            text.push_str(&piece);
            last = token.line;
        }
        text
    });
    let output = project
        .tree
        .texts(".stderr")
        .filter(|(path, _)| path.starts_with(COMPILER_OUTPUT));
    code.chain(output.map(|(_, text)| text.to_owned()))
        .collect()
}

/// Returns whether a quotation, with `…` for what differs, stands in one of the texts.
pub(super) fn is_printed(quoted: &str, printed: &[String]) -> bool {
    // An empty piece in front stands before every character, which takes long to try.
    let pieces = quoted.split('…').skip_while(|piece| piece.is_empty());
    let pieces: Vec<&str> = pieces.collect();
    let Some((first, rest)) = pieces.split_first() else {
        return true;
    };
    let in_text = |text: &String| {
        text.match_indices(*first)
            .any(|(at, _)| follows(&text[at + first.len()..], rest))
    };
    printed.iter().any(in_text)
}

/// Returns whether the pieces stand in the first line of the text, one after the other.
fn follows(text: &str, pieces: &[&str]) -> bool {
    let Some((next, rest)) = pieces.split_first() else {
        return true;
    };
    let line = text.split('\n').next().unwrap_or_default();
    let near = line
        .match_indices(next)
        .take_while(|(at, _)| *at <= MAX_GAP);
    near.into_iter()
        .any(|(at, _)| follows(&line[at + next.len()..], rest))
}

fn check_code(project: &Project) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, language, folder) in FROM_OTHERS {
        let others = project
            .tree
            .texts("")
            .filter(|(path, _)| path.starts_with(folder));
        let others: Vec<String> = others.map(|(_, text)| without_indent(text)).collect();
        let page = project.tree.text(path).unwrap_or_default();
        for (line, excerpt) in excerpts(page, language) {
            let flat = without_indent(&excerpt);
            if !others.iter().any(|text| text.contains(&flat)) {
                let first = excerpt.lines().next().unwrap_or_default();
                found.push(Violation::new(path, line, format!("no file has {first:?}")));
            }
        }
    }
    found
}

/// Returns the blocks of Rust that are not compiled, with the line on which each begins.
fn excerpts(page: &str, language: &str) -> Vec<(usize, String)> {
    let mut excerpts = Vec::new();
    let mut is_excerpt = false;
    for (event, range) in events(page) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                is_excerpt = &*info == language
            }
            Event::Text(text) if is_excerpt => {
                is_excerpt = false;
                excerpts.push((line_of(page, range.start), text.into_string()));
            }
            _ => {}
        }
    }
    excerpts
}

fn without_indent(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim(), "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::tree::Tree;

    fn found(rule: &Rule, files: &[(&str, &str)]) -> Vec<usize> {
        let project = Project::parse(Tree::new(files)).unwrap();
        (rule.check)(&project)
            .iter()
            .map(|violation| violation.line)
            .collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let found = |text| {
            found(
                &LINKS,
                &[
                    ("docs/guide.md", text),
                    ("docs/more.md", ""),
                    ("crates/a/src/lib.rs", ""),
                ],
            )
        };
        assert_eq!(found("see [x](gone.md) and [`y`](../crates/b)"), [1, 1]);
        assert_eq!(found("[x]\n\n[x]: gone.md"), [1]);
        assert_eq!(found("\n[x](../../outside.md)"), [2]);
        assert_eq!(
            found("[x](more.md#part) [y](../crates/a/) [z](#here) [r](..)"),
            [0; 0]
        );
        assert_eq!(found("[x](https://example.com/a) `[x](gone.md)`"), [0; 0]);
        assert_eq!(found("```\n[x](gone.md)\n```"), [0; 0]);
    }

    const SOURCE: &str = r#"
        // the comment is not printed
        fn fail(name: &str, most: usize) -> String {
            format!("tool {name:?} is one of \
                     {most} \"tools\" that {{are}} there")
        }
    "#;

    #[test]
    fn a_quotation_that_nothing_prints_is_found() {
        let found = |row: &str| {
            let page = format!("`free text`\n\n| text | cure |\n|---|---|\n{row}\n");
            let output = "error: take `&self`\n";
            let files = [
                (TROUBLESHOOTING, page.as_str()),
                ("crates/a/src/lib.rs", SOURCE),
                ("tests/compile-errors/tests/ui/a.stderr", output),
            ];
            found(&ERRORS, &files).len()
        };
        assert_eq!(found(r#"| `tool … is one of … "tools"` | x |"#), 0);
        assert_eq!(found("| `that {are} there` | x |"), 0);
        assert_eq!(found("| `` error: take `&self` `` | x |"), 0);
        assert_eq!(found("| no code | `x` |"), 0);
        assert_eq!(found("| `the tool is gone` | x |"), 1);
        assert_eq!(found("| `is one of … \"tools` | x |"), 0);
        assert_eq!(found("| `there … is one of` | x |"), 1, "in this order");
        assert_eq!(found("| `the comment is not printed` | x |"), 1);
        assert_eq!(found("| `tool …` | x |"), 1, "too little");
    }

    #[test]
    fn an_excerpt_that_is_not_compiled_is_found() {
        let source = "mod a {\n    fn b() {\n        c();\n    }\n}\n";
        let found = |code: &str| {
            let page = format!("text\n\n```rust,ignore\n{code}```\n\n```rust\nours();\n```\n");
            found(
                &CODE,
                &[
                    (FROM_OTHERS[0].0, &page),
                    ("tests/peers-check/rmcp/src/main.rs", source),
                ],
            )
        };
        assert_eq!(found("fn b() {\n    c();\n}\n"), [0; 0]);
        assert_eq!(found("fn b() {\n}\n"), [4]);
        assert_eq!(found("d();\n"), [4]);
    }

    #[test]
    fn the_pages_quote_errors_and_code() {
        let tree = Tree::read(&process::root()).unwrap();
        let rows = tree
            .text(TROUBLESHOOTING)
            .map_or(0, |page| quotations(page).len());
        assert!(rows > 100, "{rows}");
        for (path, language, _) in FROM_OTHERS {
            let blocks = tree
                .text(path)
                .map_or(0, |page| excerpts(page, language).len());
            assert!(blocks > 5, "{path}: {blocks}");
        }
    }
}
