//! The entries that have a text. Each entry is searched once for each text.

use std::collections::{BTreeSet, VecDeque};
use std::sync::PoisonError;

use super::{StoredBytes, Timeline};
use crate::values::find_ignoring_case;

/// The most texts whose entries are remembered.
const MAX_TEXTS: usize = 8;

/// The entries that are searched before others get a turn.
const BATCH: usize = 256;

/// The entries that have a text, for the last texts.
#[derive(Default)]
pub(super) struct TextHits(VecDeque<Hits>);

struct Hits {
    text: String,
    /// The number of the last entry that was searched.
    last: u64,
    entries: BTreeSet<u64>,
}

impl TextHits {
    pub(super) fn has(&self, text: &str, n: u64) -> bool {
        let hits = self.0.iter().find(|hits| hits.text == text);
        hits.is_some_and(|hits| hits.entries.contains(&n))
    }
}

impl Timeline {
    /// Searches the entries that were not searched for a text yet.
    pub(super) fn search(&self, text: &str) {
        let mut hits = {
            let mut all = self.0.hits.lock().unwrap_or_else(PoisonError::into_inner);
            let known = all.0.iter().position(|hits| hits.text == text);
            known
                .and_then(|index| all.0.remove(index))
                .unwrap_or_else(|| Hits {
                    text: text.to_owned(),
                    last: 0,
                    entries: BTreeSet::new(),
                })
        };
        let needle = text.as_bytes();
        let has_text = |text: &[u8]| find_ignoring_case(text, needle, 0).is_some();
        loop {
            // Entries are searched without the lock, so that messages go on meanwhile.
            let batch: Vec<(u64, bool, StoredBytes)> = {
                let state = self.lock();
                let first = (hits.last + 1).max(state.dropped + 1);
                let Some(index) = state.index(first) else {
                    break;
                };
                let records = state.records.range(index..).take(BATCH);
                let records = records.map(|record| {
                    let entry = &record.entry;
                    let mut words = [&entry.method, &entry.summary].into_iter().flatten();
                    let is_hit = words.any(|word| has_text(word.as_bytes()));
                    (entry.n, is_hit, record.bytes.clone())
                });
                records.collect()
            };
            for (n, is_hit, bytes) in batch {
                if is_hit || bytes.read().is_some_and(|bytes| has_text(&bytes)) {
                    hits.entries.insert(n);
                }
                hits.last = n;
            }
        }
        let mut all = self.0.hits.lock().unwrap_or_else(PoisonError::into_inner);
        all.0.retain(|other| other.text != hits.text);
        all.0.push_front(hits);
        all.0.truncate(MAX_TEXTS);
    }
}
