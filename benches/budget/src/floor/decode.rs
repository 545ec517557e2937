//! The cost of decoding alone.

use std::hint::black_box;

use super::answer::decode;
use crate::process::{Ended, word};

/// Decodes, for `decode N`, the one line of its input so many times.
pub(crate) fn run(words: &[String]) -> Ended {
    let times: u64 = word(words, 0)?.parse()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    for _ in 0..times {
        black_box(decode(black_box(line.as_bytes()))?);
    }
    Ok(())
}
