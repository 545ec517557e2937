//! JSON with comments and trailing commas.

/// Replaces comments and trailing commas by blanks, so that line and column numbers in errors stay
/// correct.
#[must_use]
pub fn to_json(text: &str) -> String {
    blank_trailing_commas(&blank_comments(text))
}

fn blank_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .chars()
        .peekable();
    let mut quoted = false;
    while let Some(char) = chars.next() {
        match (quoted, char, chars.peek()) {
            (true, '\\', Some(_)) => {
                plain.push(char);
                plain.extend(chars.next());
            }
            (_, '"', _) => {
                quoted = !quoted;
                plain.push(char);
            }
            (false, '/', Some('/')) => {
                plain.push(' ');
                while let Some(skipped) = chars.next_if(|next| *next != '\n') {
                    plain.extend(std::iter::repeat_n(' ', skipped.len_utf8()));
                }
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                // The star that opens the comment cannot close it: `/*/`.
                chars.next();
                plain.push_str("  ");
                for skipped in chars.by_ref() {
                    match skipped {
                        '\n' => plain.push('\n'),
                        other => plain.extend(std::iter::repeat_n(' ', other.len_utf8())),
                    }
                    if last == '*' && skipped == '/' {
                        break;
                    }
                    last = skipped;
                }
            }
            _ => plain.push(char),
        }
    }
    plain
}

fn blank_trailing_commas(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut quoted = false;
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        let trailing = || {
            let rest = text[at + 1..].trim_start();
            rest.starts_with(['}', ']'])
        };
        if !quoted && char == ',' && trailing() {
            plain.push(' ');
            continue;
        }
        plain.push(char);
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed_but_not_inside_strings() {
        let text = "\u{feff}{ // a comment, with { and \"\n \"a\": [1, 2, /* x */ ],\n \
                    \"b\": \"// no, ] comment /* \\\" */,}\", /**/ \"c\\\\\": 1 ,\n}\n// end";
        let value: serde_json::Value = serde_json::from_str(&to_json(text)).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a": [1, 2], "b": "// no, ] comment /* \" */,}", "c\\": 1})
        );
    }

    #[test]
    fn invalid_json_stays_invalid() {
        for text in ["{\"a\": 1,, }", "{,}x", "/* open", "{\"a\" / 1}"] {
            assert!(
                serde_json::from_str::<serde_json::Value>(&to_json(text)).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn error_positions_are_kept() {
        let text = "{\n /* one\n zw\u{f6}lf */ \"a\": x }";
        let error = serde_json::from_str::<serde_json::Value>(&to_json(text)).unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 17));
    }
}
