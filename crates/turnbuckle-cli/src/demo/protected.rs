//! Tools about the caller's login, which exist with `--auth` only.

use std::sync::{Mutex, PoisonError};

use turnbuckle::prelude::*;

/// The scope that every request needs.
pub(super) const READ_SCOPE: &str = "demo:read";

/// The scope of `write_note`.
pub(super) const WRITE_SCOPE: &str = "demo:write";

/// The note that nobody has written yet.
const EMPTY_NOTE: &str = "There is no note yet.";

#[derive(Default)]
pub(super) struct Protected {
    note: Mutex<Option<String>>,
}

#[server]
impl Protected {
    /// Tells who calls, and what they may do
    #[tool(title = "Who am I")]
    fn whoami(caller: Principal) -> String {
        format!(
            "You are {} of {}, with the scopes {}.",
            caller.subject,
            caller.issuer,
            caller.scopes.join(" ")
        )
    }

    /// Reads the note
    #[tool(title = "Read the note")]
    fn read_note(&self) -> String {
        let note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        note.clone().unwrap_or_else(|| EMPTY_NOTE.to_owned())
    }

    /// Writes the note; needs the scope demo:write
    #[tool(title = "Write the note", scope = "demo:write")]
    fn write_note(
        &self,
        /// The new note
        #[schema(max_len = 1000)]
        text: String,
    ) -> &'static str {
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        "The note was written."
    }
}
