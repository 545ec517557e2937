//! Results that a tool can return.

use schemars::JsonSchema;
use serde::Serialize;

use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{
    Audio, CallToolResult, ContentBlock, File, Image, Json, ProtocolError, ResourceLink, Schema,
};
use turnbuckle_wire::era::{Reply, TextToolResult};

use crate::error::BuildError;
use crate::error::failure::Result;
use crate::error::into_failure::IntoFailure;
use crate::schema::{EnforcedSchema, output_schema_of};

/// Validates structured output against a tool's output schema.
///
/// Specification: server/tools, "Output Schema" (2026-07-28).
#[derive(Debug)]
pub struct OutputValidator(pub(crate) EnforcedSchema);

impl OutputValidator {
    /// Validates structured output, unless its type guarantees the schema.
    ///
    /// # Errors
    /// An internal error, if the output does not match the schema.
    pub fn check_value<T: Serialize + ?Sized>(&self, output: &T) -> Result<()> {
        if !self.0.has_constraints()? {
            return Ok(());
        }
        let value = Json::encode(output).map_err(|error| {
            ProtocolError::internal(format!("the output has no JSON form: {error}"))
        })?;
        self.0.validate((&value).into())?.map_err(|violations| {
            let first = violations.iter().next();
            let first = first.map(|first| first.describe("output"));
            ProtocolError::internal(format!(
                "the output does not match the tool's output schema: {}",
                first.unwrap_or_default()
            ))
            .into()
        })
    }

    /// Returns the error for a result without structured output.
    ///
    /// # Errors
    /// Always, since a tool with an output schema must return structured output.
    pub fn reject_missing(&self) -> Result<()> {
        Err(ProtocolError::internal(
            "the tool has an output schema, but returned no structured output",
        )
        .into())
    }
}

/// A type that a tool can return.
///
/// Specification: server/tools, "Tool Result" (2026-07-28).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a tool",
    note = "text, content (`ContentBlock`, `Image`, `Audio`, `File`, several in a `Vec`), a `CallToolResult`, or a `Result` of one with an error that implements `IntoFailure`",
    note = "other data that derives `serde::Serialize` and `schemars::JsonSchema` is wrapped: `Structured(data)`"
)]
pub trait ToolOutput: Send + 'static {
    /// Returns the schema of the structured output, if the type has one.
    ///
    /// # Errors
    /// When the type's schema is not valid for a tool.
    fn output_schema() -> Result<Option<Schema>, BuildError> {
        Ok(None)
    }

    /// Validates the structured output, where the tool's output schema says more than the type.
    ///
    /// # Errors
    /// When the output does not match, or is missing.
    fn check(&self, schema: &OutputValidator) -> Result<()> {
        schema.reject_missing()
    }

    /// Converts the output into a reply.
    ///
    /// # Errors
    /// When the output is a failure, or cannot be encoded.
    fn into_reply(self) -> Result<Reply>;
}

/// Structured output: the tool declares its schema, and clients get the value as structured content
/// if their revision has it, and always as text.
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

    fn check(&self, schema: &OutputValidator) -> Result<()> {
        schema.check_value(&self.0)
    }

    fn into_reply(self) -> Result<Reply> {
        let body = turnbuckle_wire::era::StructuredToolResult::new(&self.0).map_err(|error| {
            ProtocolError::internal(format!("the output has no JSON form: {error}"))
        })?;
        Ok(Reply::Complete(Box::new(body)))
    }
}

impl ToolOutput for String {
    fn into_reply(self) -> Result<Reply> {
        Ok(Reply::Complete(Box::new(TextToolResult(self))))
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

macro_rules! content {
    ($($Content:ty),*) => {$(
        impl ToolOutput for $Content {
            fn into_reply(self) -> Result<Reply> {
                ContentBlock::from(self).into_reply()
            }
        }
    )*};
}

content!(Image, Audio, ResourceLink);

impl ToolOutput for File {
    fn into_reply(self) -> Result<Reply> {
        check_size(&self)?;
        ContentBlock::from(self).into_reply()
    }
}

/// Checks that a result can hold a file.
pub(super) fn check_size(file: &File) -> Result<()> {
    let length = file.bytes().len();
    if length as u64 > File::MAX_BYTES {
        return Err(ProtocolError::internal(format!(
            "the file {:?} has {length} bytes, and a result can hold {} (File::MAX_BYTES): return a \
             `ResourceLink`, and let the client read it in parts",
            shorten(file.name()),
            File::MAX_BYTES
        ))
        .into());
    }
    Ok(())
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
    fn check(&self, schema: &OutputValidator) -> Result<()> {
        match &self.structured_content {
            _ if self.is_error() => Ok(()),
            Some(structured) => schema.check_value(structured),
            None => schema.reject_missing(),
        }
    }

    fn into_reply(self) -> Result<Reply> {
        Ok(Reply::complete(self))
    }
}

impl<T: ToolOutput, E: IntoFailure + Send + 'static> ToolOutput for std::result::Result<T, E> {
    fn output_schema() -> Result<Option<Schema>, BuildError> {
        T::output_schema()
    }

    fn check(&self, schema: &OutputValidator) -> Result<()> {
        match self {
            Ok(output) => output.check(schema),
            Err(_) => Ok(()),
        }
    }

    fn into_reply(self) -> Result<Reply> {
        self.map_err(IntoFailure::into_failure)?.into_reply()
    }
}
