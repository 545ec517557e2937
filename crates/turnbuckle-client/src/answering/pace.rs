//! How fast a server may ask, and how much at once.

use turnbuckle_session::{Bucket, ConversationLimits};
use turnbuckle_types::{Error, ErrorKind};

use super::sampling::REJECTED;

/// What the server of one client has used of its rates.
#[derive(Debug)]
pub(crate) struct Pace {
    sampling: Bucket,
    elicitation: Bucket,
    questions: usize,
}

impl Pace {
    pub(crate) fn new(limits: &ConversationLimits) -> Self {
        Self {
            sampling: Bucket::new(limits.sampling),
            elicitation: Bucket::new(limits.elicitation),
            questions: limits.questions,
        }
    }

    /// Questions that may come at once.
    pub(super) fn questions(&self) -> usize {
        self.questions
    }

    /// Counts a question to the user's model. The page has one error for what is not done.
    ///
    /// Specification: client/sampling, "Error Handling" (2025-11-25).
    pub(super) fn sampling(&self) -> Result<(), Error> {
        let admitted = self
            .sampling
            .admit("requests for sampling", "ConversationLimits::sampling");
        admitted.map_err(|error| Error::new(ErrorKind::Application(REJECTED), error.message()))
    }

    /// Counts a question to the user.
    pub(super) fn elicitation(&self) -> Result<(), Error> {
        self.elicitation
            .admit("questions to the user", "ConversationLimits::elicitation")
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new(&ConversationLimits::default())
    }
}
