//! What a model can be asked.

use turnbuckle_types::{CreateMessageParams, SamplingMessage};

/// How many tokens a model may write that was not told.
const MAX_TOKENS: u32 = 1000;

/// What a model can be asked: a text, one message or several, or whole parameters, which hold
/// everything that can be said ([model preferences](turnbuckle_types::ModelPreferences), tools, …).
///
/// Specification: client/sampling (2026-07-28).
pub trait IntoSample {
    /// As parameters.
    fn into_sample(self) -> CreateMessageParams;
}

impl IntoSample for CreateMessageParams {
    fn into_sample(self) -> CreateMessageParams {
        self
    }
}

impl IntoSample for Vec<SamplingMessage> {
    fn into_sample(self) -> CreateMessageParams {
        CreateMessageParams::new(self, MAX_TOKENS)
    }
}

impl IntoSample for SamplingMessage {
    fn into_sample(self) -> CreateMessageParams {
        vec![self].into_sample()
    }
}

impl IntoSample for String {
    fn into_sample(self) -> CreateMessageParams {
        SamplingMessage::user(self).into_sample()
    }
}

impl IntoSample for &str {
    fn into_sample(self) -> CreateMessageParams {
        SamplingMessage::user(self).into_sample()
    }
}
