//! What a tool may return.

use schemars::JsonSchema;
use serde::Serialize;
use turnbuckle_session::{Plain, Reply};
use turnbuckle_types::{CallToolResult, ContentBlock, Error, Schema};

use crate::error::BuildError;
use crate::failure::{Failure, Result};
use crate::schema::{Enforcer, output_schema_of};

/// A tool's output schema, compiled: what its structured output is held against.
///
/// Specification: server/tools, "Output Schema" (2026-07-28).
#[derive(Debug)]
pub struct OutputCheck(pub(crate) Enforcer);

impl OutputCheck {
    /// Checks structured output.
    ///
    /// # Errors
    /// When it does not conform to the schema: the server's own fault, an internal error.
    pub fn value<T: Serialize + ?Sized>(&self, output: &T) -> Result<()> {
        let value = serde_json::to_value(output)
            .map_err(|error| Error::internal(format!("the output has no JSON form: {error}")))?;
        let validator = self.0.validator()?;
        validator.validate_value(&value).map_err(|violations| {
            let first = violations.iter().next();
            let first = first.map(|first| first.describe("output"));
            Error::internal(format!(
                "the output does not fit the tool's output schema: {}",
                first.unwrap_or_default()
            ))
            .into()
        })
    }

    /// Says that there is no structured output.
    ///
    /// # Errors
    /// Always: a tool with an output schema has structured output.
    pub fn nothing(&self) -> Result<()> {
        Err(Error::internal("the tool has an output schema, but gave no structured output").into())
    }
}

/// A tool's result in one of its forms.
pub trait ToolOutput: Send + 'static {
    /// The schema of its structured form, if it has one.
    ///
    /// # Errors
    /// When the type's schema is not one that a tool can have.
    fn output_schema() -> Result<Option<Schema>, BuildError> {
        Ok(None)
    }

    /// Holds its structured form against the tool's output schema, where that says more than the
    /// type does.
    ///
    /// # Errors
    /// When it does not conform, or is not there.
    fn check(&self, schema: &OutputCheck) -> Result<()> {
        schema.nothing()
    }

    /// The result as it goes out.
    ///
    /// # Errors
    /// When it is a failure, or has no JSON form.
    fn into_reply(self) -> Result<Reply>;
}

/// Structured output: the tool declares its schema, and every client gets it in what its revision
/// has, always also as text.
///
/// Specification: server/tools, "Structured Content" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> ToolOutput for Structured<T> {
    fn output_schema() -> Result<Option<Schema>, BuildError> {
        output_schema_of::<T>()
            .map(Some)
            .map_err(|error| BuildError::new(error.to_string()))
    }

    fn check(&self, schema: &OutputCheck) -> Result<()> {
        schema.value(&self.0)
    }

    fn into_reply(self) -> Result<Reply> {
        let body = turnbuckle_session::Structured::new(&self.0)
            .map_err(|error| Error::internal(format!("the output has no JSON form: {error}")))?;
        Ok(Reply::Complete(Box::new(body)))
    }
}

impl ToolOutput for String {
    fn into_reply(self) -> Result<Reply> {
        Ok(Reply::Complete(Box::new(Plain(self))))
    }
}

impl ToolOutput for &'static str {
    fn into_reply(self) -> Result<Reply> {
        self.to_owned().into_reply()
    }
}

impl ToolOutput for () {
    fn into_reply(self) -> Result<Reply> {
        CallToolResult::new().into_reply()
    }
}

impl ToolOutput for ContentBlock {
    fn into_reply(self) -> Result<Reply> {
        CallToolResult::new().content([self]).into_reply()
    }
}

impl ToolOutput for Vec<ContentBlock> {
    fn into_reply(self) -> Result<Reply> {
        CallToolResult::new().content(self).into_reply()
    }
}

impl ToolOutput for CallToolResult {
    fn check(&self, schema: &OutputCheck) -> Result<()> {
        match &self.structured_content {
            _ if self.is_error == Some(true) => Ok(()),
            Some(structured) => schema.value(structured),
            None => schema.nothing(),
        }
    }

    fn into_reply(self) -> Result<Reply> {
        Ok(Reply::complete(self))
    }
}

impl<T: ToolOutput, E: Into<Failure> + Send + 'static> ToolOutput for std::result::Result<T, E> {
    fn output_schema() -> Result<Option<Schema>, BuildError> {
        T::output_schema()
    }

    fn check(&self, schema: &OutputCheck) -> Result<()> {
        match self {
            Ok(output) => output.check(schema),
            Err(_) => Ok(()),
        }
    }

    fn into_reply(self) -> Result<Reply> {
        self.map_err(Into::into)?.into_reply()
    }
}
