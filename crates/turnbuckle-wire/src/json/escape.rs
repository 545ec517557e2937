//! JSON string escaping, thirty-two bytes a step where nothing needs it.

const LANES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The escape of each byte: 0 for none, `u` for `\u00XX`, anything else follows a backslash.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0A] = b'n';
    table[0x0C] = b'f';
    table[0x0D] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Marks every byte of `word` that must be escaped in its high bit. A borrow can only mark bytes
/// above a true hit, so the lowest mark is always right.
#[inline]
pub(super) fn needs_escape(word: u64) -> u64 {
    let below_space = word.wrapping_sub(LANES * 0x20);
    let quote = (word ^ (LANES * b'"' as u64)).wrapping_sub(LANES);
    let slash = (word ^ (LANES * b'\\' as u64)).wrapping_sub(LANES);
    (below_space | quote | slash) & !word & HIGH
}

/// Returns whether a byte of `chunk` must be escaped. The loop has no branch, which makes it a few
/// instructions on vectors.
#[inline]
fn needs_any_escape(chunk: &[u8; 32]) -> bool {
    let marks = chunk.iter().fold(0, |marks, &byte| {
        marks | u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    });
    marks != 0
}

/// Returns the index of the first byte that must be escaped.
#[inline]
fn first_escape(chunk: &[u8; 32]) -> usize {
    let mut at = 0;
    while let Some(word) = chunk.get(at..).and_then(<[u8]>::first_chunk) {
        let marks = needs_escape(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

/// Appends `text` as a JSON string, quotes included.
#[inline]
pub fn write_str(out: &mut Vec<u8>, text: &str) {
    // Room for an escape here and there, lest a long text be moved for a few.
    out.reserve(text.len() + text.len() / 16 + 2);
    out.push(b'"');
    write_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends UTF-8 `bytes` escaped for the inside of a JSON string.
///
/// Where something is to be escaped, a step's bytes are copied whole and cut back to what passes.
pub(crate) fn write_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some((chunk, rest)) = bytes.split_first_chunk() {
        let start = out.len();
        out.extend_from_slice(chunk);
        if !needs_any_escape(chunk) {
            bytes = rest;
            continue;
        }
        let at = first_escape(chunk);
        out.truncate(start + at);
        bytes = write_escapes(out, &bytes[at..]);
        // Escapes come close to each other (JSON inside a string).
        while let Some(word) = bytes.first_chunk() {
            let marks = needs_escape(u64::from_le_bytes(*word));
            if marks == 0 {
                break;
            }
            bytes = write_prefix_and_escapes(out, word, marks, bytes);
        }
    }
    while let Some((word, rest)) = bytes.split_first_chunk() {
        let marks = needs_escape(u64::from_le_bytes(*word));
        if marks == 0 {
            out.extend_from_slice(word);
            bytes = rest;
        } else {
            bytes = write_prefix_and_escapes(out, word, marks, bytes);
        }
    }
    while let Some((&byte, rest)) = bytes.split_first() {
        if ESCAPES[byte as usize] == 0 {
            out.push(byte);
            bytes = rest;
        } else {
            bytes = write_escapes(out, bytes);
        }
    }
}

/// Appends the unescaped beginning of `word`, with which `bytes` begin, and the escapes behind it;
/// returns the bytes that follow.
#[inline]
fn write_prefix_and_escapes<'b>(
    out: &mut Vec<u8>,
    word: &[u8; 8],
    marks: u64,
    bytes: &'b [u8],
) -> &'b [u8] {
    let (start, passes) = (out.len(), marks.trailing_zeros() as usize / 8);
    out.extend_from_slice(word);
    out.truncate(start + passes);
    write_escapes(out, &bytes[passes..])
}

/// Appends the escapes of the first bytes that need one; returns the bytes that follow.
#[inline]
fn write_escapes<'b>(out: &mut Vec<u8>, mut bytes: &'b [u8]) -> &'b [u8] {
    while let Some((&byte, rest)) = bytes.split_first() {
        match ESCAPES[byte as usize] {
            0 => break,
            b'u' => out.extend_from_slice(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                HEX[(byte >> 4) as usize],
                HEX[(byte & 15) as usize],
            ]),
            escape => out.extend_from_slice(&[b'\\', escape]),
        }
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_ascii_character_at_every_offset_equals_serde_json() {
        for byte in 0u8..128 {
            for offset in 0..72 {
                let text = format!("{}{}{}", "x".repeat(offset), byte as char, "é".repeat(33));
                let mut out = Vec::new();
                write_str(&mut out, &text);
                assert_eq!(
                    out,
                    serde_json::to_vec(&text).unwrap(),
                    "{byte:#x} at {offset}"
                );
            }
        }
    }

    proptest! {
        /// Runs of what passes, of every length that the steps tell apart, and of escapes.
        #[test]
        fn runs_equal_serde_json(
            runs in proptest::collection::vec(("[a-zé\u{7f}日]{0,70}", "[\"\\\\\u{0}-\u{1f}]{0,3}"), 0..12)
        ) {
            let text: String = runs.iter().flat_map(|(passes, escaped)| [&**passes, &**escaped]).collect();
            let mut out = b"before".to_vec();
            write_str(&mut out, &text);
            prop_assert_eq!(&out[6..], serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn any_text_equals_serde_json(text in "\\PC*|[\"\\\\\u{0}-\u{1f}a]{0,80}|(?s).*") {
            let mut out = Vec::new();
            write_str(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }
    }
}
