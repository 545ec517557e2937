//! A request to the token endpoint, as each grant reads it.

use super::answer::Refusal;
use super::client::Client;
use super::parameters::Parameters;

/// A token request whose client is known.
pub(super) struct TokenRequest<'a> {
    pub(super) parameters: &'a Parameters,
    /// The client. Only `jwt-bearer` goes without one.
    pub(super) client: Option<Client>,
    /// The thumbprint of the key that the DPoP proof was made with.
    pub(super) key_thumbprint: Option<String>,
}

impl TokenRequest<'_> {
    /// Returns the client.
    ///
    /// # Errors
    /// Refuses with `invalid_client` when the request names none.
    pub(super) fn client(&self) -> Result<&Client, Refusal> {
        let missing = || Refusal::invalid_client("the request names no client");
        self.client.as_ref().ok_or_else(missing)
    }
}
