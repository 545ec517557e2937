//! Files as bytes, for those who send them.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use crate::media::{IMAGES, MAX_FILE_BYTES, SOUNDS, find_media_type, read_bytes};
use crate::{
    Audio, BlobResourceContents, ContentBlock, Image, MediaError, ResourceContents,
    TextResourceContents,
};

/// The media types of other files, by the extension of a file's name.
const DOCUMENTS: &[(&str, &str)] = &[
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("wasm", "application/wasm"),
];

/// The media type of bytes of any kind.
const ANY_BYTES: &str = "application/octet-stream";

/// A file: its name, its media type and its bytes.
///
/// As content, an image is an [`Image`], a sound is [`Audio`], and any other file is an embedded
/// resource with a `file:` URI of its name: text, if it is a text file in UTF-8, and otherwise Base64.
///
/// Specification: server/tools, "Embedded Resources" (2026-07-28).
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    name: String,
    mime_type: String,
    bytes: Vec<u8>,
}

impl File {
    /// The most bytes of a file that a tool or a resource can return: 8 MiB, which take 10.7 MiB in
    /// Base64. Many clients refuse longer messages.
    pub const MAX_BYTES: u64 = MAX_FILE_BYTES;

    /// Creates a file from its name, media type and bytes.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            name: name.into(),
            mime_type: mime_type.into(),
            bytes: bytes.into(),
        }
    }

    /// Reads a file of at most [`MAX_BYTES`](Self::MAX_BYTES). Its name is the last part of the path,
    /// whose extension gives the media type: `application/octet-stream` if it is not known.
    ///
    /// The thread waits for the file system: in an async handler, read large files with the runtime's
    /// own functions and pass the bytes to [`new`](Self::new).
    ///
    /// # Errors
    /// If the file is no regular file, too large or not readable.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, MediaError> {
        let path = path.as_ref();
        let known = [IMAGES, SOUNDS, DOCUMENTS];
        let mime_type = known.iter().find_map(|types| find_media_type(path, types));
        let name = path.file_name().map(OsStr::to_string_lossy);
        let bytes = read_bytes(path)?;
        Ok(Self::new(
            name.unwrap_or_default(),
            mime_type.unwrap_or(ANY_BYTES),
            bytes,
        ))
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the media type.
    #[must_use]
    pub fn mime_type(&self) -> &str {
        &self.mime_type
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the file as the contents of the resource with this URI.
    #[must_use]
    pub fn into_contents(self, uri: impl Into<String>) -> ResourceContents {
        let is_text = is_text(&self.mime_type);
        match String::from_utf8(self.bytes) {
            Ok(text) if is_text => {
                let contents = TextResourceContents::new(uri, text);
                ResourceContents::Text(contents.mime_type(self.mime_type))
            }
            bytes => {
                let bytes = bytes.map_or_else(|error| error.into_bytes(), String::into_bytes);
                let contents = BlobResourceContents::from_bytes(uri, bytes);
                ResourceContents::Blob(contents.mime_type(self.mime_type))
            }
        }
    }

    /// Returns the `file:` URI of the name.
    fn uri(&self) -> String {
        let mut uri = String::from("file:///");
        for byte in self.name.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    uri.push(byte.into());
                }
                _ => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri
    }
}

impl From<File> for ContentBlock {
    fn from(file: File) -> Self {
        let (kind, _) = file.mime_type.split_once('/').unwrap_or_default();
        match kind.to_ascii_lowercase().as_str() {
            "image" => Image::new(file.mime_type, file.bytes).into(),
            "audio" => Audio::new(file.mime_type, file.bytes).into(),
            _ => {
                let uri = file.uri();
                Self::resource(file.into_contents(uri))
            }
        }
    }
}

/// Shows the number of bytes instead of the bytes.
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("name", &self.name)
            .field("mime_type", &self.mime_type)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Returns whether files of a media type are text.
fn is_text(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/').unwrap_or_default();
    kind == "text"
        || kind == "application"
            && (matches!(subtype, "json" | "xml" | "yaml" | "toml" | "javascript")
                || subtype.ends_with("+json")
                || subtype.ends_with("+xml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::tests::file;

    #[test]
    fn a_file_is_content_of_the_kind_that_its_media_type_names() {
        let content = |name: &str, mime_type: &str, bytes: &[u8]| {
            let block = ContentBlock::from(File::new(name, mime_type, bytes));
            serde_json::to_value(block).unwrap()
        };
        let image = content("a.png", "image/png", &[251, 255]);
        assert_eq!(
            image,
            serde_json::json!({"type": "image", "data": "+/8=", "mimeType": "image/png"})
        );
        assert_eq!(content("a.wav", "audio/wav", &[0])["type"], "audio");
        let resource = |uri: &str, mime_type: &str, name: &str, value: &str| {
            serde_json::json!({"type": "resource",
                "resource": {"uri": uri, "mimeType": mime_type, name: value}})
        };
        assert_eq!(
            content("a b/ü.csv", "text/csv; charset=utf-8", b"a,b"),
            resource(
                "file:///a%20b%2F%C3%BC.csv",
                "text/csv; charset=utf-8",
                "text",
                "a,b"
            )
        );
        assert_eq!(
            content("a.txt", "text/plain", &[0xff]),
            resource("file:///a.txt", "text/plain", "blob", "/w==")
        );
        assert_eq!(
            content("a.pdf", "application/pdf", b"%PDF"),
            resource("file:///a.pdf", "application/pdf", "blob", "JVBERg==")
        );
    }

    #[test]
    fn a_file_is_read_with_the_name_and_the_media_type_of_its_path() {
        let (path, _remove) = file("report.PDF", 3);
        let expected = File::new("report.PDF", "application/pdf", [0; 3]);
        assert_eq!(File::from_path(&path).unwrap(), expected);
        let (path, _remove) = file("unknown.qqq", 1);
        assert_eq!(File::from_path(&path).unwrap().mime_type(), ANY_BYTES);
        let (path, _remove) = file("over.bin", MAX_FILE_BYTES + 1);
        let error = File::from_path(&path).unwrap_err().to_string();
        assert!(error.contains("8388608 bytes"), "{error}");
        let shown = format!("{expected:?}");
        assert!(!shown.contains("[0"), "{shown}");
    }
}
