//! As much of MDX as the specification's pages use: blocks, sentences, plain text.
//!
//! Front matter, code, components and comments are dropped. Nothing here knows what a requirement
//! is.

/// A piece of a page; text is kept as `(line number, raw line)` pairs until it is split.
#[derive(Debug)]
pub(super) enum Block {
    /// A heading or a rule: ends whatever stood open.
    Heading,
    /// An example: what a colon before it announced.
    Code,
    /// A row of a table, its cells joined, already plain.
    Row {
        /// The line of the page, from 1.
        line: usize,
        /// The cells, joined by ` | `.
        text: String,
    },
    /// Running text.
    Paragraph {
        /// The column where it starts.
        indent: usize,
        /// The lines of the block.
        lines: Vec<(usize, String)>,
    },
    /// The first paragraph of a list item, without its marker.
    Item {
        /// The column of the marker.
        indent: usize,
        /// The lines of the block.
        lines: Vec<(usize, String)>,
    },
}

impl Block {
    /// Returns the raw lines; none for headings and rows.
    pub(super) fn text(&self) -> &[(usize, String)] {
        match self {
            Self::Paragraph { lines, .. } | Self::Item { lines, .. } => lines,
            Self::Heading | Self::Code | Self::Row { .. } => &[],
        }
    }
}

/// Cuts a page into blocks, in order.
pub(super) fn blocks(source: &str) -> Vec<Block> {
    let mut out = Vec::new();
    let mut open: Option<Block> = None;
    let mut skipping: Option<Skip> = None;
    for (index, raw) in source.lines().enumerate() {
        let line = index + 1;
        let text = raw.trim();
        if let Some(skip) = &skipping {
            if skip.ends_at(text) {
                skipping = None;
            }
            continue;
        }
        if let Some((skip, closed)) = Skip::starting_at(line, text) {
            out.extend(open.take());
            if matches!(skip, Skip::Fence(_)) {
                out.push(Block::Code);
            }
            skipping = (!closed).then_some(skip);
            continue;
        }
        let indent = raw.len() - raw.trim_start().len();
        if text.is_empty() || is_tag(text) || text.starts_with("import ") {
            out.extend(open.take());
        } else if text.starts_with('#') || text == "---" {
            out.extend(open.take());
            out.push(Block::Heading);
        } else if text.starts_with('|') {
            out.extend(open.take());
            out.push(Block::Row {
                line,
                text: row(text),
            });
        } else if let Some(content) = item(text) {
            out.extend(open.replace(Block::Item {
                indent,
                lines: vec![(line, content.to_owned())],
            }));
        } else {
            let text = text.trim_start_matches("> ").to_owned();
            match &mut open {
                Some(Block::Paragraph { lines, .. } | Block::Item { lines, .. }) => {
                    lines.push((line, text));
                }
                _ => {
                    open = Some(Block::Paragraph {
                        indent,
                        lines: vec![(line, text)],
                    });
                }
            }
        }
    }
    out.extend(open);
    out
}

/// A stretch of lines that is not prose.
enum Skip {
    FrontMatter,
    Fence(String),
    Comment,
    Tag,
}

impl Skip {
    /// Returns what starts on this line, and whether it also ends there.
    fn starting_at(line: usize, text: &str) -> Option<(Self, bool)> {
        if line == 1 && text == "---" {
            return Some((Self::FrontMatter, false));
        }
        for mark in ['`', '~'] {
            let run: String = text.chars().take_while(|c| *c == mark).collect();
            if run.len() >= 3 {
                return Some((Self::Fence(run), false));
            }
        }
        if text.starts_with("{/*") {
            return Some((Self::Comment, text.contains("*/}")));
        }
        let opens_tag = text
            .strip_prefix('<')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        (opens_tag && !text.contains('>')).then_some((Self::Tag, false))
    }

    fn ends_at(&self, text: &str) -> bool {
        match self {
            Self::FrontMatter => text == "---",
            Self::Fence(run) => {
                text.starts_with(run.as_str()) && text.chars().all(|c| run.starts_with(c))
            }
            Self::Comment => text.contains("*/}"),
            Self::Tag => text.ends_with('>'),
        }
    }
}

/// Returns whether the line is components alone, such as `<Note>` or `<div id="a">`.
fn is_tag(text: &str) -> bool {
    text.starts_with('<') && text.ends_with('>') && without_tags(text).trim().is_empty()
}

/// Returns the content of a list item's first line.
fn item(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")) {
        return Some(rest.trim_start());
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == text.len() || text.len() - rest.len() > 3 {
        return None;
    }
    rest.strip_prefix(". ").map(str::trim_start)
}

fn row(text: &str) -> String {
    let cells: Vec<String> = text
        .trim_matches('|')
        .split('|')
        .map(plain)
        .filter(|cell| !cell.is_empty() && !cell.chars().all(|c| matches!(c, '-' | ':')))
        .collect();
    cells.join(" | ")
}

