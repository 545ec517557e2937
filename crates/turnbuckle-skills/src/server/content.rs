//! Contents of files, as they are served.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_server::Result;
use turnbuckle_types::{BlobResourceContents, ResourceContents, TextResourceContents};

use crate::digest::Digest;

/// The most bytes of a file that a function generates.
const MAX_GENERATED_BYTES: usize = 16 << 20;

/// The future of a generated file.
type Generated = Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send>>;

/// The contents of a file.
#[derive(Clone)]
pub(super) enum Content {
    /// Bytes that were read once; what is served is what was digested.
    Stored(Arc<Stored>),
    /// Bytes that a function makes for each request, behind bytes that do not change.
    Generated {
        start: Arc<str>,
        generate: Arc<dyn Fn() -> Generated + Send + Sync>,
    },
}

/// Bytes with their digest.
pub(super) struct Stored {
    bytes: Vec<u8>,
    digest: Digest,
    is_text: bool,
}

impl Stored {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self {
            digest: Digest::compute(&bytes),
            is_text: std::str::from_utf8(&bytes).is_ok(),
            bytes,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {}", self.bytes.len(), self.digest)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(stored) => stored.fmt(f),
            Self::Generated { .. } => f.write_str("generated"),
        }
    }
}

impl Content {
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self::Stored(Arc::new(Stored::new(bytes)))
    }

    /// Returns whether two contents are known to be the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stored(left), Self::Stored(right)) => {
                Arc::ptr_eq(left, right) || left.digest == right.digest
            }
            (
                Self::Generated { generate: left, .. },
                Self::Generated {
                    generate: right, ..
                },
            ) => Arc::ptr_eq(left, right),
            _ => false,
        }
    }

    /// Returns the bytes, digest and size, unless the content is generated.
    pub(super) fn as_stored(&self) -> Option<&Stored> {
        match self {
            Self::Stored(stored) => Some(stored),
            Self::Generated { .. } => None,
        }
    }

    /// Returns the contents of a resource: text if the bytes are UTF-8, or else Base64.
    pub(super) async fn read(
        self,
        uri: String,
        mime_type: &'static str,
    ) -> Result<Vec<ResourceContents>> {
        let contents = |bytes: &[u8], is_text: bool| match std::str::from_utf8(bytes) {
            Ok(text) if is_text => TextResourceContents::new(uri, text)
                .mime_type(mime_type)
                .into(),
            _ => BlobResourceContents::from_bytes(uri, bytes)
                .mime_type(mime_type)
                .into(),
        };
        match self {
            Self::Stored(stored) => Ok(vec![contents(&stored.bytes, stored.is_text)]),
            Self::Generated { start, generate } => {
                let mut bytes = start.as_bytes().to_vec();
                bytes.append(&mut generate().await?);
                if bytes.len() > MAX_GENERATED_BYTES {
                    return Err("a generated file is longer than 16 MiB".into());
                }
                Ok(vec![contents(&bytes, true)])
            }
        }
    }
}

/// Returns the media type that the ending of a file's name stands for.
pub(super) fn media_type(path: &str, content: &Content) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" | "log" => "text/plain",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "js" | "mjs" | "cjs" => "text/javascript",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "xml" | "xsd" => "application/xml",
        "sql" => "application/sql",
        "sh" => "application/x-sh",
        "py" => "text/x-python",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "wasm" => "application/wasm",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "ttf" => "font/ttf",
        "woff2" => "font/woff2",
        _ => match content {
            Content::Stored(stored) if !stored.is_text => "application/octet-stream",
            _ => "text/plain",
        },
    }
}
