//! Random texts: codes, tokens, nonces.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use turnbuckle_auth::Secret;

/// Returns a random text of 32 bytes in URL-safe Base64.
///
/// # Errors
/// Fails when the operating system has no randomness.
pub(crate) fn random_token() -> Result<Secret, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}
