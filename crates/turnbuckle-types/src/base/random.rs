//! The random source of the operating system.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The operating system has no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system has no randomness")]
pub struct RandomnessUnavailable;

/// Fills a buffer with random bytes.
///
/// # Errors
/// When the operating system has no randomness.
pub fn fill(bytes: &mut [u8]) -> Result<(), RandomnessUnavailable> {
    getrandom::fill(bytes).map_err(|_| RandomnessUnavailable)
}

/// Returns random bytes, such as a key.
///
/// # Errors
/// When the operating system has no randomness.
pub fn bytes<const COUNT: usize>() -> Result<[u8; COUNT], RandomnessUnavailable> {
    let mut bytes = [0; COUNT];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns an id that nobody can guess, as of a session: 128 bits in 32 hexadecimal digits.
///
/// # Errors
/// When the operating system has no randomness.
pub fn id() -> Result<String, RandomnessUnavailable> {
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes()?)))
}

/// Returns a secret, as a state or nonce of OAuth: 256 bits in 43 characters of URL-safe Base64.
///
/// # Errors
/// When the operating system has no randomness.
pub fn secret() -> Result<String, RandomnessUnavailable> {
    Ok(URL_SAFE_NO_PAD.encode(bytes::<32>()?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_and_secrets_have_one_form_and_never_repeat() {
        let ids: HashSet<_> = (0..1000).map(|_| id().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        assert!(
            ids.iter()
                .all(|id| id.len() == 32 && id.bytes().all(is_digit))
        );
        let secrets: HashSet<_> = (0..1000).map(|_| secret().unwrap()).collect();
        assert_eq!(secrets.len(), 1000);
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        assert!(
            secrets
                .iter()
                .all(|it| it.len() == 43 && it.bytes().all(is_safe))
        );
        assert_ne!(bytes::<32>(), bytes::<32>());
    }
}
