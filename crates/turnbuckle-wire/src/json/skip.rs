//! Finds the end of a JSON value without decoding it.

use super::escape::needs_escape;

/// The most nested levels; a bit for each tells whether it is an object.
const DEPTH: u32 = 127;

/// Returns the index behind the JSON value that begins at `at`; `None` if none begins there or if
/// it is deeper than 127 levels.
pub(super) fn skip_value(bytes: &[u8], mut at: usize) -> Option<usize> {
    // Whether the levels around are objects, the innermost one last.
    let (mut objects, mut depth) = (0u128, 0);
    loop {
        at = skip_whitespace(bytes, at);
        match *bytes.get(at)? {
            b'"' => at = skip_string(bytes, at + 1)?,
            open @ (b'{' | b'[') => {
                let is_object = open == b'{';
                let inside = skip_whitespace(bytes, at + 1);
                let close = if is_object { b'}' } else { b']' };
                if *bytes.get(inside)? == close {
                    at = inside + 1;
                } else if depth == DEPTH {
                    return None;
                } else {
                    depth += 1;
                    objects = objects << 1 | u128::from(is_object);
                    at = if is_object {
                        skip_member_name(bytes, inside)?
                    } else {
                        inside
                    };
                    continue;
                }
            }
            b't' => at = skip_literal(bytes, at, b"true")?,
            b'f' => at = skip_literal(bytes, at, b"false")?,
            b'n' => at = skip_literal(bytes, at, b"null")?,
            _ => at = skip_number(bytes, at)?,
        }
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = skip_whitespace(bytes, at);
            let in_object = objects & 1 == 1;
            match *bytes.get(at)? {
                b',' => {
                    at = if in_object {
                        skip_member_name(bytes, skip_whitespace(bytes, at + 1))?
                    } else {
                        at + 1
                    };
                    break;
                }
                b'}' if in_object => {}
                b']' if !in_object => {}
                _ => return None,
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

#[inline]
pub(super) fn skip_whitespace(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(..=b' ') => skip_whitespace_run(bytes, at),
        _ => at,
    }
}

/// Skips white space where there may be some, which is rare.
#[cold]
fn skip_whitespace_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

fn skip_literal(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then(|| at + word.len())
}

/// Skips a member's name and the colon behind it.
#[inline]
fn skip_member_name(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let colon = skip_whitespace(bytes, skip_string(bytes, at + 1)?);
    (*bytes.get(colon)? == b':').then(|| colon + 1)
}

/// Skips the rest of a string behind its first quote.
#[inline]
fn skip_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = skip_unescaped(bytes, at);
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => {
                    let digits = bytes.get(at + 2..at + 6)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                _ => return None,
            },
            _ => return None,
        }
    }
}

/// Returns the index of the first byte from `at` on that does not stand for itself in a string.
#[inline]
pub(super) fn skip_unescaped(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let marks = needs_escape(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at)
        && !matches!(byte, 0..0x20 | b'"' | b'\\')
    {
        at += 1;
    }
    at
}

fn skip_number(bytes: &[u8], mut at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count = bytes.get(from..)?.iter();
        let count = count.take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then(|| from + count)
    };
    at += usize::from(bytes.get(at) == Some(&b'-'));
    at = match bytes.get(at)? {
        b'0' => at + 1,
        _ => digits(at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits(at)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn value_len(text: &str) -> Option<usize> {
        skip_value(text.as_bytes(), 0)
    }

    /// Returns whether serde_json reads a text as one value.
    fn is_value(text: &str) -> bool {
        serde_json::from_str::<IgnoredAny>(text).is_ok()
    }

    #[test]
    fn incomplete_json_has_no_value_length() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "]",
            "}",
            "[}",
            "{]",
            "{1:2}",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "[,]",
            "[1,]",
            "{\"a\":1,}",
            "tru",
            "nul",
            "-",
            "01",
            "1.",
            "1e",
            "1e+",
            ".5",
            "+1",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "\"a",
            "'a'",
            "[1 2]",
            "{\"a\" 1}",
            "NaN",
        ] {
            assert!(!is_value(text), "{text}");
            assert!(value_len(text).is_none_or(|len| len < text.len()), "{text}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(value_len(&nested(128)), Some(256));
        assert_eq!(value_len(&nested(129)), None);
        let mixed = "{\"a\":[".repeat(60) + &"]}".repeat(60);
        assert_eq!(value_len(&mixed), Some(mixed.len()));
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|it| it.to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            any::<f32>().prop_map(|it| serde_json::to_string(&it).unwrap()),
            "\\PC{0,20}|[\"\\\\\u{0}-\u{1f}a]{0,9}"
                .prop_map(|it| serde_json::to_string(&it).unwrap()),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let list = proptest::collection::vec(inner, 0..5);
            (list, any::<bool>(), "[ \n\r\t]{0,2}").prop_map(|(items, is_object, space)| {
                let comma = format!("{space},{space}");
                match is_object {
                    true => {
                        let named = items.iter().map(|it| format!("\"a\"{space}:{space}{it}"));
                        let named: Vec<_> = named.collect();
                        format!("{{{space}{}{space}}}", named.join(&comma))
                    }
                    false => format!("[{space}{}{space}]", items.join(&comma)),
                }
            })
        })
    }

    proptest! {
        #[test]
        fn a_value_ends_where_it_ends(value in json(), behind in "|[ ,}\\]]x?") {
            prop_assert!(is_value(&value));
            prop_assert_eq!(value_len(&format!("{value}{behind}")), Some(value.len()));
        }

        #[test]
        fn a_skipped_text_is_a_json_value(
            mut text in json().prop_map(String::into_bytes),
            at: prop::sample::Index,
            byte in prop::sample::select(b"{}[]\",:\\u0e-. ntx\n".to_vec()),
        ) {
            let at = at.index(text.len());
            text[at] = byte;
            if let Ok(text) = std::str::from_utf8(&text)
                && let Some(len) = value_len(text)
            {
                prop_assert!(is_value(&text[..len]), "{}", &text[..len]);
            }
        }
    }
}
