//! JSON string escaping, sixteen bytes a step where nothing needs it.

const LANES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// What each byte becomes: 0 passes, `u` is a `\u00XX` escape, anything else follows a backslash.
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

/// Marks every byte of `word` that must be escaped in its high bit.
#[inline]
fn needs_escape(word: u64) -> u64 {
    let below_space = word.wrapping_sub(LANES * 0x20) & !word;
    let quote = word ^ (LANES * b'"' as u64);
    let slash = word ^ (LANES * b'\\' as u64);
    let quote = quote.wrapping_sub(LANES) & !quote;
    let slash = slash.wrapping_sub(LANES) & !slash;
    (below_space | quote | slash) & HIGH
}

#[inline]
fn word_at(bytes: &[u8]) -> Option<u64> {
    bytes
        .first_chunk::<8>()
        .map(|chunk| u64::from_le_bytes(*chunk))
}

/// The length of the longest prefix of `bytes` that needs no escape.
#[inline]
fn clean_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(pair) = bytes[at..].first_chunk::<16>() {
        let (Some(low), Some(high)) = (word_at(&pair[..8]), word_at(&pair[8..])) else {
            break;
        };
        // A borrow can only mark bytes above a true hit, so the lowest mark is always right.
        let (low, high) = (needs_escape(low), needs_escape(high));
        if low != 0 {
            return at + low.trailing_zeros() as usize / 8;
        }
        if high != 0 {
            return at + 8 + high.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    if let Some(word) = word_at(&bytes[at..]) {
        let marks = needs_escape(word);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < bytes.len() && ESCAPES[bytes[at] as usize] == 0 {
        at += 1;
    }
    at
}

/// Appends `text` as a JSON string, quotes included.
#[inline]
pub fn write_str(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    write_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends UTF-8 `bytes` escaped for the inside of a JSON string.
pub(crate) fn write_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    loop {
        let clean = clean_prefix(bytes);
        out.extend_from_slice(&bytes[..clean]);
        bytes = &bytes[clean..];
        // Escapes come in runs (JSON inside a string): stay byte by byte until a run of clean
        // text makes the wide scan worth starting again.
        let mut quiet = 0;
        while quiet < 8 {
            let Some((&byte, rest)) = bytes.split_first() else {
                return;
            };
            bytes = rest;
            match ESCAPES[byte as usize] {
                0 => {
                    out.push(byte);
                    quiet += 1;
                    continue;
                }
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
            quiet = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_ascii_character_at_every_offset_equals_serde_json() {
        for byte in 0u8..128 {
            for offset in 0..40 {
                let text = format!("{}{}{}", "x".repeat(offset), byte as char, "é".repeat(9));
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
        #[test]
        fn any_text_equals_serde_json(text in "\\PC*|[\"\\\\\u{0}-\u{1f}a]{0,80}|(?s).*") {
            let mut out = Vec::new();
            write_str(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }
    }
}
