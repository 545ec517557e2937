//! The state that the page wants to keep over a reload: open panes, drafts, sizes. Only the page knows
//! what it means.

use std::sync::{Mutex, PoisonError};

use crate::change::Changes;

/// The most bytes of the page's state.
const MAX_BYTES: usize = 1 << 20;

/// The state of the page, as JSON text.
pub(crate) struct PageState {
    changes: Changes,
    text: Mutex<Option<String>>,
}

impl PageState {
    pub(crate) fn new(changes: Changes) -> Self {
        Self {
            changes,
            text: Mutex::default(),
        }
    }

    pub(crate) fn text(&self) -> Option<String> {
        self.text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the state.
    ///
    /// # Errors
    /// Returns a sentence if the text is too long or no JSON.
    pub(crate) fn set(&self, text: String) -> Result<(), String> {
        if text.len() > MAX_BYTES {
            return Err(format!(
                "the state of the page has more than {MAX_BYTES} bytes"
            ));
        }
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            return Err(format!("the state of the page is not JSON: {error}"));
        }
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        self.changes.add("place");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_json_and_bounded() {
        let changes = Changes::default();
        let state = PageState::new(changes.clone());
        assert!(state.set("{".into()).is_err());
        assert!(state.set(format!("\"{}\"", "x".repeat(MAX_BYTES))).is_err());
        assert_eq!((state.text(), changes.versions().len()), (None, 0));
        state.set("{\"a\":1}".into()).unwrap();
        assert_eq!(state.text().as_deref(), Some("{\"a\":1}"));
        assert_eq!(changes.versions()["place"], 1);
    }
}
