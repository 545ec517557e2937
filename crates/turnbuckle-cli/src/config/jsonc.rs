//! JSON with comments and trailing commas, made plain.

/// The text with comments and trailing commas turned into blanks, so that places in errors stay
/// right.
pub(super) fn plain(text: &str) -> String {
    without_trailing_commas(&without_comments(text))
}

fn without_comments(text: &str) -> String {
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
                // The star that opens it does not close it.
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

fn without_trailing_commas(text: &str) -> String {
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
    fn comments_and_trailing_commas_go_and_strings_stay() {
        let text = "\u{feff}{ // a comment, with { and \"\n \"a\": [1, 2, /* x */ ],\n \
                    \"b\": \"// no, ] comment /* \\\" */,}\", /**/ \"c\\\\\": 1 ,\n}\n// end";
        let value: serde_json::Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a": [1, 2], "b": "// no, ] comment /* \" */,}", "c\\": 1})
        );
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        for text in ["{\"a\": 1,, }", "{,}x", "/* open", "{\"a\" / 1}"] {
            assert!(
                serde_json::from_str::<serde_json::Value>(&plain(text)).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn an_error_is_where_it_was() {
        let text = "{\n /* one\n zw\u{f6}lf */ \"a\": x }";
        let error = serde_json::from_str::<serde_json::Value>(&plain(text)).unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 17));
    }
}
