//! Results that a tool can return.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;

use turnbuckle_types::{CallToolResult, ContentBlock, Json, ProtocolError, ResourceLink, Schema};
use turnbuckle_wire::era::{Reply, TextToolResult};

use crate::error::BuildError;
use crate::error::failure::{Failure, Result};
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
    note = "text, content (`ContentBlock`, `Image`, `Audio`, several in a `Vec`), a `CallToolResult`, or a `Result` of one with an error that can be displayed",
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

/// An image: its bytes and their media type. It is sent as Base64.
///
/// Specification: server/tools, "Image Content" (2026-07-28).
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    mime_type: String,
    bytes: Vec<u8>,
}

impl Image {
    /// Creates an image with a media type such as `image/webp`.
    pub fn new(mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            mime_type: mime_type.into(),
            bytes: bytes.into(),
        }
    }

    /// Creates a PNG image.
    pub fn png(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("image/png", bytes)
    }

    /// Creates a JPEG image.
    pub fn jpeg(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("image/jpeg", bytes)
    }
}

impl From<Image> for ContentBlock {
    fn from(image: Image) -> Self {
        Self::image(STANDARD.encode(image.bytes), image.mime_type)
    }
}

/// A sound: its bytes and their media type. It is sent as Base64; clients of the oldest revision
/// get an embedded resource.
///
/// Specification: server/tools, "Audio Content" (2026-07-28).
#[derive(Clone, PartialEq, Eq)]
pub struct Audio {
    mime_type: String,
    bytes: Vec<u8>,
}

impl Audio {
    /// Creates a sound with a media type such as `audio/ogg`.
    pub fn new(mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            mime_type: mime_type.into(),
            bytes: bytes.into(),
        }
    }

    /// Creates a WAV sound.
    pub fn wav(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("audio/wav", bytes)
    }

    /// Creates an MP3 sound.
    pub fn mp3(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("audio/mpeg", bytes)
    }
}

impl From<Audio> for ContentBlock {
    fn from(audio: Audio) -> Self {
        Self::audio(STANDARD.encode(audio.bytes), audio.mime_type)
    }
}

/// Debug output with the number of bytes instead of the bytes.
macro_rules! media {
    ($($Medium:ident),*) => {$(
        impl fmt::Debug for $Medium {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Medium))
                    .field("mime_type", &self.mime_type)
                    .field("bytes", &self.bytes.len())
                    .finish()
            }
        }
    )*};
}

media!(Image, Audio);

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
            _ if self.is_error == Some(true) => Ok(()),
            Some(structured) => schema.check_value(structured),
            None => schema.reject_missing(),
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

    fn check(&self, schema: &OutputValidator) -> Result<()> {
        match self {
            Ok(output) => output.check(schema),
            Err(_) => Ok(()),
        }
    }

    fn into_reply(self) -> Result<Reply> {
        self.map_err(Into::into)?.into_reply()
    }
}
