//! Values of the file: times, sizes, modes, and texts that may be secret.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// A text that may be a secret: not shown by `Debug`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Hidden(String);

impl Hidden {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Hidden {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// A time, written like `500ms`, `30s`, `5m` or `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        const MAX_MILLIS: u64 = 365 * 24 * 3_600_000;
        let (number, unit) = split_number(&text);
        let millis_of_unit = match unit {
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            _ => None,
        };
        let millis = number.zip(millis_of_unit);
        millis
            .and_then(|(number, unit): (u64, u64)| number.checked_mul(unit))
            .filter(|millis| (1..=MAX_MILLIS).contains(millis))
            .map(|millis| Self(Duration::from_millis(millis)))
            .ok_or_else(|| format!("{text:.32?} is no time such as \"500ms\", \"30s\" or \"5m\""))
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
        let (text, bytes) = match size {
            SizeText::Bytes(bytes) => (bytes.to_string(), Some(bytes)),
            SizeText::Text(text) => {
                let (number, unit) = split_number(&text);
                let bytes_of_unit = match unit {
                    "" | "B" => Some(1_u64),
                    "KiB" => Some(1 << 10),
                    "MiB" => Some(1 << 20),
                    "GiB" => Some(1 << 30),
                    _ => None,
                };
                let bytes = number.zip(bytes_of_unit);
                let bytes = bytes.and_then(|(number, unit)| number.checked_mul(unit));
                (text, bytes)
            }
        };
        bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or_else(|| format!("{text:.32?} is no size such as \"512 KiB\" or \"4 MiB\""))
    }
}

/// Splits `30s` or `4 MiB` into the number and the unit.
fn split_number(text: &str) -> (Option<u64>, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    (number.parse().ok(), unit.trim_start())
}

/// The connections to an upstream: see the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum Mode {
    /// One connection for all clients.
    #[default]
    Shared,
    /// One connection for each session of a client.
    PerSession,
    /// One connection for each principal.
    PerPrincipal,
    /// So many connections, each for one request at a time.
    Pool(usize),
}

impl TryFrom<String> for Mode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let pool = text.strip_prefix("pool:").map(str::parse);
        match (&*text, pool) {
            ("shared", _) => Ok(Self::Shared),
            ("per-session", _) => Ok(Self::PerSession),
            ("per-principal", _) => Ok(Self::PerPrincipal),
            (_, Some(Ok(size @ 1..=1024))) => Ok(Self::Pool(size)),
            _ => Err(format!(
                "{text:.32?} is none of the modes \"shared\", \"per-session\", \"per-principal\" and \
                 \"pool:8\" (1 to 1024)"
            )),
        }
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
