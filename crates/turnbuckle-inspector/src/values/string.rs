//! JSON strings: their decoded text, and excerpts of raw text.

use crate::api::Excerpt;

/// The most bytes of a raw text that a line of a tree shows.
const MAX_EXCERPT_BYTES: usize = 2048;

/// Returns the beginning of a raw text.
pub(crate) fn excerpt(raw: &[u8]) -> Excerpt {
    let shown = &raw[..char_boundary(raw, MAX_EXCERPT_BYTES)];
    Excerpt {
        text: String::from_utf8_lossy(shown).into_owned(),
        cut: (shown.len() < raw.len()).then_some(raw.len() as u64),
    }
}

/// Returns a text of at most about `max_bytes`, with `…` in place of the rest.
pub(crate) fn cut(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(char_boundary(text.as_bytes(), max_bytes));
        text.push('…');
    }
    text
}

/// Returns the greatest end up to `max` that is not inside a character of UTF-8.
pub(crate) fn char_boundary(raw: &[u8], max: usize) -> usize {
    if raw.len() <= max {
        return raw.len();
    }
    let is_start = |at: &usize| raw[*at] & 0xC0 != 0x80;
    (max.saturating_sub(3)..=max)
        .rev()
        .find(is_start)
        .unwrap_or(max)
}

/// Returns the bytes of a string behind its opening quote, without the closing one.
pub(crate) fn string_body(text: &[u8], start: usize) -> &[u8] {
    let mut end = start;
    while let Some(length) = memchr::memchr2(b'"', b'\\', &text[end..]) {
        end += length;
        if text[end] == b'"' {
            return &text[start..end];
        }
        end = (end + 2).min(text.len());
    }
    &text[start..]
}

/// Decodes the body of a string. A surrogate without its other half, and bytes that are not UTF-8,
/// become U+FFFD.
pub(crate) fn decode(body: &[u8]) -> String {
    decode_piece(body, 0, usize::MAX).0
}

/// Decodes at most about `max_bytes` of the body of a string, from an offset that an earlier piece
/// returned. Also returns the offset of the next piece, if there is one.
pub(crate) fn decode_piece(body: &[u8], from: usize, max_bytes: usize) -> (String, Option<usize>) {
    let mut text = String::new();
    let mut at = from.min(body.len());
    while at < body.len() {
        if text.len() >= max_bytes {
            return (text, Some(at));
        }
        let rest = &body[at..];
        match memchr::memchr(b'\\', rest).unwrap_or(rest.len()) {
            0 => at += decode_escape(rest, &mut text),
            plain => {
                let room = (max_bytes - text.len()).max(4);
                let length = char_boundary(&rest[..plain], room);
                text.push_str(&String::from_utf8_lossy(&rest[..length]));
                at += length;
            }
        }
    }
    (text, None)
}

/// Decodes the escape at the beginning of `rest`, and returns the number of its bytes.
fn decode_escape(rest: &[u8], text: &mut String) -> usize {
    let plain = match rest.get(1) {
        Some(b'u') => return decode_unicode(rest, text),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(byte) => char::from(*byte),
        None => char::REPLACEMENT_CHARACTER,
    };
    text.push(plain);
    rest.len().min(2)
}

fn decode_unicode(rest: &[u8], text: &mut String) -> usize {
    let Some(unit) = code_unit(rest) else {
        text.push(char::REPLACEMENT_CHARACTER);
        return rest.len().min(2);
    };
    let low = code_unit(rest.get(6..).unwrap_or_default());
    if let (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) = (unit, low) {
        let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return 12;
    }
    text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    6
}

/// Returns the code unit of an escape at the beginning of `rest`: `\u` and four hexadecimal digits.
fn code_unit(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
    let mut unit = 0;
    for digit in digits {
        unit = unit * 16 + char::from(*digit).to_digit(16)?;
    }
    Some(unit)
}
