//! Reads a form that a user filled in.

use serde::de::DeserializeOwned;
use turnbuckle_schema::Shape;
use turnbuckle_types::{ElicitResult, ElicitationSchema, Json, Schema};

use super::AskError;
use crate::schema::misfit;

/// Reads what an accepted form holds as `T`: mended where the form demands something else than what
/// came, checked, decoded.
pub(super) fn read<T: DeserializeOwned>(
    mut result: ElicitResult,
    form: &ElicitationSchema,
) -> Result<T, AskError> {
    let content = result.content.take().unwrap_or_default();
    let content = Json::of(&content).map_err(|error| malformed("", &error))?;
    let content = mended(&content, form).unwrap_or(content);
    let fields = content.decode();
    result.content = Some(fields.map_err(|error| malformed(content.as_str(), &error))?);
    result
        .validate(form)
        .map_err(|problem| AskError::Malformed(problem.to_string()))?;
    let error = match content.decode() {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // A unit is written `null`.
    if form.properties.is_empty()
        && let Ok(unit) = serde_json::from_str("null")
    {
        return Ok(unit);
    }
    Err(malformed(content.as_str(), &error))
}

/// What was meant, if that is not what came.
fn mended(content: &Json, form: &ElicitationSchema) -> Option<Json> {
    Shape::compile(&Schema::of(form).ok()?)
        .ok()?
        .repair(content.into())
}

fn malformed(content: &str, error: &serde_json::Error) -> AskError {
    AskError::Malformed(misfit(content, error))
}