/// Splits the lines of a block into plain sentences, each with the line on which it starts.
pub(super) fn split(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut raw = String::new();
    let mut start = 0;
    let mut parens = 0_usize;
    for (line, text) in lines {
        if !raw.is_empty() {
            raw.push(' ');
        }
        let chars: Vec<char> = text.chars().collect();
        for (at, c) in chars.iter().enumerate() {
            // Between two lines, the next line's beginning decides.
            if c.is_whitespace() && parens == 0 && ends_sentence(&raw) && begins(&chars[at + 1..]) {
                finish(&mut out, start, &mut raw);
                continue;
            }
            if at == 0 && parens == 0 && ends_sentence(raw.trim_end()) && begins(&chars) {
                finish(&mut out, start, &mut raw);
            }
            if raw.trim().is_empty() {
                start = *line;
            }
            match c {
                '(' => parens += 1,
                ')' => parens = parens.saturating_sub(1),
                _ => {}
            }
            raw.push(*c);
        }
    }
    finish(&mut out, start, &mut raw);
    out
}

fn finish(out: &mut Vec<(usize, String)>, line: usize, raw: &mut String) {
    let text = plain(raw);
    if !text.is_empty() {
        out.push((line, text));
    }
    raw.clear();
}

/// Returns whether `raw` ends as a sentence does, closing marks allowed, abbreviations not.
fn ends_sentence(raw: &str) -> bool {
    let bare = raw.trim_end_matches(['*', '_', '`', '"', '\'', ')']);
    let Some(stem) = bare.strip_suffix(['.', '!', '?']) else {
        return false;
    };
    !["e.g", "i.e", "etc", "vs", "cf"]
        .iter()
        .any(|abbreviation| stem.ends_with(abbreviation))
}

/// Returns whether what follows looks like the beginning of a sentence.
fn begins(rest: &[char]) -> bool {
    rest.iter()
        .find(|c| !c.is_whitespace())
        .is_some_and(|c| c.is_uppercase() || matches!(c, '`' | '*' | '_' | '[' | '"' | '(' | '<'))
}

/// Strips emphasis, code marks, links and tags, and collapses white space.
pub(super) fn plain(raw: &str) -> String {
    let chars: Vec<char> = without_tags(&without_links(raw)).chars().collect();
    let mut text = String::new();
    for (at, c) in chars.iter().enumerate() {
        let word = |i: Option<usize>| {
            i.and_then(|i| chars.get(i))
                .is_some_and(|c| c.is_alphanumeric())
        };
        match c {
            '`' | '*' | '\\' => {}
            '_' if !(word(at.checked_sub(1)) && word(Some(at + 1))) => {}
            _ => text.push(*c),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces `[text](target)` and `[text][target]` by `text`.
fn without_links(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(open) = rest.find('[') {
        out.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        let Some((label, after)) = rest.split_once(']') else {
            out.push('[');
            continue;
        };
        let target_end = match after.chars().next() {
            Some('(') => after.find(')'),
            Some('[') => after.find(']'),
            _ => None,
        };
        if let Some(end) = target_end {
            out.push_str(label);
            rest = &after[end + 1..];
        } else {
            out.push('[');
        }
    }
    out.push_str(rest);
    out
}

/// Removes `<Tag attribute="…">` and `</Tag>`; `a < b` and `<placeholder>` inside code stay.
fn without_tags(raw: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            code = !code;
        }
        let name = rest.strip_prefix('<').map(|r| r.trim_start_matches('/'));
        let is_tag =
            !code && name.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_alphabetic()));
        if is_tag && let Some(end) = rest.find('>') {
            rest = &rest[end + 1..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(source: &str) -> Vec<String> {
        blocks(source)
            .iter()
            .flat_map(|block| split(block.text()))
            .map(|(_, text)| text)
            .collect()
    }

    #[test]
    fn markup_and_code_are_dropped_from_pages() {
        let page = "---\ntitle: Cats\n---\nimport X from \"x\";\n\n# Cats\n\n{/* They\nhiss. */}\n\n\
                    <Note>\n  They <b>purr</b>.\n</Note>\n\n<Card\n  title=\"Hiss\"\n/>\n\n  ````md\n  ```\n\
                    hiss\n  ````\n";
        assert_eq!(sentences(page), ["They purr."]);
    }

    #[test]
    fn sentences_end_where_a_new_one_begins() {
        let page = "Use a.b. `c` is (see d. E) it. **Not** e.g. F, but g!\n\"H\" ends.";
        assert_eq!(
            sentences(page),
            [
                "Use a.b.",
                "c is (see d. E) it.",
                "Not e.g. F, but g!",
                "\"H\" ends."
            ]
        );
    }

    #[test]
    fn items_keep_their_lazy_lines_and_lose_their_marks() {
        assert_eq!(
            sentences("- one\n  more\n* two\n10. three\n2024 is a year"),
            ["one more", "two", "three 2024 is a year"]
        );
    }

    #[test]
    fn plain_text_has_no_marks_and_keeps_names() {
        assert_eq!(
            plain("_Any_ [`snake_case`](x.md) in **[b][c]** is `<d>`, [e]  <br/>f < g"),
            "Any snake_case in b is <d>, [e] f < g"
        );
    }
}
