//! Text of strangers, made harmless for a terminal.

use std::fmt::Write as _;

/// The text without what a terminal would act upon: escape sequences and control characters are
/// left out, except for new lines and tabs; what turns the direction of text, or is not seen at
/// all, is shown by its number.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        match char {
            '\n' | '\t' => cleaned.push(char),
            '\u{1b}' => skip_escape(&mut rest),
            // The same in one character.
            '\u{9b}' => skip_control(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            char if char.is_control() => {}
            char if misleads(char) => {
                let _ = write!(cleaned, "\\u{{{:x}}}", u32::from(char));
            }
            char => cleaned.push(char),
        }
    }
    cleaned
}

/// The same on one line, cut after `most` characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let cleaned = clean(text);
    let words: Vec<_> = cleaned.split_whitespace().collect();
    let flat = words.join(" ");
    match flat.char_indices().nth(most) {
        None => flat,
        Some(_) => {
            let kept: String = flat.chars().take(most.saturating_sub(1)).collect();
            kept.trim_end().to_owned() + "…"
        }
    }
}

/// Words as a shell would want them written, on one harmless line.
pub(crate) fn shell<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    let quoted = words.into_iter().map(|word| {
        let shown = clean(word).replace('\n', "\\n").replace('\t', "\\t");
        match !shown.is_empty() && shown.chars().all(plain) {
            true => shown,
            false => format!("'{}'", shown.replace('\'', r"'\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Whether a character makes text look like what it is not.
pub(super) fn misleads(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// What follows an ESC.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.clone().next() {
        Some('[') => {
            rest.next();
            skip_control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
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

/// Parameters up to the character that ends a control sequence.
fn skip_control(rest: &mut std::str::Chars<'_>) {
    while let Some(' '..='?') = rest.clone().next() {
        rest.next();
    }
    if let Some('@'..='~') = rest.clone().next() {
        rest.next();
    }
}

/// A string up to its terminator: BEL, ST, or ESC and a backslash. One that does not end ends with
/// its line, so that it swallows no more.
fn skip_string(rest: &mut std::str::Chars<'_>) {
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
    fn escapes_are_stripped_whole() {
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
            assert_eq!(clean(given), left, "{given:?}");
        }
    }

    #[test]
    fn what_turns_text_around_is_shown() {
        assert_eq!(clean("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert_eq!(clean("a\u{2066}b\u{2069}"), "a\\u{2066}b\\u{2069}");
        assert_eq!(clean("zero\u{200b}width"), "zero\\u{200b}width");
        assert_eq!(clean("tag\u{e0041}"), "tag\\u{e0041}");
        assert_eq!(clean("Grüße, 世界 👩‍🚀"), "Grüße, 世界 👩‍🚀");
    }

    #[test]
    fn nothing_that_a_terminal_acts_upon_is_left_of_anything() {
        let parts = [
            "\u{1b}", "[", "]", "31m", "\u{9b}", "\u{90}", "\\", "\u{7}", "x", "\n", "\r",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    let left = clean(&[a, b, c, a, "y"].concat());
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
        assert_eq!(line("one\n two\tthree", 80), "one two three");
        assert_eq!(line("äöüß", 3), "äö…");
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(
            shell(["node", "a b.js", "it's", ""]),
            r"node 'a b.js' 'it'\''s' ''"
        );
        assert_eq!(shell(["x\u{1b}[2J\nrm"]), r"'x\nrm'");
    }
}
