//! JSON as it came, laid out for reading. No value is decoded: numbers and names stay as they are.

use std::fmt::Write as _;

use super::terminal::misleads;

/// The text of a valid JSON value with a member on each line. What a terminal would act upon, or
/// what is not seen, is written as the escapes that mean the same.
pub(crate) fn pretty(json: &str) -> String {
    let mut laid = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut chars = json.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                laid.push('"');
                string(&mut chars, &mut laid);
            }
            '{' | '[' => {
                laid.push(char);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    laid.push(end);
                } else {
                    depth += 1;
                    new_line(&mut laid, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut laid, depth);
                laid.push(char);
            }
            ',' => {
                laid.push(',');
                new_line(&mut laid, depth);
            }
            ':' => laid.push_str(": "),
            char if char.is_ascii_whitespace() => {}
            char => laid.push(char),
        }
    }
    laid
}

/// The rest of a string, whose opening quote was read.
fn string(chars: &mut impl Iterator<Item = char>, laid: &mut String) {
    while let Some(char) = chars.next() {
        match char {
            '"' => return laid.push('"'),
            '\\' => {
                laid.push('\\');
                laid.extend(chars.next());
            }
            char if char.is_control() || misleads(char) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    let _ = write!(laid, "\\u{unit:04x}");
                }
            }
            char => laid.push(char),
        }
    }
}

fn new_line(laid: &mut String, depth: usize) {
    laid.push('\n');
    laid.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_came() {
        let json = r#"{"a":[1.0e+400,{}, [ ]],"b":"x\"{,}\\","é":null}"#;
        let laid = pretty(json);
        assert_eq!(
            laid,
            "{\n  \"a\": [\n    1.0e+400,\n    {},\n    []\n  ],\n  \"b\": \"x\\\"{,}\\\\\",\n  \"é\": null\n}"
        );
    }

    #[test]
    fn what_a_terminal_acts_upon_is_escaped_and_means_the_same() {
        let json = serde_json::to_string("a\u{9b}2J\u{202e}\u{e0041}\u{7f}").unwrap();
        let laid = pretty(&json);
        assert_eq!(laid, r#""a\u009b2J\u202e\udb40\udc41\u007f""#);
        let back: String = serde_json::from_str(&laid).unwrap();
        assert_eq!(back, "a\u{9b}2J\u{202e}\u{e0041}\u{7f}");
    }
}
