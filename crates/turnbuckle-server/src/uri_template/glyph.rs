//! The characters of a URI, percent-decoded, each remembering whether it was encoded.

use std::fmt::Write;

/// One character. Where RFC 3986 lets a character be written in one way only (unreserved ones
/// plain, foreign ones encoded) `encoded` says that way, so that equal glyphs are equal URIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Glyph {
    pub(super) character: char,
    pub(super) encoded: bool,
}

impl Glyph {
    fn new(character: char, encoded: bool) -> Self {
        let encoded = !is_unreserved(character) && (encoded || !is_reserved(character));
        Self { character, encoded }
    }

    /// Whether this is that reserved character, with its meaning.
    pub(super) fn is(self, reserved: char) -> bool {
        self.character == reserved && !self.encoded
    }
}

/// The glyphs of a text; `None` if it has a control character, a broken escape, or escapes that are
/// not UTF-8.
pub(super) fn glyphs(text: &str) -> Option<Vec<Glyph>> {
    let mut glyphs = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character == '%' {
            let (bytes, after) = escapes(rest)?;
            let decoded = std::str::from_utf8(&bytes).ok()?.chars();
            glyphs.extend(decoded.map(|c| Glyph::new(c, true)));
            rest = after;
        } else if character.is_control() {
            return None;
        } else {
            glyphs.push(Glyph::new(character, false));
            rest = &rest[character.len_utf8()..];
        }
    }
    Some(glyphs)
}

/// The bytes of the escapes at the start of `text`, and what follows them.
fn escapes(mut text: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = Vec::new();
    while let Some(digits) = text.strip_prefix('%') {
        bytes.push(escaped_byte(digits)?);
        text = digits.get(2..)?;
    }
    Some((bytes, text))
}

/// The byte of the two hexadecimal digits that `text` begins with.
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
