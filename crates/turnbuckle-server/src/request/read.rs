//! The request that a resource's handler gets.

use turnbuckle_types::{Json, ProtocolError, TemplateVariables};

use crate::error::failure::Result;

/// A `resources/read` request.
///
/// Specification: server/resources, "Reading Resources" (2026-07-28).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadRequest {
    /// The requested URI.
    pub uri: String,
    /// The values of a template's variables.
    pub variables: TemplateVariables,
}

impl ReadRequest {
    pub(crate) fn new(uri: String, variables: TemplateVariables) -> Self {
        Self { uri, variables }
    }

    /// Returns the variables as JSON, to be decoded like arguments.
    pub(crate) fn arguments(&self) -> Result<Json> {
        Json::encode(&self.variables)
            .map_err(|error| ProtocolError::internal(error.to_string()).into())
    }
}
