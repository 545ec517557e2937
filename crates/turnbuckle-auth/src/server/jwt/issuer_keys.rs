//! The keys of one issuer: fetched when needed, kept for a while, fetched anew when they rotate.
//!
//! Old keys are replaced in the background: no request waits for that.

use std::sync::{Arc, PoisonError, RwLock};

use super::jwk::KeySet;
use super::metadata::find_jwks_url;
use crate::clock::Clock;
use crate::outbound::Outbound;

/// The age after which keys are fetched again.
const FRESH_SECONDS: u64 = 10 * 60;
/// The age up to which keys are used while newer ones are fetched or the issuer cannot be reached.
const MAX_STALE_SECONDS: u64 = 60 * 60;
/// The time between two fetches because no key of the set has signed a token.
const UNKNOWN_KEY_INTERVAL_SECONDS: u64 = 30;
/// The time after a failed fetch in which none is started.
const FAILURE_INTERVAL_SECONDS: u64 = 5;

/// The source of an issuer's keys. Clones share the keys.
#[derive(Clone)]
pub(crate) struct IssuerKeys(Arc<Inner>);

struct Inner {
    issuer: String,
    outbound: Outbound,
    clock: Clock,
    current: RwLock<Option<Arc<FetchedKeys>>>,
    /// Held while keys are fetched, so that at most one fetch runs.
    fetching: tokio::sync::Mutex<FetchState>,
}

/// A key set and the time at which it was fetched, in seconds since 1970.
pub(super) struct FetchedKeys {
    pub(super) set: KeySet,
    fetched_at: u64,
}

struct FetchState {
    /// The configured URL of the keys, or the one from the issuer's metadata.
    jwks_url: Option<String>,
    is_configured: bool,
    unknown_key_at: Option<u64>,
    failed_at: Option<u64>,
}

impl IssuerKeys {
    /// Creates the source of an issuer's keys. Without a URL, the issuer's metadata names it.
    pub(crate) fn new(
        issuer: String,
        jwks_url: Option<String>,
        outbound: Outbound,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Inner {
            issuer,
            outbound,
            clock,
            current: RwLock::new(None),
            fetching: tokio::sync::Mutex::new(FetchState {
                is_configured: jwks_url.is_some(),
                jwks_url,
                unknown_key_at: None,
                failed_at: None,
            }),
        }))
    }

    /// Returns the current keys. Old ones are returned as long as they may be used, and fetched anew
    /// meanwhile.
    ///
    /// # Errors
    /// Returns the reason why they cannot be fetched.
    pub(super) async fn current(&self) -> Result<Arc<FetchedKeys>, String> {
        let now = self.0.clock.now();
        match self.0.current() {
            Some(known) if known.is_fresh(now) => Ok(known),
            Some(known) if known.age(now) < MAX_STALE_SECONDS => {
                self.fetch_in_background(&known, now);
                Ok(known)
            }
            known => spawn(self.clone().fetch_unless_newer(known)).await,
        }
    }

    /// Begins to fetch newer keys than `known`, unless that is under way or failed a moment ago.
    fn fetch_in_background(&self, known: &Arc<FetchedKeys>, now: u64) {
        let state = self.0.fetching.try_lock();
        if state.is_ok_and(|state| self.0.check_failure(&state, now).is_ok()) {
            // A failure is logged, and tried again.
            drop(tokio::spawn(
                self.clone().fetch_unless_newer(Some(Arc::clone(known))),
            ));
        }
    }

    /// Returns newer keys than `known`, because none of these has signed a token. Returns `known` when
    /// keys were fetched for such a reason lately.
    ///
    /// # Errors
    /// Returns the reason why they cannot be fetched.
    pub(super) async fn newer_than(
        &self,
        known: &Arc<FetchedKeys>,
    ) -> Result<Arc<FetchedKeys>, String> {
        let keys = self.clone();
        let known = Arc::clone(known);
        spawn(async move {
            let mut state = keys.0.fetching.lock().await;
            if let Some(current) = keys.0.current().filter(|it| !Arc::ptr_eq(it, &known)) {
                return Ok(current);
            }
            let now = keys.0.clock.now();
            if is_within(state.unknown_key_at, UNKNOWN_KEY_INTERVAL_SECONDS, now) {
                return Ok(known);
            }
            keys.0.check_failure(&state, now)?;
            let fetched = keys.0.fetch(&mut state).await?;
            state.unknown_key_at = Some(now);
            Ok(fetched)
        })
        .await
    }

    /// Fetches keys unless others than `known` have arrived meanwhile.
    async fn fetch_unless_newer(
        self,
        known: Option<Arc<FetchedKeys>>,
    ) -> Result<Arc<FetchedKeys>, String> {
        let mut state = self.0.fetching.lock().await;
        if let Some(current) = self.0.current()
            && known.is_none_or(|known| !Arc::ptr_eq(&known, &current))
        {
            return Ok(current);
        }
        self.0.check_failure(&state, self.0.clock.now())?;
        self.0.fetch(&mut state).await
    }
}

impl Inner {
    fn current(&self) -> Option<Arc<FetchedKeys>> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check_failure(&self, state: &FetchState, now: u64) -> Result<(), String> {
        if is_within(state.failed_at, FAILURE_INTERVAL_SECONDS, now) {
            return Err("fetching the keys failed a moment ago".to_owned());
        }
        Ok(())
    }

    async fn fetch(&self, state: &mut FetchState) -> Result<Arc<FetchedKeys>, String> {
        match self.fetch_set(state).await {
            Ok(set) => {
                tracing::debug!(
                    issuer = self.issuer,
                    keys = set.len(),
                    "fetched the issuer's keys"
                );
                state.failed_at = None;
                let fetched_at = self.clock.now();
                let fetched = Arc::new(FetchedKeys { set, fetched_at });
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                *current = Some(Arc::clone(&fetched));
                Ok(fetched)
            }
            Err(reason) => {
                tracing::warn!(
                    issuer = self.issuer,
                    reason,
                    "cannot fetch the issuer's keys"
                );
                state.failed_at = Some(self.clock.now());
                // The keys may have moved.
                if !state.is_configured {
                    state.jwks_url = None;
                }
                Err(reason)
            }
        }
    }

    async fn fetch_set(&self, state: &mut FetchState) -> Result<KeySet, String> {
        let url = match &state.jwks_url {
            Some(url) => url.clone(),
            None => find_jwks_url(&self.outbound, &self.issuer).await?,
        };
        let response = self.outbound.get(&url).await;
        let response = response.map_err(|error| format!("the keys: {error}"))?;
        if response.status != 200 {
            return Err(format!("the keys: status {}", response.status));
        }
        let set = KeySet::parse(&response.body)
            .map_err(|error| format!("the keys are malformed: {error}"))?;
        state.jwks_url = Some(url);
        Ok(set)
    }
}

impl FetchedKeys {
    pub(super) fn is_fresh(&self, now: u64) -> bool {
        self.age(now) < FRESH_SECONDS
    }

    fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.fetched_at)
    }
}

fn is_within(time: Option<u64>, interval: u64, now: u64) -> bool {
    time.is_some_and(|time| now < time.saturating_add(interval))
}

/// Runs a fetch to its end even if the request that waits for it is cancelled.
async fn spawn<T: Send + 'static>(
    fetch: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Result<T, String> {
    let result = tokio::spawn(fetch).await;
    result.unwrap_or_else(|_| Err("the runtime shuts down".to_owned()))
}
