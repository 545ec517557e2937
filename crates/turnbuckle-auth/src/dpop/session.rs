//! A DPoP key together with the nonces that servers gave.

use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderValue, header};
use url::Url;

use super::{DpopKey, DpopKeyError};
use crate::challenge::Challenge;

/// The origins whose nonces are remembered. A client talks to two or three.
const MAX_ORIGINS: usize = 32;
const MAX_NONCE_BYTES: usize = 1024;

/// A client's DPoP key and the last nonce of each origin.
#[derive(Debug)]
pub(crate) struct DpopSession {
    key: DpopKey,
    /// Pairs of an origin and its nonce, the least recently changed first.
    nonces: Mutex<Vec<(String, String)>>,
}

impl DpopSession {
    /// Creates a session without nonces.
    pub(crate) fn new(key: DpopKey) -> Self {
        Self {
            key,
            nonces: Mutex::new(Vec::new()),
        }
    }

    /// Returns the key.
    pub(crate) fn key(&self) -> &DpopKey {
        &self.key
    }

    /// Returns the value of a `DPoP` header for one request, with the last nonce of its origin.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub(crate) fn proof(
        &self,
        method: &str,
        url: &Url,
        access_token: Option<&str>,
        now: u64,
    ) -> Result<HeaderValue, DpopKeyError> {
        let nonce = self.nonce(url);
        let proof = self
            .key
            .proof(method, url, access_token, nonce.as_deref(), now)?;
        HeaderValue::from_str(&proof).map_err(|_| DpopKeyError("the DPoP proof is not a header"))
    }

    /// Remembers the nonce of a response from `url`. Call it for every response.
    ///
    /// Returns whether the response had a nonce. After a challenge for a nonce, the request is sent
    /// again once if so.
    pub(crate) fn store_nonce(&self, url: &Url, headers: &HeaderMap) -> bool {
        let nonce = headers
            .get("dpop-nonce")
            .and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|nonce| is_nonce(nonce)) else {
            return false;
        };
        let origin = url.origin().ascii_serialization();
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.retain(|(known, _)| *known != origin);
        if nonces.len() >= MAX_ORIGINS {
            nonces.remove(0);
        }
        nonces.push((origin, nonce.to_owned()));
        true
    }

    /// Returns whether a resource server's response asks for a proof with a nonce.
    pub(crate) fn is_nonce_challenge(status: u16, headers: &HeaderMap) -> bool {
        let values = headers.get_all(header::WWW_AUTHENTICATE);
        let values = values.iter().filter_map(|value| value.to_str().ok());
        status == 401
            && Challenge::parse_all(values).iter().any(|challenge| {
                challenge.is_scheme("DPoP") && challenge.error() == Some("use_dpop_nonce")
            })
    }

    fn nonce(&self, url: &Url) -> Option<String> {
        let origin = url.origin().ascii_serialization();
        let nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        let found = nonces.iter().find(|(known, _)| *known == origin);
        found.map(|(_, nonce)| nonce.clone())
    }
}

/// Returns whether a nonce has the characters of RFC 9449 section 8.1 and a reasonable length.
fn is_nonce(nonce: &str) -> bool {
    let is_nonce_char = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !nonce.is_empty() && nonce.len() <= MAX_NONCE_BYTES && nonce.bytes().all(is_nonce_char)
}
