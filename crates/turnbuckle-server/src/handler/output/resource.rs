//! Contents that a resource's handler can return.

use turnbuckle_types::{
    BlobResourceContents, File, ReadResourceResult, ResourceContents, TextResourceContents,
};

use crate::error::failure::Result;
use crate::error::into_failure::IntoFailure;
use crate::handler::output::tool::check_size;

/// A type that the handler of a resource can return.
///
/// Specification: server/resources, "Resource Contents" (2026-07-28).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the contents of a resource",
    note = "text, bytes in a `Vec<u8>`, a `File`, `Vec<ResourceContents>`, a `ReadResourceResult`, or a `Result` of one with an error that implements `IntoFailure`"
)]
pub trait ResourceOutput: Send + 'static {
    /// Converts into the result; contents without a media type get `mime_type`.
    ///
    /// # Errors
    /// When the output is a failure.
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult>;
}

impl ResourceOutput for ReadResourceResult {
    fn into_result(self, _: &str, _: Option<&str>) -> Result<ReadResourceResult> {
        Ok(self)
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_result(mut self, _: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        for contents in &mut self {
            let declared_type = match contents {
                ResourceContents::Text(text) => &mut text.mime_type,
                ResourceContents::Blob(blob) => &mut blob.mime_type,
                _ => continue,
            };
            if declared_type.is_none() {
                *declared_type = mime_type.map(Into::into);
            }
        }
        Ok(ReadResourceResult::new(self))
    }
}

impl ResourceOutput for String {
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        let mut text = TextResourceContents::new(uri, self);
        text.mime_type = mime_type.map(Into::into);
        Ok(ReadResourceResult::new([ResourceContents::Text(text)]))
    }
}

impl ResourceOutput for &'static str {
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        self.to_owned().into_result(uri, mime_type)
    }
}

/// Sends bytes as Base64.
impl ResourceOutput for Vec<u8> {
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        let mut blob = BlobResourceContents::from_bytes(uri, self);
        blob.mime_type = mime_type.map(Into::into);
        Ok(ReadResourceResult::new([ResourceContents::Blob(blob)]))
    }
}

/// Sends text files as text and others as Base64, with the media type of the file.
impl ResourceOutput for File {
    fn into_result(self, uri: &str, _: Option<&str>) -> Result<ReadResourceResult> {
        check_size(&self)?;
        Ok(ReadResourceResult::new([self.into_contents(uri)]))
    }
}

impl<T: ResourceOutput, E: IntoFailure + Send + 'static> ResourceOutput
    for std::result::Result<T, E>
{
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        self.map_err(IntoFailure::into_failure)?
            .into_result(uri, mime_type)
    }
}
