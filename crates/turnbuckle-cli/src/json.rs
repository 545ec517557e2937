//! Formatting of JSON text without decoding its values.

use std::fmt::Write as _;

use turnbuckle_types::base::text::mark_hidden;

/// The most levels that are indented: a deep value would be printed with the square of its length.
const MAX_INDENT: usize = 32;

/// Formats valid JSON with one member per line. Numbers and names stay as they were written;
/// characters that a terminal would act upon, or that are invisible, are written as escapes.
pub(crate) fn pretty(json: &str) -> String {
    let mut formatted = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut chars = mark_hidden(json).peekable();
    while let Some((char, _)) = chars.next() {
        match char {
            '"' => copy_string(&mut chars, &mut formatted),
            '{' | '[' => {
                formatted.push(char);
                while chars
                    .next_if(|(next, _)| next.is_ascii_whitespace())
                    .is_some()
                {}
                if let Some((end, _)) = chars.next_if(|(next, _)| matches!(next, '}' | ']')) {
                    formatted.push(end);
                } else {
                    depth += 1;
                    new_line(&mut formatted, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut formatted, depth);
                formatted.push(char);
            }
            ',' => {
                formatted.push(',');
                new_line(&mut formatted, depth);
            }
            ':' => formatted.push_str(": "),
            char if char.is_ascii_whitespace() => {}
            char => formatted.push(char),
        }
    }
    formatted
}

/// Copies a string of which the opening quote was read.
fn copy_string(chars: &mut impl Iterator<Item = (char, bool)>, copied: &mut String) {
    copied.push('"');
    while let Some((char, is_hidden)) = chars.next() {
        match char {
            '"' => return copied.push('"'),
            '\\' => {
                copied.push('\\');
                copied.extend(chars.next().map(|(char, _)| char));
            }
            char if is_hidden => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    let _ = write!(copied, "\\u{unit:04x}");
                }
            }
            char => copied.push(char),
        }
    }
}

/// Puts valid JSON on one line. Values keep their spelling; characters that a terminal would act
/// upon, or that are invisible, are written as escapes, since the text may reach a terminal through
/// a pipe or a file.
pub(crate) fn one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let mut chars = mark_hidden(json);
    while let Some((char, is_hidden)) = chars.next() {
        match char {
            '"' => copy_string(&mut chars, &mut line),
            // Valid JSON has control characters between tokens only, as line breaks and tabs.
            _ if is_hidden => {}
            char => line.push(char),
        }
    }
    line
}

fn new_line(formatted: &mut String, depth: usize) {
    formatted.push('\n');
    formatted.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_spelling() {
        let json = r#"{"a":[1.0e+400,{}, [ ]],"b":"x\"{,}\\","é":null}"#;
        let formatted = pretty(json);
        assert_eq!(
            formatted,
            "{\n  \"a\": [\n    1.0e+400,\n    {},\n    []\n  ],\n  \"b\": \"x\\\"{,}\\\\\",\n  \"é\": null\n}"
        );
    }

    #[test]
    fn deep_values_are_indented_up_to_a_limit() {
        let deep = 1 << 19;
        let formatted = pretty(&format!("{}{}", "[".repeat(deep), "]".repeat(deep)));
        assert!(formatted.len() < 2 * deep * (2 + 2 * MAX_INDENT));
    }

    #[test]
    fn one_line_keeps_the_spelling_and_escapes_control_characters() {
        let json = "{\n\t\"a\": [1.0e+400, \"x\u{9b}2J\u{202e}\\n\"]\r\n}";
        assert_eq!(
            one_line(json),
            "{\"a\": [1.0e+400, \"x\\u009b2J\\u202e\\n\"]}"
        );
    }

    #[test]
    fn terminal_controls_are_escaped_without_changing_the_value() {
        let json = serde_json::to_string("a\u{9b}2J\u{202e}\u{e0041}\u{7f}").unwrap();
        let formatted = pretty(&json);
        assert_eq!(formatted, r#""a\u009b2J\u202e\udb40\udc41\u007f""#);
        let back: String = serde_json::from_str(&formatted).unwrap();
        assert_eq!(back, "a\u{9b}2J\u{202e}\u{e0041}\u{7f}");
    }
}
