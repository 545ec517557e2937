//! Finds the sentences of the specification that oblige somebody.
//!
//! A page is read as blocks (paragraphs, list items, table rows); a block as sentences; a sentence
//! that carries a key word of RFC 2119 is a [`Sentence`]. Its text is for the eyes of whoever sorts
//! it: the manifest keeps the hash alone.

use std::collections::BTreeMap;
use std::mem;

use sha2::{Digest, Sha256};

use super::markdown::{self, Block};
use crate::tree::Tree;

/// One obliging sentence and every place where it stands, word for word.
#[derive(Debug)]
pub(super) struct Sentence {
    /// The strongest key word in it.
    pub(super) level: &'static str,
    /// `<revision> <page>:<line>`, in the order of revisions, pages and lines.
    pub(super) places: Vec<String>,
    /// The normalised text; never written to a file of the project.
    pub(super) text: String,
}

/// The hexadecimal digits of a sentence's hash.
pub(super) const HASH_LEN: usize = 12;

/// Folders of pages without revisions: the extensions in the documentation, and the repositories of the
/// extensions for authorization, skills and tasks.
const UNDATED: [&str; 4] = ["extensions", "ext-auth", "ext-skills", "ext-tasks"];

/// The key words, strongest first; a longer one stands before its own beginning.
const LEVELS: [&str; 8] = [
    "MUST NOT",
    "MUST",
    "SHALL NOT",
    "SHALL",
    "REQUIRED",
    "SHOULD NOT",
    "SHOULD",
    "RECOMMENDED",
];

/// Returns whether `level` is one of the words that the extraction knows.
pub(super) fn is_level(level: &str) -> bool {
    LEVELS.contains(&level)
}

/// Returns the sentences of every released revision's pages and of the extensions' pages, by hash.
/// `pages` holds one folder per revision, and one for each of [`UNDATED`].
pub(super) fn extract(pages: &Tree) -> Result<BTreeMap<String, Sentence>, String> {
    let mut found: BTreeMap<String, Sentence> = BTreeMap::new();
    for (path, source) in pages.texts(".mdx").chain(pages.texts(".md")) {
        let Some((revision, page)) = path.split_once('/') else {
            continue;
        };
        // The next revision has no date until it is released.
        let is_released = revision.starts_with(|c: char| c.is_ascii_digit());
        if !(is_released || UNDATED.contains(&revision)) || !is_read(page) {
            continue;
        }
        for (line, text) in sentences(source) {
            let Some(level) = level_of(&text) else {
                continue;
            };
            let sentence = found.entry(hash(&text)).or_insert_with(|| Sentence {
                level,
                places: Vec::new(),
                text,
            });
            sentence.places.push(format!("{revision} {page}:{line}"));
        }
    }
    if found.is_empty() {
        return Err("no page with a requirement".to_owned());
    }
    Ok(found)
}

/// Returns whether a page is read: not if it repeats others.
fn is_read(page: &str) -> bool {
    page != "schema.mdx" && page != "changelog.mdx"
}

/// Returns the sentences of a page that a key word governs, with the line on which each starts.
///
/// `Servers MUST:` and its list become one sentence per item, opening included, and an item that
/// starts with the key word borrows the opening as its subject: neither half obliges by itself.
fn sentences(source: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut openings: Vec<Opening> = Vec::new();
    for block in markdown::blocks(source) {
        let (depth, is_item) = match &block {
            Block::Heading => {
                close(&mut openings, &mut out, |_| true);
                continue;
            }
            Block::Code => {
                // The colon announced the example, not the list that may follow it.
                if let Some(opening) = openings.last_mut() {
                    opening.stand_alone(&mut out);
                }
                continue;
            }
            Block::Row { line, text } => {
                out.push((*line, text.clone()));
                continue;
            }
            Block::Paragraph { indent, .. } => (*indent, false),
            Block::Item { indent, .. } => (*indent, true),
        };
        // A paragraph opens the items that stand no further left; an item only those inside it.
        close(&mut openings, &mut out, |o| {
            o.depth > depth || (o.depth == depth && (o.is_item || !is_item))
        });
        let lead = openings
            .last()
            .filter(|_| is_item)
            .map(|o| o.text.clone())
            .unwrap_or_default();
        let mut opening = Opening {
            depth,
            is_item,
            line: 0,
            text: String::new(),
            used: false,
        };
        let split = markdown::split(block.text());
        let last = split.len().saturating_sub(1);
        for (index, (line, text)) in split.into_iter().enumerate() {
            let governed = index == 0 && level_of(&lead).is_some();
            let borrows = LEVELS.iter().any(|word| text.starts_with(word));
            let text = if !lead.is_empty() && (governed || borrows) {
                if let Some(parent) = openings.last_mut() {
                    parent.used = true;
                }
                format!("{lead} {text}")
            } else {
                text
            };
            if index == last && text.ends_with(':') {
                opening.line = line;
                opening.text = text;
            } else {
                out.push((line, text));
            }
        }
        openings.push(opening);
    }
    close(&mut openings, &mut out, |_| true);
    out.sort();
    out
}

