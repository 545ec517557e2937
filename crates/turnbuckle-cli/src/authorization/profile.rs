//! The settings of a login, which later logins at the same server need again.

use serde::{Deserialize, Serialize};
use turnbuckle::auth::AuthError;
use turnbuckle::auth::client::store::{CredentialStore as _, MemoryStore};
use turnbuckle::auth::{OAuth, Secret};

use super::UserStore;
use crate::error::CliError;

/// The longest part of a URL in a key of the store.
const MAX_URL_BYTES: usize = 400;

/// The client that the tool is at a server, and what it asks for there: the options of `auth login`.
#[derive(Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LoginProfile {
    /// The URL of the server.
    server: String,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) dpop: bool,
    pub(crate) redirect_uri: Option<String>,
}

impl LoginProfile {
    /// Loads the profile for the server at `url`, or returns the default one.
    pub(crate) async fn load(store: &UserStore, url: &str) -> Result<Self, CliError> {
        let oauth = OAuth::builder(url, MemoryStore::new())
            .build()
            .map_err(|error| CliError::usage(error.to_string()))?;
        let server = oauth.server_url();
        let stored = store.load(&key(server)).await.map_err(store_error)?;
        let profile = stored.and_then(|text| serde_json::from_str::<Self>(text.expose()).ok());
        let profile = profile.filter(|profile| profile.server == server);
        Ok(profile.unwrap_or_else(|| Self::new(server)))
    }

    fn new(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            ..Self::default()
        }
    }

    /// Stores the profile. A default one is not kept.
    pub(crate) async fn save(&self, store: &UserStore) -> Result<(), CliError> {
        let key = key(&self.server);
        if *self == Self::new(&self.server) {
            return store.remove(&key).await.map_err(store_error);
        }
        let text = serde_json::to_string(self)
            .map_err(|error| CliError::new(format!("the login cannot be stored: {error}")))?;
        store
            .save(&key, &Secret::new(text))
            .await
            .map_err(store_error)
    }

    /// Removes the profile from the store.
    pub(crate) async fn remove(&self, store: &UserStore) -> Result<(), CliError> {
        store.remove(&key(&self.server)).await.map_err(store_error)
    }
}

/// Returns the key of a server's profile. Long URLs can share one: the profile names its server.
fn key(url: &str) -> String {
    let mut end = url.len().min(MAX_URL_BYTES);
    while !url.is_char_boundary(end) {
        end -= 1;
    }
    format!("profile:{}", &url[..end])
}

/// Returns the error of a command that cannot use the credential store.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn store_error(error: AuthError) -> CliError {
    CliError::new(error.to_string())
}
