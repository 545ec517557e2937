//! The characters of a URI, percent-decoded, each with a mark whether it was encoded.

use std::fmt::Write;

use crate::base::text::is_hidden;

/// A character of a URI.
///
/// `encoded` is the one way in which RFC 3986 writes the character (unreserved ones plain, all but
/// reserved ones encoded), so that equal characters mean equal URIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UriChar {
    pub(super) character: char,
    pub(super) encoded: bool,
}

impl UriChar {
    fn new(character: char, encoded: bool) -> Self {
        let encoded = !is_unreserved(character) && (encoded || !is_reserved(character));
        Self { character, encoded }
    }

    /// Returns whether this is an unencoded reserved character.
    pub(super) fn is(self, reserved: char) -> bool {
        self.character == reserved && !self.encoded
    }
}

/// Decodes a text; `None` if the text has a hidden character, an invalid escape, or escapes that
/// are not UTF-8.
pub(super) fn uri_chars(text: &str) -> Option<Vec<UriChar>> {
    let mut uri_chars = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character == '%' {
            let (bytes, after) = escapes(rest)?;
            let decoded = std::str::from_utf8(&bytes).ok()?.chars();
            uri_chars.extend(decoded.map(|c| UriChar::new(c, true)));
            rest = after;
        } else if is_hidden(character) {
            return None;
        } else {
            uri_chars.push(UriChar::new(character, false));
            rest = &rest[character.len_utf8()..];
        }
    }
    Some(uri_chars)
}

/// Returns the bytes of the escapes at the start of `text`, and the rest.
fn escapes(mut text: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = Vec::new();
    while let Some(digits) = text.strip_prefix('%') {
        bytes.push(escaped_byte(digits)?);
        text = digits.get(2..)?;
    }
    Some((bytes, text))
}

/// Returns the byte of the two hexadecimal digits that `text` begins with.
pub(super) fn escaped_byte(text: &str) -> Option<u8> {
    let digits = text
        .get(..2)
        .filter(|d| d.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// Writes a character percent-encoded.
pub(super) fn push_encoded(out: &mut String, character: char) {
    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
        // Writing to a string cannot fail.
        let _ = write!(out, "%{byte:02X}");
    }
}

pub(super) fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

pub(super) fn is_reserved(character: char) -> bool {
    ":/?#[]@!$&'()*+,;=".contains(character)
}
