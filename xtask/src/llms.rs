//! The guide as texts for language models: `llms.txt`, a list of its pages, and `llms-full.txt`, all
//! pages in one. `cargo xtask book` makes both from `SUMMARY.md` and the pages that it names, so that
//! they cannot differ from the book.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use crate::tree::Tree;

/// The folder of the pages, from the root of the workspace.
const PAGES: &str = "docs/guide/src";

/// The file that names the pages in their order.
const SUMMARY: &str = "SUMMARY.md";

/// The first lines of both texts.
const HEAD: &str = "# turnbuckle\n\n> The Model Context Protocol (MCP) for Rust: servers, clients and a \
                    command, in every revision of the protocol.\n";

/// The two texts.
#[derive(Debug, PartialEq, Eq)]
struct Texts {
    /// The list of the pages, each with its first sentence.
    index: String,
    /// All pages.
    full: String,
}

/// An entry of the summary.
#[derive(Debug, PartialEq, Eq)]
enum Entry<'a> {
    /// The heading of a part of the guide.
    Part(&'a str),
    /// A page: its title and its file.
    Page { title: &'a str, file: &'a str },
}

/// Writes both texts into the folder of the book.
pub(crate) fn write(root: &Path, book: &Path) -> Result<(), String> {
    let texts = texts(&Tree::read(&root.join(PAGES))?)?;
    let write = |name: &str, text: &str| -> io::Result<()> { fs::write(book.join(name), text) };
    write("llms.txt", &texts.index)
        .and_then(|()| write("llms-full.txt", &texts.full))
        .map_err(|error| format!("{}: {error}", book.display()))
}

/// Makes the texts from the summary and its pages.
fn texts(pages: &Tree) -> Result<Texts, String> {
    let summary = pages
        .text(SUMMARY)
        .ok_or_else(|| format!("there is no {PAGES}/{SUMMARY}"))?;
    let mut index = HEAD.to_owned();
    let mut full = index.clone();
    let mut named = BTreeSet::from([SUMMARY]);
    index.push_str("\nThe whole guide in one text: llms-full.txt\n\n");
    for entry in entries(summary) {
        match entry {
            Entry::Part(title) => index.push_str(&format!("\n## {title}\n\n")),
            Entry::Page { title, file } => {
                let page = pages
                    .text(file)
                    .ok_or_else(|| format!("{SUMMARY} names {file}, which is not in {PAGES}"))?;
                named.insert(file);
                let html = file.replace(".md", ".html");
                let sentence = first_sentence(page);
                index.push_str(&format!("- [{title}]({html}): {sentence}\n"));
                full.push_str(&format!("\n{}\n", without_hidden_lines(page).trim()));
            }
        }
    }
    let mut files = pages.texts(".md").map(|(file, _)| file);
    match files.find(|file| !named.contains(file)) {
        Some(file) => Err(format!("{PAGES}/{file} is not in {SUMMARY}")),
        None => Ok(Texts { index, full }),
    }
}

/// Returns the parts and pages of the summary in their order.
fn entries(summary: &str) -> impl Iterator<Item = Entry<'_>> {
    summary.lines().filter_map(|line| {
        let line = line.trim();
        if let Some(title) = line.strip_prefix("# ") {
            return (title != "Summary").then_some(Entry::Part(title));
        }
        let link = line.strip_prefix("- ").unwrap_or(line).strip_prefix('[')?;
        let (title, file) = link.strip_suffix(')')?.split_once("](")?;
        Some(Entry::Page { title, file })
    })
}

/// Returns the first sentence of a page below its title, on one line.
fn first_sentence(page: &str) -> String {
    let text = page
        .split("\n\n")
        .find(|text| !text.trim_start().starts_with('#'));
    let text = text.unwrap_or_default().split_whitespace();
    let text = text.collect::<Vec<_>>().join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

/// Returns a page without the lines of its snippets that the book hides.
fn without_hidden_lines(page: &str) -> String {
    let mut shown = String::with_capacity(page.len());
    let (mut in_code, mut in_rust) = (false, false);
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            in_code = !in_code;
            in_rust = in_code && language.starts_with("rust");
        }
        let code = line.trim_start();
        if in_rust && (code == "#" || code.starts_with("# ")) {
            continue;
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_have_the_pages_in_the_order_of_the_summary() {
        let pages = Tree::new(&[
            (
                "SUMMARY.md",
                "# Summary\n\n[Start](start.md)\n\n# Servers\n\n- [Tools](tools.md)\n  - [More](more.md)\n",
            ),
            ("more.md", "# More\n\nAll\nof it. Not this.\n"),
            ("start.md", "# Start\n\nBegin.\n"),
            (
                "tools.md",
                "# Tools\n\n## First\n\nA tool.\n\n```rust\n# use a::b;\n#[tool]\nfn f() {}\n  # hidden\n```\n\n# Heading\n",
            ),
        ]);
        let texts = texts(&pages).unwrap();
        let list = "- [Start](start.html): Begin.\n\n## Servers\n\n- [Tools](tools.html): A tool.\n\
                    - [More](more.html): All of it.\n";
        assert!(texts.index.ends_with(list), "{}", texts.index);
        let all = "\n# Start\n\nBegin.\n\n# Tools\n\n## First\n\nA tool.\n\n```rust\n#[tool]\nfn f() {}\n```\n\n\
                   # Heading\n\n# More\n\nAll\nof it. Not this.\n";
        assert_eq!(texts.full, format!("{HEAD}{all}"));
    }

    #[test]
    fn a_page_that_is_missing_or_in_no_list_is_an_error() {
        let missing = Tree::new(&[("SUMMARY.md", "[A](a.md)\n")]);
        assert!(texts(&missing).unwrap_err().contains("names a.md"));
        let unnamed = Tree::new(&[("SUMMARY.md", "# Summary\n"), ("b.md", "# B\n")]);
        assert!(texts(&unnamed).unwrap_err().contains("b.md is not in"));
    }

    #[test]
    fn the_guide_makes_both_texts() {
        let pages = Tree::read(&crate::process::root().join(PAGES)).unwrap();
        let texts = texts(&pages).unwrap();
        assert!(texts.full.contains("# Troubleshooting"));
        let sentences = texts.index.lines().filter(|line| line.starts_with("- "));
        for line in sentences {
            assert!(
                !line.ends_with("): "),
                "a page without a first sentence: {line}"
            );
        }
    }
}
