//! What a tool may return.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;

use turnbuckle_types::{CallToolResult, ContentBlock, Error, Json, ResourceLink, Schema};
use turnbuckle_wire::era::{Plain, Reply};

use crate::error::BuildError;
use crate::failure::{Failure, Result};
use crate::schema::{Held, output_schema_of};

/// A tool's output schema: what its structured output is held against.
///
/// Specification: server/tools, "Output Schema" (2026-07-28).
#[derive(Debug)]
pub struct OutputCheck(pub(crate) Held);

impl OutputCheck {
    /// Checks structured output, where its type does not vouch for it.
    ///
    /// # Errors
    /// When it does not conform to the schema: the server's own fault, an internal error.
    pub fn value<T: Serialize + ?Sized>(&self, output: &T) -> Result<()> {
        if !self.0.constrains()? {
            return Ok(());
        }
        let value = Json::of(output)
            .map_err(|error| Error::internal(format!("the output has no JSON form: {error}")))?;
        self.0.check((&value).into())?.map_err(|violations| {
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
///
/// Specification: server/tools, "Tool Result" (2026-07-28).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a tool can return",
    note = "text, content (`ContentBlock`, `Image`, `Audio`, several in a `Vec`), a `CallToolResult`, or a `Result` of one with an error that can be displayed",
    note = "other data that derives `serde::Serialize` and `schemars::JsonSchema` is wrapped: `Structured(data)`"
)]
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
        let body = turnbuckle_wire::era::Structured::new(&self.0)
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

/// A picture: its bytes, and what they are. It is sent as Base64.
///
/// Specification: server/tools, "Image Content" (2026-07-28).
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    mime_type: String,
    bytes: Vec<u8>,
}

impl Image {
    /// A picture of that media type, such as `image/webp`.
    pub fn new(mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            mime_type: mime_type.into(),
            bytes: bytes.into(),
        }
    }

    /// A PNG.
    pub fn png(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("image/png", bytes)
    }

    /// A JPEG.
    pub fn jpeg(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("image/jpeg", bytes)
    }
}

impl From<Image> for ContentBlock {
    fn from(image: Image) -> Self {
        Self::image(STANDARD.encode(image.bytes), image.mime_type)
    }
}

/// A sound: its bytes, and what they are. It is sent as Base64; clients of the oldest revision get
/// it as an embedded resource.
///
/// Specification: server/tools, "Audio Content" (2026-07-28).
#[derive(Clone, PartialEq, Eq)]
pub struct Audio {
    mime_type: String,
    bytes: Vec<u8>,
}

impl Audio {
    /// A sound of that media type, such as `audio/ogg`.
    pub fn new(mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            mime_type: mime_type.into(),
            bytes: bytes.into(),
        }
    }

    /// A WAV file.
    pub fn wav(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("audio/wav", bytes)
    }

    /// An MP3 file.
    pub fn mp3(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new("audio/mpeg", bytes)
    }
}

impl From<Audio> for ContentBlock {
    fn from(audio: Audio) -> Self {
        Self::audio(STANDARD.encode(audio.bytes), audio.mime_type)
    }
}

/// Bytes are told by their number.
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
