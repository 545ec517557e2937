//! Decoding of forms that a user filled in.

use serde::de::DeserializeOwned;
use turnbuckle_schema::FastValidator;
use turnbuckle_types::{ElicitResult, ElicitationSchema, Json, Schema};

use crate::error::AskError;
use crate::schema::describe_mismatch;

/// Decodes an accepted form as `T`: repairs values that have another type than the form requires,
/// checks them, and decodes.
pub(super) fn read<T: DeserializeOwned>(
    mut result: ElicitResult,
    form: &ElicitationSchema,
) -> Result<T, AskError> {
    let content = result.content.take().unwrap_or_default();
    let content = Json::encode(&content).map_err(|error| malformed_error("", &error))?;
    let content = repair(&content, form).unwrap_or(content);
    let fields = content.decode();
    result.content = Some(fields.map_err(|error| malformed_error(content.as_str(), &error))?);
    result
        .validate(form)
        .map_err(|problem| AskError::Malformed(problem.to_string()))?;
    let error = match content.decode() {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // `()` is decoded from `null`.
    if form.properties.is_empty()
        && let Ok(unit) = serde_json::from_str("null")
    {
        return Ok(unit);
    }
    Err(malformed_error(content.as_str(), &error))
}

/// Returns the repaired content, if it differs from the original.
fn repair(content: &Json, form: &ElicitationSchema) -> Option<Json> {
    FastValidator::compile(&Schema::encode(form).ok()?)
        .ok()?
        .repair(content.into())
}

fn malformed_error(content: &str, error: &serde_json::Error) -> AskError {
    AskError::Malformed(describe_mismatch(content, error))
}
