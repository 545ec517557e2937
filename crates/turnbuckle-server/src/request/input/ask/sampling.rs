//! Inputs of a sampling request.

use turnbuckle_types::{CreateMessageRequestParams, SamplingMessage};

/// The default for the most tokens that a model can write.
const MAX_TOKENS: u32 = 1000;

/// Conversion into the parameters of a sampling request.
///
/// Implemented for a text, for one message or several, and for whole parameters, which can have
/// [model preferences](turnbuckle_types::ModelPreferences), tools and more.
///
/// Specification: client/sampling (2026-07-28).
pub trait IntoSamplingRequest {
    /// Converts into parameters.
    fn into_sampling_request(self) -> CreateMessageRequestParams;
}

impl IntoSamplingRequest for CreateMessageRequestParams {
    fn into_sampling_request(self) -> CreateMessageRequestParams {
        self
    }
}

impl IntoSamplingRequest for Vec<SamplingMessage> {
    fn into_sampling_request(self) -> CreateMessageRequestParams {
        CreateMessageRequestParams::new(self, MAX_TOKENS)
    }
}

impl IntoSamplingRequest for SamplingMessage {
    fn into_sampling_request(self) -> CreateMessageRequestParams {
        vec![self].into_sampling_request()
    }
}

impl IntoSamplingRequest for String {
    fn into_sampling_request(self) -> CreateMessageRequestParams {
        SamplingMessage::user(self).into_sampling_request()
    }
}

impl IntoSamplingRequest for &str {
    fn into_sampling_request(self) -> CreateMessageRequestParams {
        SamplingMessage::user(self).into_sampling_request()
    }
}
