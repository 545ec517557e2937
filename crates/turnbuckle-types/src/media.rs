//! Images, sounds and other files as bytes, for those who send them.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::base64_data::{NotBase64, decode_base64, encode_base64};
use crate::{
    AudioContent, BlobResourceContents, ContentBlock, ImageContent, OneOrMany, ResourceContents,
    SamplingMessageContentBlock as SampleBlock, TextResourceContents,
};

/// The largest file that `from_path` of [`Image`], [`Audio`] and [`File`] reads, in bytes: 8 MiB,
/// which takes 10.7 MiB in Base64.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The media types of images, by the extension of a file's name.
const IMAGES: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("ico", "image/vnd.microsoft.icon"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
];

/// The media types of sounds, by the extension of a file's name.
const SOUNDS: &[(&str, &str)] = &[
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("aac", "audio/aac"),
    ("weba", "audio/webm"),
];

/// Writes a type of binary content: its bytes with their media type, and its conversions.
macro_rules! media {
    (
        $(#[$doc:meta])*
        $Medium:ident => $Content:ident as $Variant:ident, $types:ident;
        $( $(#[$maker_doc:meta])* $maker:ident = $mime_type:literal; )*
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $Medium {
            mime_type: String,
            bytes: Vec<u8>,
        }

        impl $Medium {
            /// Creates the content from its media type and bytes.
            #[must_use]
            pub fn new(mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
                Self { mime_type: mime_type.into(), bytes: bytes.into() }
            }

            $(
                $(#[$maker_doc])*
                #[must_use]
                pub fn $maker(bytes: impl Into<Vec<u8>>) -> Self {
                    Self::new($mime_type, bytes)
                }
            )*

            /// Reads a file of at most 8 MiB; the extension of its name gives the media type.
            ///
            /// The thread waits for the file system: in an async handler, read large files with
            /// the runtime's own functions and pass the bytes to [`new`](Self::new).
            ///
            /// # Errors
            /// If the extension names no known media type, or the file is no regular file, too
            /// large or not readable.
            pub fn from_path(path: impl AsRef<Path>) -> Result<Self, MediaError> {
                let (mime_type, bytes) = read_file(path.as_ref(), $types)?;
                Ok(Self::new(mime_type, bytes))
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
        }

        impl From<$Medium> for $Content {
            fn from(medium: $Medium) -> Self {
                Self::from_base64(encode_base64(&medium.bytes), medium.mime_type)
            }
        }

        impl From<$Medium> for ContentBlock {
            fn from(medium: $Medium) -> Self {
                Self::$Variant(medium.into())
            }
        }

        impl From<$Medium> for SampleBlock {
            fn from(medium: $Medium) -> Self {
                Self::$Variant(medium.into())
            }
        }

        impl From<$Medium> for OneOrMany<SampleBlock> {
            fn from(medium: $Medium) -> Self {
                Self::One(medium.into())
            }
        }

        impl $Content {
            /// Decodes the bytes.
            ///
            /// # Errors
            /// If `data` is no Base64, of either alphabet.
            pub fn bytes(&self) -> Result<Vec<u8>, NotBase64> {
                decode_base64(&self.data)
            }
        }

        /// Shows the number of bytes instead of the bytes.
        impl fmt::Debug for $Medium {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Medium))
                    .field("mime_type", &self.mime_type)
                    .field("bytes", &self.bytes.len())
                    .finish()
            }
        }
    };
}

media! {
    /// An image: its bytes and their media type. It is sent as Base64.
    ///
    /// Specification: server/tools, "Image Content" (2026-07-28).
    Image => ImageContent as Image, IMAGES;
    /// Creates a PNG image.
    png = "image/png";
    /// Creates a JPEG image.
    jpeg = "image/jpeg";
}

media! {
    /// A sound: its bytes and their media type. It is sent as Base64; peers of the oldest revision
    /// get an embedded resource.
    ///
    /// Specification: server/tools, "Audio Content" (2026-07-28).
    Audio => AudioContent as Audio, SOUNDS;
    /// Creates a WAV sound.
    wav = "audio/wav";
    /// Creates an MP3 sound.
    mp3 = "audio/mpeg";
}

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
                let contents = BlobResourceContents::new(uri, encode_base64(&bytes));
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

/// Returns the media type that the extension of a file's name has in a table.
fn find_media_type(path: &Path, types: &[(&str, &'static str)]) -> Option<&'static str> {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let known = types
        .iter()
        .find(|(known, _)| extension.eq_ignore_ascii_case(known));
    known.map(|(_, mime_type)| *mime_type)
}

/// Reads a file whose name ends with one of the extensions in `types`.
fn read_file(
    path: &Path,
    types: &[(&str, &'static str)],
) -> Result<(&'static str, Vec<u8>), MediaError> {
    let mime_type = find_media_type(path, types);
    let mime_type = mime_type.ok_or_else(|| MediaFault::UnknownExtension(path.to_owned()))?;
    Ok((mime_type, read_bytes(path)?))
}

/// Reads a file of at most [`MAX_FILE_BYTES`].
fn read_bytes(path: &Path) -> Result<Vec<u8>, MediaError> {
    let read = || {
        // A pipe has no end, and opening one waits for its writer.
        let kind = fs::metadata(path)?;
        if !kind.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        fs::File::open(path)?
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| MediaFault::Unreadable(path.to_owned(), error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(MediaFault::TooLarge(path.to_owned()).into());
    }
    Ok(bytes)
}

/// An error of [`Image::from_path`], [`Audio::from_path`] or [`File::from_path`].
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct MediaError(#[from] MediaFault);

#[derive(Debug, thiserror::Error)]
enum MediaFault {
    #[error(
        "the file {0:?} has no extension of a known media type: give the type and the bytes to `new`"
    )]
    UnknownExtension(PathBuf),
    #[error("the file {0:?} has more than {MAX_FILE_BYTES} bytes, which `from_path` reads at most")]
    TooLarge(PathBuf),
    #[error("the file {0:?} cannot be read: {1}")]
    Unreadable(PathBuf, #[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: u64) -> (PathBuf, impl Drop) {
        struct Remove(PathBuf);
        impl Drop for Remove {
            fn drop(&mut self) {
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
        let folder =
            std::env::temp_dir().join(format!("turnbuckle-media-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::File::create(&path).unwrap().set_len(bytes).unwrap();
        (path, Remove(folder))
    }

    #[test]
    fn the_extension_gives_the_media_type_in_any_case() {
        let (path, _remove) = file("photo.JPG", 3);
        assert_eq!(Image::from_path(&path).unwrap(), Image::jpeg([0; 3]));
        let error = Audio::from_path(&path).unwrap_err().to_string();
        assert!(
            error.contains("photo.JPG") && error.contains("media type"),
            "{error}"
        );
    }

    #[test]
    fn a_file_over_the_bound_is_refused_and_one_at_the_bound_is_read() {
        let (path, _remove) = file("most.wav", MAX_FILE_BYTES);
        assert_eq!(
            Audio::from_path(&path).unwrap().bytes().len() as u64,
            MAX_FILE_BYTES
        );
        let (path, _remove) = file("over.wav", MAX_FILE_BYTES + 1);
        let error = Audio::from_path(&path).unwrap_err().to_string();
        assert!(error.contains("8388608 bytes"), "{error}");
    }

    #[test]
    fn a_folder_and_a_missing_file_are_errors_that_name_the_path() {
        let (path, _remove) = file("a.txt", 1);
        let folder = path.parent().unwrap().join("folder.png");
        std::fs::create_dir(&folder).unwrap();
        for path in [&folder, &folder.join("none.png")] {
            let error = Image::from_path(path).unwrap_err();
            assert!(error.to_string().contains("folder.png"), "{error}");
        }
    }

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
        assert_eq!(format!("{expected:?}").contains("[0"), false);
    }

    #[test]
    fn received_bytes_are_decoded_in_both_alphabets() {
        let content = |data: &str| ImageContent::from_base64(data, "image/png");
        let sent: ImageContent = Image::png([251, 255]).into();
        for content in [sent, content("+/8"), content("-_8="), content("-_8")] {
            assert_eq!(content.bytes().unwrap(), [251, 255], "{}", content.data);
        }
        assert_eq!(content("?").bytes(), Err(NotBase64));
    }
}
