//! The secret values that a command knows.

use std::cmp::Reverse;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The shortest secret that is redacted in text. Shorter ones would also match harmless text.
const MIN_SECRET_BYTES: usize = 6;

/// The secret values that a command knows so far, which the trace file hides. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct KnownSecrets(Arc<Mutex<Vec<String>>>);

impl KnownSecrets {
    /// Adds secrets. Short ones are left out.
    pub(crate) fn add(&self, secrets: impl IntoIterator<Item = String>) {
        let mut known = self.lock();
        for secret in secrets {
            if secret.len() >= MIN_SECRET_BYTES && !known.contains(&secret) {
                known.push(secret);
            }
        }
        known.sort_by_key(|secret| Reverse(secret.len()));
    }

    /// Returns the secrets. Longer ones come first, so that none is hidden in part only.
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}
