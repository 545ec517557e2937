//! The form in which text reaches a terminal.

use super::text::{mark_hidden, one_line};

/// Returns a text without terminal escape sequences and control characters, but with its line breaks
/// and tabs. Other hidden characters are escaped.
#[must_use]
pub fn sanitize(text: &str) -> String {
    let plain = strip_sequences(text);
    let mut shown = String::with_capacity(plain.len());
    for (char, is_hidden) in mark_hidden(&plain) {
        match char {
            '\n' | '\t' => shown.push(char),
            _ if is_hidden => shown.extend(char.escape_unicode()),
            _ => shown.push(char),
        }
    }
    shown
}

/// Returns a text as one line of at most `max_chars` characters, without terminal escape sequences
/// and control characters.
#[must_use]
pub fn sanitize_line(text: &str, max_chars: usize) -> String {
    one_line(&strip_sequences(text), max_chars)
}

/// Removes escape sequences, and control characters except line breaks and tabs.
fn strip_sequences(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        match char {
            '\n' | '\t' => cleaned.push(char),
            '\u{1b}' => skip_escape(&mut rest),
            // CSI as a single C1 character.
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_control_string(&mut rest),
            char if char.is_control() => {}
            char => cleaned.push(char),
        }
    }
    cleaned
}

/// Skips the rest of a sequence that ESC began.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.clone().next() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_control_string(rest);
        }
        // Intermediate characters, and the one that ends the sequence.
        Some(' '..='/') => {
            while let Some(' '..='/') = rest.clone().next() {
                rest.next();
            }
            if let Some('0'..='~') = rest.clone().next() {
                rest.next();
            }
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Skips the parameters and the final character of a control sequence.
fn skip_control_sequence(rest: &mut std::str::Chars<'_>) {
    while let Some(' '..='?') = rest.clone().next() {
        rest.next();
    }
    if let Some('@'..='~') = rest.clone().next() {
        rest.next();
    }
}

/// Skips a control string up to its terminator: BEL, ST, or ESC and a backslash. An unterminated
/// string ends with its line.
fn skip_control_string(rest: &mut std::str::Chars<'_>) {
    loop {
        match rest.clone().next() {
            None | Some('\n') => return,
            Some('\u{7}' | '\u{9c}') => {
                rest.next();
                return;
            }
            Some('\u{1b}') => {
                rest.next();
                if rest.clone().next() == Some('\\') {
                    rest.next();
                }
                return;
            }
            Some(_) => {
                rest.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed_completely() {
        for (given, left) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[38;2;1;2;3mred", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            (
                "\u{1b}]8;;https://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "link",
            ),
            ("\u{1b}Pdevice\u{1b}\\after", "after"),
            ("\u{9b}2Jcleared", "cleared"),
            ("\u{9d}0;title\u{9c}after", "after"),
            ("\u{1b}(Bset", "set"),
            ("\u{1b}creset", "reset"),
            ("a\rb\u{8}\u{7}\u{0}\u{7f}\u{85}c", "abc"),
            ("cut \u{1b}", "cut "),
            ("cut \u{1b}[", "cut "),
            ("open \u{1b}]0;title\nnext", "open \nnext"),
        ] {
            assert_eq!(sanitize(given), left, "{given:?}");
        }
    }

    #[test]
    fn deceptive_characters_are_shown() {
        assert_eq!(sanitize("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert_eq!(sanitize("a\u{2066}b\u{2069}"), "a\\u{2066}b\\u{2069}");
        assert_eq!(sanitize("zero\u{200b}width"), "zero\\u{200b}width");
        assert_eq!(sanitize("tag\u{e0041}"), "tag\\u{e0041}");
        assert_eq!(sanitize("Grüße, 世界 👩‍🚀"), "Grüße, 世界 👩‍🚀");
    }

    #[test]
    fn no_combination_leaves_a_control_character() {
        let parts = [
            "\u{1b}", "[", "]", "31m", "\u{9b}", "\u{90}", "\\", "\u{7}", "x", "\n", "\r",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    let left = sanitize(&[a, b, c, a, "y"].concat());
                    assert!(
                        !left.chars().any(|c| c.is_control() && c != '\n'),
                        "{left:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_line_is_cut_at_characters() {
        assert_eq!(sanitize_line("one\n two\tthree", 80), "one two three");
        assert_eq!(sanitize_line("äöüß", 3), "äö…");
    }
}
