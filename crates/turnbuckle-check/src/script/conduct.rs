//! The conduct of a client: the servers that it meets, what it did with them, and how checks read that.

mod run;
mod scenario;
mod tape;

pub(crate) use run::{Breach, Outcome, Run, breach, has_envelope, outcome};
pub(crate) use scenario::{INVALID_TOOL, REMOTE_PATH, Scenario, UNKNOWN_METHOD};
pub(crate) use tape::{Entry, Head, Tape};
