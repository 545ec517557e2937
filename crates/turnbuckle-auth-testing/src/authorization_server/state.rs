//! The tables of the test server. Each is bounded: the oldest entry goes first.

use std::collections::{HashMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::client::Client;

/// A map that forgets its oldest entry when it is full.
pub(super) struct BoundedMap<V> {
    entries: HashMap<String, V>,
    order: VecDeque<String>,
    max_entries: usize,
}

impl<V> BoundedMap<V> {
    fn new(max_entries: usize) -> Self {
        Self {
            entries: HashMap::new(),
            order: VecDeque::new(),
            max_entries,
        }
    }

    /// Inserts or replaces an entry.
    pub(super) fn insert(&mut self, key: String, value: V) {
        if self.entries.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > self.max_entries {
            if let Some(oldest) = self.order.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.entries.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Removes an entry. Its place in the order is freed when it would have been forgotten.
    pub(super) fn remove(&mut self, key: &str) -> Option<V> {
        self.entries.remove(key)
    }
}

/// Everything that the server remembers.
pub(super) struct Tables {
    /// Clients that registered themselves, by client id.
    pub(super) registered_clients: BoundedMap<Client>,
    /// Client metadata documents, by URL.
    pub(super) metadata_documents: BoundedMap<CachedDocument>,
    /// Authorization requests that wait for the user's consent, by id.
    pub(super) consents: BoundedMap<PendingConsent>,
    /// Authorization codes, by hash.
    pub(super) codes: BoundedMap<CodeRecord>,
    /// Access tokens, by hash.
    pub(super) access_tokens: BoundedMap<AccessTokenRecord>,
    /// Refresh tokens, by hash.
    pub(super) refresh_tokens: BoundedMap<RefreshTokenRecord>,
    /// Families of tokens that were revoked, by id.
    pub(super) revoked_families: BoundedMap<()>,
    /// Identifiers of assertions and proofs that were used.
    pub(super) used_ids: BoundedMap<()>,
}

impl Tables {
    /// Creates empty tables.
    pub(super) fn new() -> Self {
        Self {
            registered_clients: BoundedMap::new(1_000),
            metadata_documents: BoundedMap::new(100),
            consents: BoundedMap::new(1_000),
            codes: BoundedMap::new(2_000),
            access_tokens: BoundedMap::new(10_000),
            refresh_tokens: BoundedMap::new(10_000),
            revoked_families: BoundedMap::new(20_000),
            used_ids: BoundedMap::new(20_000),
        }
    }

    /// Revokes all tokens of a family.
    pub(super) fn revoke_family(&mut self, family: &str) {
        self.revoked_families.insert(family.to_owned(), ());
    }

    /// Marks an identifier as used. Returns false if it was used before.
    pub(super) fn use_id(&mut self, kind: &str, issuer: &str, id: &str) -> bool {
        let key = hash(&format!("{kind}\n{issuer}\n{id}"));
        let is_new = !self.used_ids.contains(&key);
        self.used_ids.insert(key, ());
        is_new
    }
}

/// Returns the SHA-256 of a secret: the key under which a table holds its record.
pub(super) fn hash(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

/// A client metadata document that was fetched.
pub(super) struct CachedDocument {
    pub(super) client: Client,
    pub(super) fetched_at: u64,
}

/// The URI to which the answer of an authorization request goes, and the client's `state`.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) redirect_uri: String,
    pub(super) state: Option<String>,
}

/// An authorization request whose parameters are right.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationRequest {
    pub(super) client_id: String,
    pub(super) client_name: Option<String>,
    pub(super) target: Target,
    pub(super) code_challenge: String,
    pub(super) resource: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) nonce: Option<String>,
    pub(super) dpop_thumbprint: Option<String>,
}

/// An authorization request that waits for the user's consent.
pub(super) struct PendingConsent {
    pub(super) request: AuthorizationRequest,
    pub(super) expires_at: u64,
}

/// An authorization code. It stays in the table after its use, so that a second use is noticed.
pub(super) struct CodeRecord {
    pub(super) request: AuthorizationRequest,
    pub(super) subject: String,
    pub(super) family: String,
    pub(super) expires_at: u64,
    pub(super) is_used: bool,
}

/// A grant: the rights that tokens carry.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) subject: String,
    pub(super) client_id: String,
    pub(super) audience: String,
    pub(super) scopes: Vec<String>,
    /// The thumbprint of the key to which the tokens are bound.
    pub(super) key_thumbprint: Option<String>,
    /// The tokens that are revoked together.
    pub(super) family: String,
}

/// An access token that was issued.
pub(super) struct AccessTokenRecord {
    pub(super) family: String,
    pub(super) client_id: String,
    pub(super) claims: Value,
    pub(super) expires_at: u64,
    pub(super) is_revoked: bool,
}

/// A refresh token that was issued. It stays in the table after its use, so that a second use is
/// noticed.
pub(super) struct RefreshTokenRecord {
    pub(super) grant: Grant,
    pub(super) expires_at: u64,
    pub(super) is_used: bool,
}
