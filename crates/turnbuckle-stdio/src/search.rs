//! Where a line ends, and whether what shall be one line is one.
//!
//! On x86-64 these are the vector instructions that every such processor has. `memchr` itself would
//! first ask the processor for wider ones, which takes longer than all else that the first message
//! of a process costs where a hypervisor answers.

#[cfg(not(target_arch = "x86_64"))]
use memchr::{memchr, memchr2};

/// The first `\n`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn newline(bytes: &[u8]) -> Option<usize> {
    use memchr::arch::{all, x86_64::sse2};
    match sse2::memchr::One::new(b'\n') {
        Some(vectors) => vectors.find(bytes),
        None => all::memchr::One::new(b'\n').find(bytes),
    }
}

/// The first `\n`.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn newline(bytes: &[u8]) -> Option<usize> {
    memchr(b'\n', bytes)
}

/// Whether there is a `\n` or a `\r`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn breaks(bytes: &[u8]) -> bool {
    use memchr::arch::{all, x86_64::sse2};
    let (one, other) = (b'\n', b'\r');
    let first = match sse2::memchr::Two::new(one, other) {
        Some(vectors) => vectors.find(bytes),
        None => all::memchr::Two::new(one, other).find(bytes),
    };
    first.is_some()
}

/// Whether there is a `\n` or a `\r`.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn breaks(bytes: &[u8]) -> bool {
    memchr2(b'\n', b'\r', bytes).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_at_every_place_in_texts_of_every_length() {
        for length in 0..200 {
            let mut text = vec![b'x'; length];
            assert_eq!(newline(&text), None, "{length}");
            assert!(!breaks(&text), "{length}");
            for at in (0..length).rev() {
                text[at] = b'\r';
                assert!(breaks(&text), "{length} {at}");
                text[at] = b'\n';
                assert!(breaks(&text), "{length} {at}");
                assert_eq!(newline(&text), Some(at), "{length}");
            }
        }
    }
}
