//! An error with its sources as one line.

use std::error::Error;
use std::fmt;
use std::iter::successors;

/// The most errors of a chain that are looked at: a source could lead back to its error.
const MAX_SOURCES: usize = 64;

/// An error and its sources. [`Display`](fmt::Display) writes them in one line, without those whose
/// text an error before them repeats.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl<'a> ErrorChain<'a> {
    /// Returns the error and its sources.
    pub fn errors(&self) -> impl Iterator<Item = &'a (dyn Error + 'static)> + use<'a> {
        successors(Some(self.0), |&error| error.source()).take(MAX_SOURCES)
    }
}

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.0.to_string();
        for error in self.errors().skip(1) {
            let text = error.to_string();
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
        }
        f.write_str(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    fn chain(texts: &[&'static str]) -> Option<Box<Link>> {
        let (text, rest) = texts.split_first()?;
        let source = chain(rest);
        Some(Box::new(Link { text, source }))
    }

    #[test]
    fn sources_follow_their_error_unless_it_repeats_them() {
        for (texts, line) in [
            (&["a"][..], "a"),
            (
                &["cannot read", "no such file"],
                "cannot read: no such file",
            ),
            (&["cannot read: gone", "gone"], "cannot read: gone"),
            (&["one: three", "two", "three"], "one: three: two"),
        ] {
            let error = chain(texts).unwrap();
            assert_eq!(ErrorChain(&*error).to_string(), line);
        }
        let long = chain(&["x"; 100]).unwrap();
        assert_eq!(ErrorChain(&*long).errors().count(), MAX_SOURCES);
    }
}
