//! Values of the file: times, sizes, parts of a principal.

use std::time::Duration;

use serde::Deserialize;
use turnbuckle_types::base::units::{parse_size, parse_time};

/// A time, written like `500ms`, `30s`, `5m` or `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = parse_time(&text).map_err(|reason| format!("{text:.32?}: {reason}"))?;
        Ok(Self(time))
    }
}

/// A number of bytes, written like `512 KiB`, `4 MiB` or `4096`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "SizeText")]
pub struct Size(pub usize);

/// The forms of a size in the file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a size such as \"4 MiB\"")]
enum SizeText {
    Bytes(u64),
    Text(String),
}

impl TryFrom<SizeText> for Size {
    type Error = String;

    fn try_from(size: SizeText) -> Result<Self, String> {
        let text = match size {
            SizeText::Bytes(bytes) => bytes.to_string(),
            SizeText::Text(text) => text,
        };
        let bytes = parse_size(&text).map_err(|reason| format!("{text:.32?}: {reason}"))?;
        Ok(Self(bytes))
    }
}

/// A part of a principal that a header tells an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PrincipalPart {
    /// The subject of the token.
    Subject,
    /// The issuer of the token.
    Issuer,
    /// The client that the token was issued to.
    Client,
}
