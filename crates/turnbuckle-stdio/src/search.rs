//! Where a line ends, and whether what shall be one line is one.
//!
//! A short text is searched with the vectors that every x86-64 has. For a long one the wider ones
//! are worth it that `memchr` finds; but its first use asks the processor for them, which takes
//! longer than all else that the first message of a process costs where a hypervisor answers.

use memchr::{memchr, memchr2};

/// The bytes of a short text: about what a handshake has.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 2 << 10;

/// The first `\n`.
pub(crate) fn newline(bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() <= SHORT
        && let Some(vectors) = memchr::arch::x86_64::sse2::memchr::One::new(b'\n')
    {
        return vectors.find(bytes);
    }
    memchr(b'\n', bytes)
}

/// Whether there is a `\n` or a `\r`.
pub(crate) fn breaks(bytes: &[u8]) -> bool {
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
    fn finds_the_first_at_every_place_in_texts_of_every_length() {
        for length in (0..200).chain([2048, 2049]) {
            let mut text = vec![b'x'; length];
            assert_eq!(newline(&text), None, "{length}");
            assert!(!breaks(&text), "{length}");
            for at in (0..length).rev().take(200) {
                text[at] = b'\r';
                assert!(breaks(&text), "{length} {at}");
                text[at] = b'\n';
                assert!(breaks(&text), "{length} {at}");
                assert_eq!(newline(&text), Some(at), "{length}");
            }
        }
    }
}
