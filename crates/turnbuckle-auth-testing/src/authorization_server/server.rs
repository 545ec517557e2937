//! The state that all connections of the test server share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use url::Url;

use super::answer::Refusal;
use super::error::TestServerError;
use super::events::EventLog;
use super::faults::Faults;
use super::keys::SigningKeys;
use super::settings::Settings;
use super::state::Tables;
use crate::random::random_token;
use turnbuckle_auth::DocumentClient;

/// The longest `scope` and `resource`, in bytes.
const MAX_SCOPE_BYTES: usize = 4_096;
const MAX_RESOURCE_BYTES: usize = 2_048;

/// The shared state of a running server.
pub(super) struct Server {
    pub(super) settings: Settings,
    pub(super) keys: SigningKeys,
    pub(super) faults: Faults,
    pub(super) events: EventLog,
    pub(super) documents: DocumentClient,
    issuer: String,
    port: u16,
    tables: Mutex<Tables>,
    dpop_nonce: Mutex<String>,
}

impl Server {
    /// Creates the state of a server that listens on `port`.
    pub(super) fn new(settings: Settings, port: u16) -> Result<Self, TestServerError> {
        let issuer = format!("http://127.0.0.1:{port}{}", settings.path);
        let documents = DocumentClient::new(&issuer)
            .map_err(|error| TestServerError::new(error.to_string()))?;
        let nonce = random_token()
            .map_err(|_| TestServerError::no_randomness())?
            .expose()
            .to_owned();
        Ok(Self {
            settings,
            keys: SigningKeys::generate().map_err(|_| TestServerError::no_randomness())?,
            faults: Faults::default(),
            events: EventLog::default(),
            documents,
            issuer,
            port,
            tables: Mutex::new(Tables::new()),
            dpop_nonce: Mutex::new(nonce),
        })
    }

    /// Returns the issuer.
    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the URL of a path below the issuer.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }

    /// Returns true if a `Host` header names this server. Others come from rebound DNS names.
    pub(super) fn is_own_host(&self, host: &str) -> bool {
        host.rsplit_once(':').is_some_and(|(name, port)| {
            let is_own_port = port.parse() == Ok(self.port);
            is_own_port && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
        })
    }

    /// Returns the time in seconds since 1970.
    pub(super) fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.unwrap_or_default() + self.faults.clock_advance();
        now.as_secs()
    }

    /// Locks the tables. Never hold the lock across an await.
    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the nonce that DPoP proofs must carry.
    pub(super) fn dpop_nonce(&self) -> String {
        self.dpop_nonce
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Chooses a new DPoP nonce. The former one is refused from now on.
    pub(super) fn replace_dpop_nonce(&self) -> Result<(), getrandom::Error> {
        let nonce = random_token()?.expose().to_owned();
        *self
            .dpop_nonce
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = nonce;
        Ok(())
    }

    /// Fetches a JSON document.
    ///
    /// # Errors
    /// Returns a text for people.
    pub(super) async fn fetch_json(&self, url: &str) -> Result<Value, String> {
        let fetched = self.documents.fetch(url).await;
        fetched
            .map(|document| document.value)
            .map_err(|error| error.to_string())
    }

    /// Checks the scopes that are asked for. Without any, all scopes of the settings are meant.
    ///
    /// # Errors
    /// Refuses with `invalid_scope`.
    pub(super) fn check_scopes(&self, requested: Option<&str>) -> Result<Vec<String>, Refusal> {
        let Some(requested) = requested else {
            return Ok(self.settings.scopes.clone());
        };
        if requested.len() > MAX_SCOPE_BYTES {
            return Err(Refusal::new("invalid_scope", "the scope is too long"));
        }
        let mut scopes: Vec<String> = Vec::new();
        for scope in requested.split(' ').filter(|scope| !scope.is_empty()) {
            let is_well_formed = scope
                .bytes()
                .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
            let is_known = self.settings.scopes.is_empty()
                || self.settings.scopes.iter().any(|known| known == scope)
                || matches!(scope, "openid" | "offline_access");
            if !is_well_formed || !is_known {
                let description = "a scope that was asked for does not exist";
                return Err(Refusal::new("invalid_scope", description));
            }
            if !scopes.iter().any(|found| found == scope) {
                scopes.push(scope.to_owned());
            }
        }
        Ok(scopes)
    }

    /// Checks the `resource` parameter. Returns `None` if there is none and none is required.
    ///
    /// # Errors
    /// Refuses with `invalid_target` (RFC 8707).
    pub(super) fn check_resource(&self, resource: Option<&str>) -> Result<Option<String>, Refusal> {
        let refuse = |description: &str| Err(Refusal::new("invalid_target", description));
        let Some(resource) = resource else {
            if self.settings.is_resource_required {
                return refuse("the parameter resource is missing");
            }
            return Ok(None);
        };
        let is_uri = resource.len() <= MAX_RESOURCE_BYTES
            && Url::parse(resource).is_ok_and(|url| url.fragment().is_none());
        if !is_uri {
            return refuse("the resource is no absolute URI without a fragment, or too long");
        }
        let known = &self.settings.resources;
        if !known.is_empty() && !known.iter().any(|known| known == resource) {
            return refuse("this server issues no tokens for the resource");
        }
        Ok(Some(resource.to_owned()))
    }

    /// Returns the audience of tokens for a resource.
    pub(super) fn audience(&self, resource: Option<&str>) -> String {
        let resource = resource.or_else(|| self.settings.resources.first().map(String::as_str));
        resource.unwrap_or(&self.issuer).to_owned()
    }
}