/// The words of a paragraph or an item before its list: empty if it does not end in a colon.
struct Opening {
    depth: usize,
    is_item: bool,
    line: usize,
    text: String,
    used: bool,
}

impl Opening {
    /// Gives up its words: they stand for themselves unless an item has carried them already.
    fn stand_alone(&mut self, out: &mut Vec<(usize, String)>) {
        let text = mem::take(&mut self.text);
        if !self.used && !text.is_empty() {
            out.push((self.line, text));
        }
    }
}

/// Ends the openings that `ends` names, last first.
fn close(
    openings: &mut Vec<Opening>,
    out: &mut Vec<(usize, String)>,
    ends: impl Fn(&Opening) -> bool,
) {
    while openings.last().is_some_and(&ends) {
        if let Some(mut opening) = openings.pop() {
            opening.stand_alone(out);
        }
    }
}

/// Returns the strongest key word in `text`, in capitals and as a whole word.
fn level_of(text: &str) -> Option<&'static str> {
    let whole = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            ![before, after]
                .into_iter()
                .flatten()
                .any(|c| c.is_alphanumeric() || c == '_')
        })
    };
    LEVELS.into_iter().find(|word| whole(word))
}

/// Returns the first [`HASH_LEN`] hexadecimal digits of the SHA-256 of the normalised text.
fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(HASH_LEN / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obliging(source: &str) -> Vec<(usize, String)> {
        sentences(source)
            .into_iter()
            .filter(|(_, text)| level_of(text).is_some())
            .collect()
    }

    #[test]
    fn places_gather_over_released_revisions_and_some_pages_are_not_read() {
        let page = "Cats **MUST** purr.\n";
        let names = [
            "2001-01-01/a.mdx",
            "2002-01-01/b/c.mdx",
            "2002-01-01/schema.mdx",
            "extensions/auth/d.mdx",
            "ext-tasks/e.md",
        ];
        let others = ["draft/a.mdx", "others/a.mdx"];
        let pages: Vec<_> = names
            .iter()
            .chain(&others)
            .map(|name| (*name, page))
            .collect();
        let found = extract(&Tree::new(&pages)).unwrap();
        assert_eq!(found.len(), 1);
        let sentence = &found["448dd1021894"];
        assert_eq!(
            sentence.places,
            [
                "2001-01-01 a.mdx:1",
                "2002-01-01 b/c.mdx:1",
                "extensions auth/d.mdx:1",
                "ext-tasks e.md:1"
            ]
        );
    }

    #[test]
    fn a_paragraph_over_lines_splits_into_sentences_with_their_lines() {
        let page = "Cats purr. Dogs, e.g. Rex,\n**MUST** bark [loudly](x.md#a). They\n_SHOULD NOT_ bite `a_b`.\n";
        assert_eq!(
            obliging(page),
            [
                (1, "Dogs, e.g. Rex, MUST bark loudly.".to_owned()),
                (2, "They SHOULD NOT bite a_b.".to_owned()),
            ]
        );
    }

    #[test]
    fn a_governing_opening_is_carried_into_every_item() {
        let page = "1. Cats **MUST**:\n   - purr\n   - eat:\n     - fish\n2. Dogs:\n   - **SHOULD** bark\n   - run\n";
        assert_eq!(
            obliging(page),
            [
                (2, "Cats MUST: purr".to_owned()),
                (4, "Cats MUST: eat: fish".to_owned()),
                (6, "Dogs: SHOULD bark".to_owned()),
            ]
        );
    }

    #[test]
    fn an_opening_without_items_stands_for_itself() {
        let page = "Cats **MUST** send:\n\n```json\n{ \"MUST\": 1 }\n```\n\nDogs bark.\n";
        assert_eq!(obliging(page), [(1, "Cats MUST send:".to_owned())]);
    }

    #[test]
    fn a_table_row_is_one_sentence() {
        let page = "| who | what |\n| --- | --- |\n| cat | MUST purr |\n";
        assert_eq!(obliging(page), [(3, "cat | MUST purr".to_owned())]);
    }

    #[test]
    fn the_strongest_word_counts_and_only_as_a_word() {
        assert_eq!(level_of("it SHOULD, or MUST NOT"), Some("MUST NOT"));
        assert_eq!(level_of("a MUSTANG must"), None);
    }
}
