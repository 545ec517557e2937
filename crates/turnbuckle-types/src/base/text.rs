//! Text of peers and users that is safe to show: in logs, errors, pages and terminals.
//!
//! Hidden characters are the controls, the line and paragraph separators, and what Unicode displays as
//! nothing: marks of direction, joiners, fillers, variation selectors and tags. They are escaped, as
//! `\n` or `\u{202e}`.
//!
//! Emoji keep the joiners and variation selectors that they consist of: one at a time, each beside a
//! character that is seen. All others are escaped, also where a script uses them: U+200C of Persian,
//! U+200D of Indic scripts, the tags of the flags of Scotland and Wales. Between letters they change too
//! little to be noticed, and so could carry text that nobody sees.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// Text that [`Display`](fmt::Display) writes with its hidden characters escaped, in a log field or
/// an error. Allocates nothing.
#[derive(Debug, Clone, Copy)]
pub struct Foreign<'a> {
    text: &'a str,
    max_chars: usize,
}

impl<'a> Foreign<'a> {
    /// Wraps a text, which is shown whole.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self::cut(text, usize::MAX)
    }

    /// Wraps a text of which at most `max_chars` characters are shown, and `…` in place of the rest.
    #[must_use]
    pub fn cut(text: &'a str, max_chars: usize) -> Self {
        Self { text, max_chars }
    }
}

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        let mut marked = mark_hidden(self.text);
        for (char, is_hidden) in marked.by_ref().take(self.max_chars) {
            match is_hidden {
                true => write!(f, "{}", char.escape_default())?,
                false => f.write_char(char)?,
            }
        }
        match marked.next() {
            Some(_) => f.write_char('…'),
            None => Ok(()),
        }
    }
}

/// A value whose [`Display`](fmt::Display) text has its hidden characters escaped: an error that quotes
/// a peer, in a log field.
#[derive(Debug, Clone, Copy)]
pub struct Escaped<T>(pub T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Pieces<'a, 'f>(&'a mut fmt::Formatter<'f>);

        impl fmt::Write for Pieces<'_, '_> {
            fn write_str(&mut self, piece: &str) -> fmt::Result {
                fmt::Display::fmt(&Foreign::new(piece), self.0)
            }
        }

        fmt::write(&mut Pieces(f), format_args!("{}", self.0))
    }
}

/// The most characters of a text that a message repeats, unless it says otherwise.
const MAX_CHARS: usize = 80;

/// Returns the first 80 characters of a text with hidden characters escaped, and `…` in place of the
/// rest.
#[must_use]
pub fn shorten(text: &str) -> String {
    shorten_to(text, MAX_CHARS)
}

/// Returns the first `max_chars` characters of a text with hidden characters escaped, and `…` in
/// place of the rest.
#[must_use]
pub fn shorten_to(text: &str, max_chars: usize) -> String {
    Foreign::cut(text, max_chars).to_string()
}

/// Returns a text as one line: each run of spaces, line breaks and controls becomes one space, other
/// hidden characters are escaped. A line of more than `max_chars` characters is cut and ends in `…`.
#[must_use]
pub fn one_line(text: &str, max_chars: usize) -> String {
    let is_space = |char: char| char.is_whitespace() || char.is_control();
    let words = text.split(is_space).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&Foreign::new(word).to_string());
    }
    if let Some((end, _)) = line.char_indices().nth(max_chars) {
        let start = line.char_indices().nth(max_chars.saturating_sub(1));
        line.truncate(start.map_or(end, |(start, _)| start));
        line.truncate(line.trim_end().len());
        line.push('…');
    }
    line
}

/// The ranges of hidden characters beside the controls (`General_Category=Cc`), in their order: all of
/// Unicode's property `Default_Ignorable_Code_Point` (`DerivedCoreProperties.txt`, Unicode 17.0; it
/// reserves the unassigned ones for later versions), the separators of lines and paragraphs
/// (`General_Category=Zl` and `Zp`), and the interlinear annotations U+FFF9 to U+FFFB.
const HIDDEN: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns whether a character has no shape of its own: a control, a separator of lines, or one that
/// Unicode displays as nothing. Joiners and variation selectors count, which [`mark_hidden`] accepts
/// inside of an emoji.
#[must_use]
pub fn is_hidden(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    let after = HIDDEN.partition_point(|(_, last)| *last < char);
    char.is_control() || HIDDEN.get(after).is_some_and(|(first, _)| *first <= char)
}

/// Returns whether a text has a hidden character, apart from those inside of emoji.
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    mark_hidden(text).any(|(_, is_hidden)| is_hidden)
}

/// Returns whether a character must not stand in a URL: spaces, hidden characters and backslashes,
/// which a parser drops or replaces, so that two parsers may read the URL in two ways.
#[must_use]
pub fn is_ambiguous_in_url(char: char) -> bool {
    char.is_whitespace() || is_hidden(char) || char == '\\'
}

/// Returns the characters of a text, each with `true` if it is hidden.
///
/// U+200D between two emoji and U+FE0E or U+FE0F after one belong to the emoji and are not hidden.
pub fn mark_hidden(text: &str) -> impl Iterator<Item = (char, bool)> {
    Marked {
        chars: text.chars().peekable(),
        before: None,
    }
}

