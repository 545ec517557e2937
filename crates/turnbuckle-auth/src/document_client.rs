//! An HTTP client for JSON documents, for authorization servers.

use serde::de::DeserializeOwned;
use turnbuckle_types::base::debug_fields;
use url::Url;

use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::{Outbound, OutboundSettings};

/// The largest document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

/// An HTTP client for JSON documents whose URLs others name: client metadata, key sets.
///
/// URLs must be `https`, or `http` on this machine. Addresses of private networks are refused unless
/// the owner is in one. Documents have at most 64 KiB and take at most 10 seconds.
#[derive(Clone)]
pub struct DocumentClient(Outbound);

/// A document that a [`DocumentClient`] fetched.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document<T> {
    /// The URL that answered, after redirects.
    pub url: String,
    /// The document.
    pub value: T,
}

impl DocumentClient {
    /// Creates a client for the owner of the URL `owner`, for instance the issuer of the authorization
    /// server that fetches documents. Its address decides which addresses documents may have.
    ///
    /// # Errors
    /// Fails when `owner` is no absolute URL, or without the certificates of the system.
    pub fn new(owner: &str) -> Result<Self, AuthError> {
        let invalid = |error| format!("the URL of the owner is invalid: {error}");
        let owner = Url::parse(owner)
            .map_err(|error| AuthError::new(AuthErrorKind::Settings, invalid(error)))?;
        let settings = OutboundSettings {
            max_body_bytes: MAX_DOCUMENT_BYTES,
            ..OutboundSettings::default()
        };
        Ok(Self(Outbound::new(&owner, settings)?))
    }

    /// Fetches a document. Follows at most three redirects and checks each.
    ///
    /// # Errors
    /// Fails when the URL is refused, without an answer of status 200, and when the answer is not a `T`.
    pub async fn fetch<T: DeserializeOwned>(&self, url: &str) -> Result<Document<T>, AuthError> {
        let response = self.0.get(url).await?;
        let protocol = |message| AuthError::new(AuthErrorKind::Protocol, message);
        if response.status != 200 {
            let message = format!("its server answered with status {}", response.status);
            return Err(protocol(message));
        }
        let value = serde_json::from_slice(&response.body)
            .map_err(|error| protocol(format!("its JSON is invalid: {error}")))?;
        Ok(Document {
            url: response.url.into(),
            value,
        })
    }
}

debug_fields!(DocumentClient {});
