//! What the guide quotes is there: the errors that the software prints, and other people's code
//! that we compile.

use super::source::rooms;
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const ERRORS: Wall = Wall {
    name: "quoted errors",
    advice: "the page quotes the first column of its tables from a source file, with `…` for what \
             differs: copy what is printed now, or drop the row",
    check: check_errors,
};

pub(super) const CODE: Wall = Wall {
    name: "quoted code",
    advice: "a block of the page that is not compiled is an excerpt of a file that is: copy it from \
             there, without lines left out in the middle",
    check: check_code,
};

const PAGE: &str = "docs/guide/src/troubleshooting.md";

/// The compiler's output, as the macros' tests expect it.
const UI: &str = "crates/turnbuckle-macros/tests/ui/";

/// The page that shows another library's code, and where that is compiled.
const BESIDE: &str = "docs/guide/src/from-rmcp.md";
const COMPILED: &str = "tests/peers-check/rmcp/";

/// How many bytes a `…` stands for at most.
const GAP: usize = 80;

/// What fixed text a quotation needs, in bytes, to say where it is from.
const LEAST: usize = 10;

fn check_errors(tree: &Tree) -> Vec<Breach> {
    let Some(page) = tree.text(PAGE) else {
        return Vec::new();
    };
    let printed = printed(tree);
    let mut breaches = Vec::new();
    for (line, quoted) in quotations(page) {
        let pieces: Vec<&str> = quoted.split('…').collect();
        let fixed: usize = pieces.iter().map(|piece| piece.trim().len()).sum();
        let what = if fixed < LEAST {
            format!("{quoted:?} could stand anywhere")
        } else if !printed.iter().any(|text| holds(text, &pieces)) {
            format!("nothing prints {quoted:?}")
        } else {
            continue;
        };
        breaches.push(Breach {
            path: PAGE.to_owned(),
            line,
            what,
        });
    }
    breaches
}

/// The code that begins a row of a table, with its line, counted from 1.
fn quotations(page: &str) -> impl Iterator<Item = (usize, &str)> {
    page.lines().enumerate().filter_map(|(line, row)| {
        let cell = row.strip_prefix("| `")?;
        // Two backticks quote what holds one.
        let (cell, end) = match cell.strip_prefix("` ") {
            Some(cell) => (cell, " ``"),
            None => (cell, "`"),
        };
        Some((line + 1, cell.split_once(end)?.0))
    })
}

/// What may be printed: the code of the rooms as it reads once it is compiled, and the compiler's
/// output.
pub(super) fn printed(tree: &Tree) -> Vec<String> {
    let code = rooms(tree).map(|source| said(&source.code));
    let told = tree
        .texts(".stderr")
        .filter(|(path, _)| path.starts_with(UI));
    code.chain(told.map(|(_, text)| text.to_owned())).collect()
}

/// Code with its literals as they are printed: on one line each, and without escapes.
fn said(code: &str) -> String {
    let mut lines = code.split("\\\n");
    let mut said = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        said.push_str(line.trim_start());
    }
    said.replace("\\\"", "\"")
        .replace("{{", "{")
        .replace("}}", "}")
}

/// Whether the pieces stand in the text, one after the other on one line.
pub(super) fn holds(text: &str, pieces: &[&str]) -> bool {
    let Some((first, rest)) = pieces.split_first() else {
        return true;
    };
    text.match_indices(first)
        .any(|(at, _)| follow(&text[at + first.len()..], rest))
}

fn follow(text: &str, pieces: &[&str]) -> bool {
    let Some((next, rest)) = pieces.split_first() else {
        return true;
    };
    let line = text.split('\n').next().unwrap_or_default();
    let found = line.match_indices(next);
    found
        .take_while(|(at, _)| *at <= GAP)
        .any(|(at, _)| follow(&line[at + next.len()..], rest))
}

fn check_code(tree: &Tree) -> Vec<Breach> {
    let Some(page) = tree.text(BESIDE) else {
        return Vec::new();
    };
    let compiled = tree
        .texts(".rs")
        .filter(|(path, _)| path.starts_with(COMPILED));
    let compiled: Vec<String> = compiled.map(|(_, text)| flat(text)).collect();
    let strange = excerpts(page).filter(|(_, excerpt)| {
        let excerpt = flat(excerpt);
        !compiled.iter().any(|text| text.contains(&excerpt))
    });
    strange
        .map(|(line, excerpt)| Breach {
            path: BESIDE.to_owned(),
            line,
            what: format!(
                "no file has {:?}",
                excerpt.lines().next().unwrap_or_default()
            ),
        })
        .collect()
}

/// The blocks that are not compiled, with the line that each begins at.
fn excerpts(page: &str) -> impl Iterator<Item = (usize, &str)> {
    const FENCE: &str = "```rust,ignore\n";
    page.match_indices(FENCE).filter_map(|(at, fence)| {
        let line = 2 + page[..at].matches('\n').count();
        let (excerpt, _) = page[at + fence.len()..].split_once("```")?;
        Some((line, excerpt))
    })
}

/// Lines as they are but for how far they are indented.
fn flat(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim(), "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    const SOURCE: &str = r#"
        // the comment is not printed
        fn fail(name: &str, most: usize) -> String {
            format!("tool {name:?} is one of \
                     {most} \"tools\" that {{are}} there")
        }
    "#;

    fn found(row: &str) -> usize {
        let page = format!("`free text`\n\n| text | cure |\n|---|---|\n{row}\n");
        let tree = Tree::of(&[
            (PAGE, &page),
            ("crates/a/src/lib.rs", SOURCE),
            (
                "crates/turnbuckle-macros/tests/ui/a.stderr",
                "error: take `&self`\n",
            ),
        ]);
        check_errors(&tree).len()
    }

    #[test]
    fn what_is_printed_may_be_quoted() {
        assert_eq!(found(r#"| `tool … is one of … "tools"` | x |"#), 0);
        assert_eq!(found("| `that {are} there` | x |"), 0);
        assert_eq!(found("| `` error: take `&self` `` | x |"), 0);
        assert_eq!(found("| no code | x |"), 0);
    }

    #[test]
    fn what_nothing_prints_is_found() {
        assert_eq!(found("| `the tool is gone` | x |"), 1);
        assert_eq!(found("| `is one of … \"tools` | x |"), 0);
        assert_eq!(found("| `there … is one of` | x |"), 1, "in this order");
        assert_eq!(found("| `the comment is not printed` | x |"), 1);
        assert_eq!(found("| `tool …` | x |"), 1, "too little");
    }

    #[test]
    fn what_is_not_compiled_is_found() {
        let source = "mod a {\n    fn b() {\n        c();\n    }\n}\n";
        let found = |code: &str| {
            let page = format!("text\n\n```rust,ignore\n{code}```\n\n```rust\nours();\n```\n");
            let source = ("tests/peers-check/rmcp/src/main.rs", source);
            let breaches = check_code(&Tree::of(&[(BESIDE, &page), source]));
            breaches
                .iter()
                .map(|breach| breach.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(found("fn b() {\n    c();\n}\n"), [0; 0]);
        assert_eq!(found("fn b() {\n}\n"), [4]);
        assert_eq!(found("d();\n"), [4]);
    }

    #[test]
    fn the_pages_are_there() {
        let tree = Tree::read(&process::root()).unwrap();
        let rows = tree.text(PAGE).map_or(0, |page| quotations(page).count());
        assert!(rows > 100, "{rows}");
        let blocks = tree.text(BESIDE).map_or(0, |page| excerpts(page).count());
        assert!(blocks > 5, "{blocks}");
    }
}
