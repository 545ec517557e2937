//! Rust source with what is not code blanked out, so that walls can look at code by plain search.

use crate::tree::Tree;

/// One Rust file. Both views have the text's length and lines: what is left out became spaces.
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    /// Without comments and test modules.
    pub(super) code: String,
    /// As `code`, and without what stands inside string and character literals.
    pub(super) bare: String,
}

impl Source<'_> {
    /// The words (identifiers, keywords, numbers) of the bare code with their places.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        words(&self.bare)
    }

    /// The contents of the string literals of the code with their places.
    pub(super) fn literals(&self) -> Vec<(usize, &str)> {
        let mut literals = Vec::new();
        let mut quotes = self.bare.match_indices('"').map(|(offset, _)| offset);
        while let (Some(open), Some(close)) = (quotes.next(), quotes.next()) {
            literals.push((open, &self.code[open + 1..close]));
        }
        literals
    }
}

/// The words of `text` with their places.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(word)?;
        let length = text[start..]
            .find(|c| !word(c))
            .unwrap_or(text.len() - start);
        rest = start + length;
        Some((start, &text[start..rest]))
    })
}

/// The Rust files of the rooms; tests, benches and examples left out.
pub(super) fn rooms(tree: &Tree) -> impl Iterator<Item = Source<'_>> {
    let files = tree
        .texts(".rs")
        .filter(|(path, _)| path.starts_with("crates/"));
    files
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| read(path, text))
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path
            .split('/')
            .any(|part| matches!(part, "tests" | "benches" | "examples"))
}

/// The two views of one file.
pub(super) fn read<'a>(path: &'a str, text: &str) -> Source<'a> {
    let mut views = Views {
        code: text.to_owned().into_bytes(),
        bare: Vec::new(),
    };
    views.bare.clone_from(&views.code);
    let mut rest = 0;
    while rest < text.len() {
        rest = views.next(text.as_bytes(), rest);
    }
    views.blank_test_items();
    let text_of = |bytes| String::from_utf8(bytes).unwrap_or_default();
    Source {
        path,
        code: text_of(views.code),
        bare: text_of(views.bare),
    }
}

struct Views {
    code: Vec<u8>,
    bare: Vec<u8>,
}

impl Views {
    /// Handles the token at `at`; returns where the next one begins.
    fn next(&mut self, text: &[u8], at: usize) -> usize {
        let rest = &text[at..];
        if rest.starts_with(b"//") {
            let end = at + find(rest, b"\n").unwrap_or(rest.len());
            self.blank_all(at, end);
            return end;
        }
        if rest.starts_with(b"/*") {
            let end = at + block_comment(rest);
            self.blank_all(at, end);
            return end;
        }
        if let Some((open, close, length)) = string(text, at) {
            blank(&mut self.bare, at + open, at + close);
            return at + length;
        }
        if let Some(length) = character(rest) {
            blank(&mut self.bare, at + 1, at + length - 1);
            return at + length;
        }
        at + 1
    }

    fn blank_all(&mut self, from: usize, to: usize) {
        blank(&mut self.code, from, to);
        blank(&mut self.bare, from, to);
    }

    /// Blanks every item under `#[cfg(test)]`.
    fn blank_test_items(&mut self) {
        for mark in [b"#[cfg(test)]".as_slice(), b"#[cfg(all(test"] {
            let mut from = 0;
            while let Some(found) = find(&self.bare[from..], mark) {
                let start = from + found;
                from = start + item(&self.bare[start..]);
                self.blank_all(start, from);
            }
        }
    }
}

/// The length of the item at the start of `text`: to its closing brace or its semicolon.
fn item(text: &[u8]) -> usize {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (offset, byte) in text.iter().enumerate() {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b'{' => braces += 1,
            b'}' if braces <= 1 => return offset + 1,
            b'}' => braces -= 1,
            b';' if braces == 0 && brackets == 0 => return offset + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the block comment at the start of `text`; they nest.
fn block_comment(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// A string literal at `at`: where its content begins and ends, and its length, counted from `at`.
/// A raw string begins at its `r`, an escaped one at its quote.
fn string(text: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let rest = &text[at..];
    if rest[0] == b'"' {
        let close = quoted(rest, b'"')?;
        return Some((1, close, close + 1));
    }
    let inside_word = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_');
    let prefixed = at > 0 && matches!(text[at - 1], b'b' | b'c');
    if rest[0] != b'r' || (inside_word && !prefixed) {
        return None;
    }
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let close = open + 1 + find(&rest[open + 1..], &end)?;
    Some((open + 1, close, close + end.len()))
}

/// The length of a character literal at the start of `rest`; a lifetime is none.
fn character(rest: &[u8]) -> Option<usize> {
    if rest[0] != b'\'' {
        return None;
    }
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\'')? + 1);
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
    let valid = text.map_or_else(|error| error.valid_up_to(), str::len);
    let first = std::str::from_utf8(&rest[1..=valid]).ok()?.chars().next()?;
    (rest.get(1 + first.len_utf8()) == Some(&b'\'')).then_some(2 + first.len_utf8())
}

/// Where the closing quote of the literal at the start of `rest` stands.
fn quoted(rest: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while *rest.get(at)? != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

fn blank(view: &mut [u8], from: usize, to: usize) {
    for byte in &mut view[from..to] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_go_and_literals_stay_in_the_code_alone() {
        let source = read(
            "a.rs",
            "let a = \"// no\"; // yes\n/* a /* b */ c */ let b = 'x';",
        );
        assert_eq!(squeezed(&source.code), "let a = \"// no\"; let b = 'x';");
        assert_eq!(squeezed(&source.bare), "let a = \" \"; let b = ' ';");
        assert_eq!(source.literals(), [(8, "// no")]);
    }

    #[test]
    fn escapes_raw_strings_and_lifetimes_do_not_confuse_it() {
        let text = r###"fn f<'a>(x: &'a str) { g("\"{", r#"a " {"#, br"\", '"', '\'', 'é'); }"###;
        let source = read("a.rs", text);
        assert_eq!(source.bare.len(), text.len());
        let literals: Vec<_> = source
            .literals()
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(literals, [r#"\"{"#, r#"a " {"#, r"\"]);
        assert_eq!(source.bare.matches('{').count(), 1);
    }

    #[test]
    fn test_items_go_and_the_lines_stay() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { \"}\"; }\n}\nfn c() {}\n\
                    #[cfg(test)]\nmod more;\nfn d() {}";
        let source = read("a.rs", text);
        assert_eq!(squeezed(&source.bare), "fn a() {} fn c() {} fn d() {}");
        assert_eq!(source.bare.lines().count(), text.lines().count());
    }

    #[test]
    fn test_files_are_no_rooms() {
        let paths = [
            "crates/a/src/lib.rs",
            "crates/a/src/x/tests.rs",
            "crates/a/tests/y.rs",
            "xtask/a.rs",
        ];
        let tree = Tree::of(&paths.map(|path| (path, "")));
        assert_eq!(
            rooms(&tree).map(|source| source.path).collect::<Vec<_>>(),
            [paths[0]]
        );
    }
}
