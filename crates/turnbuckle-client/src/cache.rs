//! Results that may be used again for as long as their server said.
//!
//! Specification: server/utilities/caching (2026-07-28).

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::MirroredFields;
use turnbuckle_types::{CacheScope, RawObject, meta};
use turnbuckle_wire::revision::{Method, MirroredParam};

use crate::connection::Connection;
use crate::resource_uri::change_affects;

/// The most cached results.
const MAX_ENTRIES: usize = 256;
/// The most bytes of cached results and their parameters, as JSON.
const MAX_BYTES: usize = 8 << 20;
/// The longest time for which a result is cached, whatever its `ttlMs` says.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// A result that is shared with the cache.
pub(crate) type CachedResult = Arc<dyn Any + Send + Sync>;

/// A request whose result may be cached.
pub(crate) trait CacheableRequest {
    /// Returns the row of the method in the table of methods.
    fn facts(&self) -> Method;

    /// Returns the parameters that HTTP headers mirror.
    fn mirrored_fields(&self) -> MirroredFields<'_>;

    /// Encodes the parameters, in the form of the newest revision.
    fn encode_params(&self) -> Result<RawObject, serde_json::Error>;

    /// Returns the caching hints of the result: `ttlMs` and `cacheScope`.
    fn cache_hints(&self) -> (Option<u64>, Option<&CacheScope>);

    /// Returns a copy of the result, if there is one.
    fn cacheable_result(&self) -> Option<CachedResult>;
}

/// The cached results of one client.
#[derive(Default)]
pub(crate) struct ResultCache {
    disabled: bool,
    state: Mutex<CacheState>,
}

#[derive(Default)]
struct CacheState {
    entries: HashMap<CacheKey, CacheEntry>,
    bytes: usize,
    /// Counts the uses of entries. The entry that was not used for the longest time makes room.
    uses: u64,
    /// Counts invalidations. A result that was requested before one is not cached after it.
    invalidations: u64,
}

/// The method and the parameters of a cached result, without members that do not affect it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CacheKey {
    method: Method,
    params: String,
}

/// A cached result.
struct CacheEntry {
    result: CachedResult,
    expires_at: Instant,
    size: usize,
    is_public: bool,
    /// The URI of the resource, for a result of `resources/read`.
    uri: Option<Arc<str>>,
    last_used: u64,
}

/// The place of a request's result in the cache, for [`ResultCache::get`] and
/// [`ResultCache::insert`].
pub(crate) struct CacheSlot {
    key: CacheKey,
    /// The URI of the resource, for `resources/read`.
    uri: Option<Arc<str>>,
    /// The number of invalidations before the request.
    invalidations: u64,
}

impl ResultCache {
    /// Creates a cache that keeps nothing.
    pub(crate) fn new_disabled() -> Self {
        Self {
            disabled: true,
            ..Self::default()
        }
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cache slot of a request; `None` if results of its method are never cached. Call it
    /// before the request is sent: a result is not inserted if an invalidation came after this call.
    pub(crate) fn slot(&self, request: &dyn CacheableRequest) -> Option<CacheSlot> {
        let method = request.facts();
        if self.disabled || !method.is_cacheable() {
            return None;
        }
        let uri = match method.mirrored_param() == Some(MirroredParam::Uri) {
            true => request.mirrored_fields().name.map(Into::into),
            false => None,
        };
        Some(CacheSlot {
            key: CacheKey {
                method,
                params: canonical_params(request.encode_params().ok()?)?,
            },
            uri,
            invalidations: self.state().invalidations,
        })
    }

    /// Returns the cached result, unless it has expired.
    pub(crate) fn get(&self, slot: &CacheSlot) -> Option<CachedResult> {
        let mut state = self.state();
        state.uses += 1;
        let last_used = state.uses;
        let entry = state.entries.get_mut(&slot.key)?;
        if entry.expires_at <= Instant::now() {
            state.remove(&slot.key);
            return None;
        }
        entry.last_used = last_used;
        Some(entry.result.clone())
    }

    /// Caches a result of `size` bytes of JSON, if its `ttlMs` allows it.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        slot: CacheSlot,
        request: &dyn CacheableRequest,
        size: usize,
    ) {
        // Older revisions do not define `ttlMs` and `cacheScope`.
        if !connection.negotiated_revision.features().result_envelope {
            return;
        }
        let (ttl, scope) = request.cache_hints();
        let ttl = Duration::from_millis(ttl.unwrap_or(0)).min(MAX_TTL);
        let size = size + slot.key.params.len();
        if size > MAX_BYTES {
            return;
        }
        let now = Instant::now();
        let mut state = self.state();
        state.remove(&slot.key);
        if ttl.is_zero() || state.invalidations != slot.invalidations {
            return;
        }
        let Some(result) = request.cacheable_result() else {
            return;
        };
        state.make_room(size, now);
        state.uses += 1;
        let entry = CacheEntry {
            result,
            expires_at: now + ttl,
            size,
            is_public: scope == Some(&CacheScope::Public),
            uri: slot.uri,
            last_used: state.uses,
        };
        state.bytes += size;
        state.entries.insert(slot.key, entry);
    }

