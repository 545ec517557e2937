//! Bytes that messages carry as Base64.

use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

/// Binary content that is no Base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the content is no Base64")]
pub struct NotBase64;

/// Encodes bytes as Base64.
pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes Base64 of either alphabet, with or without padding.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, NotBase64> {
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = match text.contains(['-', '_']) {
        true => alphabet::URL_SAFE,
        false => alphabet::STANDARD,
    };
    GeneralPurpose::new(&alphabet, lenient)
        .decode(text)
        .map_err(|_| NotBase64)
}
