//! Sanitizing of untrusted text before it reaches a terminal.

use std::fmt::Write as _;

/// Removes escape sequences and control characters except line breaks and tabs. Invisible
/// characters and those that change the direction of text are replaced by their code points.
pub(crate) fn sanitize(text: &str) -> String {
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
            char if is_deceptive(char) => {
                let _ = write!(cleaned, "\\u{{{:x}}}", u32::from(char));
            }
            char => cleaned.push(char),
        }
    }
    cleaned
}

/// Sanitizes text, joins it to one line, and cuts it after `max_chars` characters.
pub(crate) fn sanitize_line(text: &str, max_chars: usize) -> String {
    let cleaned = sanitize(text);
    let words: Vec<_> = cleaned.split_whitespace().collect();
    let flat = words.join(" ");
    match flat.char_indices().nth(max_chars) {
        None => flat,
        Some(_) => {
            let kept: String = flat.chars().take(max_chars.saturating_sub(1)).collect();
            kept.trim_end().to_owned() + "…"
        }
    }
}

/// Quotes words for a POSIX shell, sanitized and on one line.
pub(crate) fn shell_quote<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    let quoted = words.into_iter().map(|word| {
        let shown = sanitize(word).replace('\n', "\\n").replace('\t', "\\t");
        match !shown.is_empty() && shown.chars().all(plain) {
            true => shown,
            false => format!("'{}'", shown.replace('\'', r"'\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns whether a character is invisible or changes the direction of text.
pub(super) fn is_deceptive(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
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

    #[test]
    fn words_are_quoted_where_necessary() {
        assert_eq!(
            shell_quote(["node", "a b.js", "it's", ""]),
            r"node 'a b.js' 'it'\''s' ''"
        );
        assert_eq!(shell_quote(["x\u{1b}[2J\nrm"]), r"'x\nrm'");
    }
}