/// The iterator of [`mark_hidden`].
struct Marked<'a> {
    chars: Peekable<Chars<'a>>,
    /// The emoji that the next character may belong to.
    before: Option<char>,
}

impl Iterator for Marked<'_> {
    type Item = (char, bool);

    fn next(&mut self) -> Option<(char, bool)> {
        let char = self.chars.next()?;
        let next = self.chars.peek().copied();
        let belongs = match (char, self.before) {
            ('\u{200d}', Some(_)) => next.is_some_and(is_emoji),
            ('\u{fe0e}' | '\u{fe0f}', Some(before)) => is_emoji(before),
            // A key: a digit, the selector and U+20E3.
            ('\u{fe0f}', None) => next == Some('\u{20e3}'),
            _ => false,
        };
        self.before = (belongs || is_emoji(char)).then_some(char);
        Some((char, is_hidden(char) && !belongs))
    }
}

/// Returns whether a character is in one of the blocks of symbols that emoji are made of.
fn is_emoji(char: char) -> bool {
    matches!(char,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ'
        | '\u{2190}'..='\u{2bff}'
        | '〰' | '〽' | '㊗' | '㊙'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of hidden characters: the first and the last of each.
    const EXPECTED: &[(u32, u32)] = &[
        (0x0, 0x1f),
        (0x7f, 0x9f),
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x61c, 0x61c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfffb),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];

    #[test]
    fn hidden_characters_of_an_error_are_escaped() {
        let error = std::io::Error::other("a\nb\u{1b}[2J\u{202e}");
        let shown = format!("{}", Escaped(&error));
        assert_eq!(shown, "a\\nb\\u{1b}[2J\\u{202e}");
    }

    #[test]
    fn exactly_the_controls_marks_and_ignorable_characters_are_hidden() {
        for char in '\0'..=char::MAX {
            let code = u32::from(char);
            let listed = EXPECTED
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&code));
            assert_eq!(is_hidden(char), listed, "U+{code:04X}");
        }
    }

    #[test]
    fn no_hidden_character_is_shown_anywhere() {
        for (first, last) in EXPECTED {
            for char in (*first..=*last).filter_map(char::from_u32) {
                for text in [
                    format!("{char}"),
                    format!("a{char}{char}b"),
                    format!("🚀{char}"),
                ] {
                    let shown = Foreign::new(&text).to_string();
                    let is_selector = matches!(char, '\u{fe0e}' | '\u{fe0f}');
                    if !(is_selector && text.starts_with('🚀')) {
                        assert!(!shown.contains(is_hidden), "{shown:?}");
                    }
                    assert!(!one_line(&text, 9).contains(char::is_control));
                }
            }
        }
    }

    #[test]
    fn hidden_characters_are_escaped_and_long_texts_cut() {
        assert_eq!(shorten("metric"), "metric");
        assert_eq!(
            shorten("a\n\u{1b}[31m\u{202e}b\u{e0041}"),
            "a\\n\\u{1b}[31m\\u{202e}b\\u{e0041}"
        );
        assert_eq!(shorten(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(
            shorten_to(&"é".repeat(81), 80),
            format!("{}…", "é".repeat(80))
        );
        assert_eq!(Foreign::new("Grüße, 世界").to_string(), "Grüße, 世界");
    }

    #[test]
    fn emoji_stay_whole_and_lone_joiners_and_selectors_do_not() {
        for text in ["👩‍🚀", "❤️", "👩‍❤️‍👨", "👩🏽‍🚀", "1️⃣", "☺︎", "©️", "🏴‍☠️"]
        {
            assert_eq!(Foreign::new(text).to_string(), text);
        }
        for (text, shown) in [
            ("a\u{200d}b", "a\\u{200d}b"),
            ("🚀\u{200d}b", "🚀\\u{200d}b"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            ("🚀\u{fe0f}\u{fe0f}", "🚀\u{fe0f}\\u{fe0f}"),
            ("🚀\u{200d}\u{200d}🚀", "🚀\\u{200d}\\u{200d}🚀"),
            ("🚀\u{fe00}", "🚀\\u{fe00}"),
        ] {
            assert_eq!(Foreign::new(text).to_string(), shown);
        }
    }

    #[test]
    fn spaces_hidden_characters_and_backslashes_are_ambiguous_in_a_url() {
        assert!(
            [' ', '\n', '\\', '\u{a0}', '\u{202e}', '\u{200b}']
                .iter()
                .all(|it| is_ambiguous_in_url(*it))
        );
        assert!(!"https://user@ä.example:1/a%20b?c=d#e".contains(is_ambiguous_in_url));
        assert!(has_hidden("a\u{200b}") && !has_hidden("👩‍🚀"));
    }

    #[test]
    fn a_line_has_single_spaces_and_is_cut_at_a_character() {
        for (text, max_chars, line) in [
            ("one\n two\tthree\u{1b}[2J ", 80, "one two three [2J"),
            ("", 80, ""),
            ("\u{202e}evil\u{2028}", 80, "\\u{202e}evil"),
            ("äöüß", 4, "äöüß"),
            ("äöüß", 3, "äö…"),
            ("ab cd", 4, "ab…"),
            ("abc", 0, "…"),
        ] {
            assert_eq!(one_line(text, max_chars), line, "{text:?}");
        }
    }
}
