//! Static tokens and API keys for small set-ups.

use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};
use turnbuckle_types::Principal;

/// The issuer of the principals of static tokens.
const STATIC_ISSUER: &str = "urn:turnbuckle:static";
/// Tokens are hashed without salt, so they must be too random to be guessed.
const MIN_TOKEN_BYTES: usize = 16;

/// The static tokens of a server. Only their SHA-256 is kept.
#[derive(Debug, Default)]
pub(crate) struct StaticTokens {
    entries: Vec<StaticToken>,
}

struct StaticToken {
    hash: [u8; 32],
    principal: Principal,
}

/// Shows the name alone.
impl std::fmt::Debug for StaticToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StaticToken({:?})", self.principal.subject)
    }
}

/// The reason why a static token cannot be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StaticTokenError {
    #[error("it has less than 16 characters")]
    TooShort,
    #[error("after `sha256:` come 64 hexadecimal digits")]
    InvalidHash,
    #[error("another token has this name")]
    DuplicateName,
    #[error("it is the same as another token")]
    DuplicateToken,
}

impl StaticTokens {
    /// Adds a token, given as it is or as `sha256:` and its hash in hexadecimal.
    pub(crate) fn add(
        &mut self,
        name: &str,
        token: &str,
        scopes: Vec<String>,
    ) -> Result<(), StaticTokenError> {
        let hash = match token.strip_prefix("sha256:") {
            Some(hex) => decode_hex(hex.trim()).ok_or(StaticTokenError::InvalidHash)?,
            None if token.len() < MIN_TOKEN_BYTES => return Err(StaticTokenError::TooShort),
            None => Sha256::digest(token).into(),
        };
        if self
            .entries
            .iter()
            .any(|entry| entry.principal.subject == name)
        {
            return Err(StaticTokenError::DuplicateName);
        }
        if self.entries.iter().any(|entry| entry.hash == hash) {
            return Err(StaticTokenError::DuplicateToken);
        }
        let principal = Principal::new(STATIC_ISSUER, name).scopes(scopes);
        self.entries.push(StaticToken { hash, principal });
        Ok(())
    }

    /// Returns the principals in the order in which their tokens were added.
    pub(crate) fn principals(&self) -> impl Iterator<Item = &Principal> {
        self.entries.iter().map(|entry| &entry.principal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the index of a token. The duration does not depend on which entry matches.
    pub(crate) fn find(&self, token: &str) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let hash: [u8; 32] = Sha256::digest(token).into();
        // One more than the index; 0 means none.
        let mut found = 0_u64;
        for (index, entry) in (1_u64..).zip(&self.entries) {
            found.conditional_assign(&index, entry.hash.ct_eq(&hash));
        }
        usize::try_from(found).ok()?.checked_sub(1)
    }
}

fn decode_hex(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    // `from_str_radix` takes a sign.
    (!hex.contains('+')).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-token-of-good-length-0123456789";

    #[test]
    fn a_token_is_found_by_itself_or_its_hash() {
        let mut tokens = StaticTokens::default();
        tokens.add("ci", TOKEN, vec!["x".into()]).unwrap();
        let hex: String = Sha256::digest("another-token-of-good-length")
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        tokens
            .add("cron", &format!("sha256:{hex}"), Vec::new())
            .unwrap();
        assert_eq!(tokens.find(TOKEN), Some(0));
        assert_eq!(tokens.find("another-token-of-good-length"), Some(1));
        // The hash itself is not a token.
        assert_eq!(tokens.find(&hex), None);
        assert_eq!(tokens.find(&format!("sha256:{hex}")), None);
        assert_eq!(tokens.find(""), None);
        assert!(!format!("{tokens:?}").contains(TOKEN));
    }

    #[test]
    fn weak_and_duplicate_tokens_are_refused() {
        let mut tokens = StaticTokens::default();
        assert_eq!(
            tokens.add("a", "short", vec![]),
            Err(StaticTokenError::TooShort)
        );
        let plus = format!("sha256:{}", "+1".repeat(32));
        for hash in [
            "sha256:",
            "sha256:00",
            plus.as_str(),
            &format!("sha256:{}", "é".repeat(32)),
        ] {
            assert_eq!(
                tokens.add("a", hash, vec![]),
                Err(StaticTokenError::InvalidHash),
                "{hash}"
            );
        }
        tokens.add("a", TOKEN, vec![]).unwrap();
        assert_eq!(
            tokens.add("a", &TOKEN.repeat(2), vec![]),
            Err(StaticTokenError::DuplicateName)
        );
        assert_eq!(
            tokens.add("b", TOKEN, vec![]),
            Err(StaticTokenError::DuplicateToken)
        );
    }
}
