//! Results whose text is not the JSON of their structured content.

use schemars::JsonSchema;
use serde::Serialize;
use turnbuckle::ToolOutput as _;
use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, Json, Schema};

/// Returns the schema of structured content that is encoded from `T`, or of any object if the schema of `T` is none.
pub(crate) fn schema_of<T: Serialize + JsonSchema + Send + 'static>() -> Schema {
    let schema = Structured::<T>::output_schema().ok().flatten();
    schema.unwrap_or_else(Schema::object)
}

/// Returns a result of a text and structured content.
///
/// # Errors
/// If the value has no JSON form.
pub(crate) fn with_text<T: Serialize>(
    text: impl Into<String>,
    value: &T,
) -> Result<CallToolResult> {
    let structured = Json::encode(value)?;
    Ok(CallToolResult::from_text(text).structured_content(structured))
}

/// Returns a result with structured content, whose text is the same JSON on several lines.
///
/// # Errors
/// If the value has no JSON form.
pub(crate) fn pretty<T: Serialize>(value: &T) -> Result<CallToolResult> {
    with_text(serde_json::to_string_pretty(value)?, value)
}
