//! Limits how fast a server may ask, and how many questions it may ask at once.

use turnbuckle_session::internal::KeyedRates;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_types::{ErrorKind, ProtocolError};

use crate::input::limiter::AskingServer;
use crate::input::sampling::USER_REJECTED_CODE;

/// The most senders of tagged requests whose questions are counted apart; further ones count together.
const MAX_SENDERS: usize = 1024;

/// The rates that the server of one client has used. Questions about tagged requests count for the
/// sender of the request, so that one party of a client does not use up the rate of another.
#[derive(Debug)]
pub(crate) struct QuestionRates {
    sampling: KeyedRates,
    elicitation: KeyedRates,
    questions: usize,
}

impl QuestionRates {
    pub(crate) fn new(limits: &ClientLimits) -> Self {
        Self {
            sampling: KeyedRates::new(limits.sampling_rate, MAX_SENDERS),
            elicitation: KeyedRates::new(limits.elicitation_rate, MAX_SENDERS),
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
    pub(crate) fn admit_sampling(&self, asking: &AskingServer) -> Result<(), ProtocolError> {
        let (sender, setting) = (asking.sender(), "ClientLimits::sampling_rate");
        let admitted = self
            .sampling
            .admit(sender, "requests for sampling", setting);
        admitted.map_err(|error| {
            ProtocolError::new(ErrorKind::Application(USER_REJECTED_CODE), error.message())
        })
    }

    /// Counts an elicitation.
    pub(crate) fn admit_elicitation(&self, asking: &AskingServer) -> Result<(), ProtocolError> {
        let (sender, setting) = (asking.sender(), "ClientLimits::elicitation_rate");
        self.elicitation
            .admit(sender, "questions to the user", setting)
    }
}

impl Default for QuestionRates {
    fn default() -> Self {
        Self::new(&ClientLimits::default())
    }
}
