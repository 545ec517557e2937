//! Limits how fast a server may ask, and how many questions it may ask at once.

use turnbuckle_session::internal::TokenBucket;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_types::{ErrorKind, ProtocolError};

use crate::input::sampling::USER_REJECTED_CODE;

/// The rates that the server of one client has used.
#[derive(Debug)]
pub(crate) struct QuestionRates {
    sampling: TokenBucket,
    elicitation: TokenBucket,
    questions: usize,
}

impl QuestionRates {
    pub(crate) fn new(limits: &ClientLimits) -> Self {
        Self {
            sampling: TokenBucket::new(limits.sampling_rate),
            elicitation: TokenBucket::new(limits.elicitation_rate),
            questions: limits.max_input_requests,
        }
    }

    /// Returns the most questions inside one result.
    pub(crate) fn max_input_requests(&self) -> usize {
        self.questions
    }

    /// Counts a sampling request. The specification has one error for refusing it.
    ///
    /// Specification: client/sampling, "Error Handling" (2025-11-25).
    pub(crate) fn admit_sampling(&self) -> Result<(), ProtocolError> {
        let admitted = self
            .sampling
            .admit("requests for sampling", "ClientLimits::sampling_rate");
        admitted.map_err(|error| {
            ProtocolError::new(ErrorKind::Application(USER_REJECTED_CODE), error.message())
        })
    }

    /// Counts an elicitation.
    pub(crate) fn admit_elicitation(&self) -> Result<(), ProtocolError> {
        self.elicitation
            .admit("questions to the user", "ClientLimits::elicitation_rate")
    }
}

impl Default for QuestionRates {
    fn default() -> Self {
        Self::new(&ClientLimits::default())
    }
}