    /// Removes the results that a change affects. For a changed resource these are the resource,
    /// its parts, and the resources that it is a part of.
    pub(crate) fn invalidate(&self, change: &Change) {
        let notification = match change {
            Change::Tools => Method::ToolListChanged,
            Change::Prompts => Method::PromptListChanged,
            Change::Resources => Method::ResourceListChanged,
            Change::Resource(changed) => {
                return self.state().invalidate_where(|_, entry| {
                    let uri = entry.uri.as_deref();
                    uri.is_some_and(|uri| {
                        change_affects(changed, uri) || change_affects(uri, changed)
                    })
                });
            }
        };
        self.state()
            .invalidate_where(|key, _| key.method.invalidated_by() == Some(notification));
    }

    /// Removes all pages of a list, after one of its cursors turned out to be invalid.
    pub(crate) fn remove_list(&self, method: Method) {
        self.state()
            .invalidate_where(|key, entry| key.method == method && entry.uri.is_none());
    }

    /// Removes all results.
    pub(crate) fn clear(&self) {
        self.state().invalidate_where(|_, _| true);
    }

    /// Removes all results whose `cacheScope` is not public.
    pub(crate) fn clear_private(&self) {
        self.state().invalidate_where(|_, entry| !entry.is_public);
    }
}

impl CacheState {
    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.size;
        }
    }

    /// Removes entries and counts an invalidation.
    fn invalidate_where(&mut self, invalid: impl Fn(&CacheKey, &CacheEntry) -> bool) {
        self.invalidations += 1;
        self.remove_where(invalid);
    }

    /// Removes the entries for which `unwanted` returns true.
    fn remove_where(&mut self, unwanted: impl Fn(&CacheKey, &CacheEntry) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let keep = !unwanted(key, entry);
            if !keep {
                *bytes -= entry.size;
            }
            keep
        });
    }

    fn make_room(&mut self, size: usize, now: Instant) {
        if self.has_room(size) {
            return;
        }
        self.remove_where(|_, entry| entry.expires_at <= now);
        while !self.has_room(size) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.remove(&oldest);
        }
    }

    fn has_room(&self, size: usize) -> bool {
        self.entries.len() < MAX_ENTRIES && self.bytes + size <= MAX_BYTES
    }
}

/// Members of `_meta` that do not affect a result: the progress token, the trace context, and the
/// client's own description, which is the same in all its requests.
const IGNORED_META_KEYS: [&str; 8] = [
    meta::PROGRESS_TOKEN,
    "traceparent",
    "tracestate",
    "baggage",
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
];

/// Encodes parameters without the members that do not affect the result. Returns `None` for a
/// retried request, whose result depends on earlier rounds too.
fn canonical_params(params: RawObject) -> Option<String> {
    let text = params.as_str().to_owned();
    let special = ["\"_meta\"", "\"inputResponses\"", "\"requestState\""];
    if !special.iter().any(|name| text.contains(name)) {
        return Some(text);
    }
    let mut params: Value = serde_json::from_str(&text).ok()?;
    if let Value::Object(members) = &mut params {
        if let Some(Value::Object(meta)) = members.get_mut("_meta") {
            meta.retain(|key, _| !IGNORED_META_KEYS.contains(&key.as_str()));
            if meta.is_empty() {
                members.remove("_meta");
            }
        }
        if members.contains_key("inputResponses") || members.contains_key("requestState") {
            return None;
        }
    }
    Some(params.to_string())
}

impl fmt::Debug for ResultCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("ResultCache")
            .field("entries", &state.entries.len())
            .field("bytes", &state.bytes)
            .finish_non_exhaustive()
    }
}
