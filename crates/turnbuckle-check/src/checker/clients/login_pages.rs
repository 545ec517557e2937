//! The login pages that a client prints, and how they are opened in place of its user.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinSet;

use crate::script::visit;

/// The bytes of a client's standard output that are kept: the last ones.
const KEPT_BYTES: usize = 16 << 10;

/// Login pages that are opened for one client.
const MAX_PAGES: usize = 10;

/// The end of what a client wrote to its standard output; clones are the same text.
#[derive(Debug, Clone, Default)]
pub(super) struct Printed(Arc<Mutex<VecDeque<u8>>>);

impl Printed {
    /// Reads to the end.
    pub(super) async fn read(self, mut reader: impl AsyncRead + Unpin) {
        let mut bytes = vec![0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&bytes[..count]);
            let surplus = kept.len().saturating_sub(KEPT_BYTES);
            kept.drain(..surplus);
        }
    }

    /// Returns the text.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = kept.as_slices();
        String::from_utf8_lossy(&[first, second].concat()).into_owned()
    }
}

/// The login pages of one client; dropping it stops those that are being opened.
pub(super) struct LoginPages {
    /// The beginning of their URLs.
    prefix: String,
    seen: HashSet<String>,
    opening: JoinSet<()>,
}

impl LoginPages {
    /// Creates them for URLs that begin so.
    pub(super) fn new(prefix: String) -> Self {
        Self {
            prefix,
            seen: HashSet::new(),
            opening: JoinSet::new(),
        }
    }

    /// Opens each page once whose URL stands in one of the texts.
    pub(super) fn open(&mut self, texts: &[String]) {
        for url in texts.iter().flat_map(|text| urls(text, &self.prefix)) {
            if self.seen.len() < MAX_PAGES && self.seen.insert(url.to_owned()) {
                let url = url.to_owned();
                self.opening.spawn(async move {
                    // A page that cannot be opened is a login that does not lead back, which checks see.
                    let _ = visit(&url).await;
                });
            }
        }
    }
}

/// Returns the URLs with a beginning in a text. One at its very end is not whole.
fn urls<'t>(text: &'t str, prefix: &'t str) -> impl Iterator<Item = &'t str> {
    let is_end = |c: char| c.is_whitespace() || "\"'<>`)]\u{7}\u{1b}".contains(c);
    text.match_indices(prefix).filter_map(move |(start, _)| {
        let rest = &text[start..];
        rest.find(is_end).map(|end| &rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_login_pages_are_found_once_they_are_whole() {
        let text = "go to <http://h/a?x=1> or \u{1b}[2mhttp://h/a?y=2\u{1b}[0m, not http://other/a?x; http://h/a?z";
        let found: Vec<_> = urls(text, "http://h/a?").collect();
        assert_eq!(found, ["http://h/a?x=1", "http://h/a?y=2"]);
    }

    #[tokio::test]
    async fn the_end_of_a_long_output_is_kept() {
        let printed = Printed::default();
        let text = [vec![b'a'; 3 * KEPT_BYTES], b"end".to_vec()].concat();
        printed.clone().read(&*text).await;
        assert_eq!(printed.text().len(), KEPT_BYTES);
        assert!(printed.text().ends_with("aend"));
    }
}
