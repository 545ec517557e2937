//! Images and sounds as bytes, for those who send them.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::base64_data::{NotBase64, decode_base64, encode_base64};
use crate::{
    AudioContent, ContentBlock, ImageContent, OneOrMany, SamplingMessageContentBlock as SampleBlock,
};

/// The largest file that `from_path` of [`Image`], [`Audio`] and [`File`](crate::File) reads, in bytes: 8 MiB,
/// which takes 10.7 MiB in Base64.
pub(crate) const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The media types of images, by the extension of a file's name.
pub(crate) const IMAGES: &[(&str, &str)] = &[
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
pub(crate) const SOUNDS: &[(&str, &str)] = &[
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

/// Returns the media type that the extension of a file's name has in a table.
pub(crate) fn find_media_type(path: &Path, types: &[(&str, &'static str)]) -> Option<&'static str> {
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
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, MediaError> {
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

/// An error of [`Image::from_path`], [`Audio::from_path`] or [`File::from_path`](crate::File::from_path).
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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(name: &str, bytes: u64) -> (PathBuf, impl Drop) {
        struct Remove(PathBuf);
        impl Drop for Remove {
            fn drop(&mut self) {
                let _ = fs::remove_dir_all(&self.0);
            }
        }
        let folder =
            std::env::temp_dir().join(format!("turnbuckle-media-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
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
        fs::create_dir(&folder).unwrap();
        for path in [&folder, &folder.join("none.png")] {
            let error = Image::from_path(path).unwrap_err();
            assert!(error.to_string().contains("folder.png"), "{error}");
        }
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
