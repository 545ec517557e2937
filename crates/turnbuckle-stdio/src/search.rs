//! The search for line breaks.
//!
//! Short texts are searched with SSE2, which every x86-64 processor has. For long ones `memchr`
//! detects wider vectors. That detection happens on its first use, and in a virtual machine it takes
//! longer than everything else that the first message of a process costs.

use memchr::{memchr, memchr2};

/// The largest size of a short text in bytes: about that of a handshake.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 2 << 10;

/// Returns the position of the first `\n`.
pub(crate) fn find_newline(bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() <= SHORT
        && let Some(vectors) = memchr::arch::x86_64::sse2::memchr::One::new(b'\n')
    {
        return vectors.find(bytes);
    }
    memchr(b'\n', bytes)
}

/// Returns whether there is a `\n` or a `\r`.
pub(crate) fn has_line_break(bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() <= SHORT
        && let Some(vectors) = memchr::arch::x86_64::sse2::memchr::Two::new(b'\n', b'\r')
    {
        return vectors.find(bytes).is_some();
    }
    memchr2(b'\n', b'\r', bytes).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_found_at_every_position_of_texts_of_every_length() {
        for length in (0..200).chain([2048, 2049]) {
            let mut text = vec![b'x'; length];
            assert_eq!(find_newline(&text), None, "{length}");
            assert!(!has_line_break(&text), "{length}");
            for at in (0..length).rev().take(200) {
                text[at] = b'\r';
                assert!(has_line_break(&text), "{length} {at}");
                text[at] = b'\n';
                assert!(has_line_break(&text), "{length} {at}");
                assert_eq!(find_newline(&text), Some(at), "{length}");
            }
        }
    }
}
