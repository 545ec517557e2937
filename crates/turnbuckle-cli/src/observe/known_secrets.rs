//! The secret values that a command knows.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton as _;
use aho_corasick::nfa::contiguous::NFA;

use super::redact::{redact_line, redact_text};

/// The shortest secret that is redacted in text. Shorter ones would also match harmless text.
const MIN_SECRET_BYTES: usize = 6;

/// The most bytes of all secrets together that are searched for. A configuration file can name any
/// number of them; with more, every text is redacted as a whole.
const MAX_SECRETS_BYTES: usize = 1 << 20;

/// The secret values that a command knows so far, which the trace file hides. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct KnownSecrets(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    values: HashSet<String>,
    bytes: usize,
    /// The search for the values; made anew when there are more.
    search: Option<SecretSearch>,
}

impl KnownSecrets {
    /// Adds secrets. Short ones are left out.
    pub(crate) fn add(&self, secrets: impl IntoIterator<Item = String>) {
        let mut state = self.lock();
        for secret in secrets {
            let bytes = secret.len();
            if bytes < MIN_SECRET_BYTES || state.bytes > MAX_SECRETS_BYTES {
                continue;
            }
            if state.values.insert(secret) {
                state.bytes += bytes;
                state.search = None;
            }
        }
    }

    /// Replaces the secrets that are known now in a text, and whatever looks like credentials.
    pub(crate) fn redact_text(&self, text: &str) -> String {
        redact_text(text, &self.search()).unwrap_or_else(|| text.to_owned())
    }

    /// Replaces the secrets that are known now in a line of JSON, and credentials of the schemes of HTTP.
    /// Returns `None` if there are none.
    pub(crate) fn redact_line(&self, line: &str) -> Option<String> {
        redact_line(line, &self.search())
    }

    /// Returns the search for the secrets that are known now.
    pub(super) fn search(&self) -> SecretSearch {
        let mut state = self.lock();
        let State {
            values,
            bytes,
            search,
        } = &mut *state;
        let search = search.get_or_insert_with(|| SecretSearch::new(values, *bytes));
        search.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}

/// A search for all secrets at once, in time that grows with the text alone.
#[derive(Clone)]
pub(super) enum SecretSearch {
    /// An empty search: no secret is known.
    Nothing,
    /// The automaton of the secrets.
    Secrets(Arc<NFA>),
    /// Too many secrets to search for: any text may have one.
    Anything,
}

impl SecretSearch {
    fn new(values: &HashSet<String>, bytes: usize) -> Self {
        if values.is_empty() {
            return Self::Nothing;
        }
        if bytes > MAX_SECRETS_BYTES {
            return Self::Anything;
        }
        match NFA::new(values) {
            Ok(automaton) => Self::Secrets(Arc::new(automaton)),
            Err(_) => Self::Anything,
        }
    }

    /// Returns the ranges of a text that are secrets. Those that overlap are one range.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let whole = 0..text.len();
        let automaton = match self {
            Self::Nothing => return Vec::new(),
            Self::Anything if text.is_empty() => return Vec::new(),
            Self::Anything => return vec![whole],
            Self::Secrets(automaton) => automaton,
        };
        let Ok(mut state) = automaton.start_state(Anchored::No) else {
            return vec![whole];
        };
        let mut found: Vec<Range<usize>> = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if !automaton.is_match(state) {
                continue;
            }
            // The first secret of a state is the longest of those that end here.
            let end = at + 1;
            let mut start = end - automaton.pattern_len(automaton.match_pattern(state, 0));
            while let Some(last) = found.last().filter(|last| last.end > start) {
                start = start.min(last.start);
                found.pop();
            }
            found.push(start..end);
        }
        found
    }
}
