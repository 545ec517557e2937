//! The state that all connections of the test server share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use turnbuckle_auth::DocumentClient;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};
use url::Url;

use super::answer::{Refusal, ensure};
use super::builder::TestAuthorizationServerBuilder;
use super::client::ClientKeys;
use super::error::TestServerError;
use super::events::EventLog;
use super::faults::Faults;
use super::keys::SigningKeys;
use super::state::Tables;

/// The longest `scope` and `resource`, in bytes.
const MAX_SCOPE_BYTES: usize = 4_096;
const MAX_RESOURCE_BYTES: usize = 2_048;

/// The shared state of a running server.
pub(super) struct Server {
    pub(super) settings: TestAuthorizationServerBuilder,
    pub(super) keys: SigningKeys,
    pub(super) events: EventLog,
    pub(super) documents: DocumentClient,
    issuer: String,
    port: u16,
    tables: Mutex<Tables>,
    faults: Mutex<Faults>,
    dpop_nonce: Mutex<String>,
}

impl Server {
    /// Creates the state of a server that listens on `port`.
    pub(super) fn new(
        settings: TestAuthorizationServerBuilder,
        port: u16,
    ) -> Result<Self, TestServerError> {
        let issuer = format!("http://127.0.0.1:{port}{}", settings.path);
        let documents = DocumentClient::new(&issuer)
            .map_err(|error| TestServerError::new(error.to_string()))?;
        Ok(Self {
            settings,
            keys: SigningKeys::generate()?,
            events: EventLog::default(),
            documents,
            issuer,
            port,
            tables: Mutex::new(Tables::new()),
            faults: Mutex::default(),
            dpop_nonce: Mutex::new(random::secret()?),
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
        let now =
            since.unwrap_or_default() + Duration::from_secs(self.faults().clock_advance_seconds);
        now.as_secs()
    }

    /// Locks the tables. Never hold the lock across an await.
    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    /// Locks the faults. Never hold the lock across an await.
    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    /// Returns the nonce that DPoP proofs must carry.
    pub(super) fn dpop_nonce(&self) -> String {
        lock(&self.dpop_nonce).clone()
    }

    /// Chooses a new DPoP nonce. The former one is refused from now on.
    pub(super) fn replace_dpop_nonce(&self) -> Result<(), RandomnessUnavailable> {
        *lock(&self.dpop_nonce) = random::secret()?;
        Ok(())
    }

    /// Returns the JSON Web Key Set of a client or issuer, which is fetched if it is at a URL.
    ///
    /// # Errors
    /// Returns a text for people.
    pub(super) async fn key_set(&self, keys: &ClientKeys) -> Result<Value, String> {
        match keys {
            ClientKeys::Inline(keys) => Ok(keys.clone()),
            ClientKeys::Url(url) => match self.documents.fetch(url).await {
                Ok(document) => Ok(document.value),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// Checks the scopes that are asked for. Without any, all scopes of the settings are meant.
    ///
    /// # Errors
    /// Refuses with `invalid_scope`.
    pub(super) fn check_scopes(&self, requested: Option<&str>) -> Result<Vec<String>, Refusal> {
        let Some(requested) = requested else {
            return Ok(self.settings.scopes.clone());
        };
        let is_short = requested.len() <= MAX_SCOPE_BYTES;
        ensure(is_short, "invalid_scope", "the scope is too long")?;
        let mut scopes: Vec<String> = Vec::new();
        for scope in requested.split(' ').filter(|scope| !scope.is_empty()) {
            let is_well_formed = scope
                .bytes()
                .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
            let is_known = self.settings.scopes.is_empty()
                || self.settings.scopes.iter().any(|known| known == scope)
                || matches!(scope, "openid" | "offline_access");
            let description = "a scope that was asked for does not exist";
            ensure(is_well_formed && is_known, "invalid_scope", description)?;
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
        let ensure = |is_met, description| ensure(is_met, "invalid_target", description);
        let Some(resource) = resource else {
            let is_optional = !self.settings.require_resource;
            ensure(is_optional, "the parameter resource is missing")?;
            return Ok(None);
        };
        let is_uri = resource.len() <= MAX_RESOURCE_BYTES
            && Url::parse(resource).is_ok_and(|url| url.fragment().is_none());
        let description = "the resource is no absolute URI without a fragment, or too long";
        ensure(is_uri, description)?;
        let known = &self.settings.resources;
        let is_known = known.is_empty() || known.iter().any(|known| known == resource);
        ensure(is_known, "this server issues no tokens for the resource")?;
        Ok(Some(resource.to_owned()))
    }

    /// Returns the audience of tokens for a resource.
    pub(super) fn audience(&self, resource: Option<&str>) -> String {
        let resource = resource.or_else(|| self.settings.resources.first().map(String::as_str));
        resource.unwrap_or(&self.issuer).to_owned()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.issuer).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
