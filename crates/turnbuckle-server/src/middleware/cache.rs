//! Middleware that keeps results of read-only tools.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tower_layer::Layer;
use turnbuckle_types::base::{debug_fields, setters};
use turnbuckle_types::{CallToolResult, Json, Principal};

use super::Next;
use crate::handler::CallKind;
use crate::request::input::canonical_arguments;
use crate::service::{CallRequest, CallResponse, CallService, LayeredHandler, Middleware};

/// A layer that keeps results of tools that declare `readOnlyHint`, and answers equal calls with
/// them.
///
/// Calls are equal if they are of the same tool, with the same arguments (as JSON values: spaces and
/// the order of members do not matter), by the same principal with the same scopes and claims. Use
/// it around tools whose result depends on nothing else. Errors, error results, and results of calls
/// that asked the client are not kept. Equal calls at the same time all run.
///
/// When the cache is full, the oldest results are dropped.
///
/// ```
/// use std::time::Duration;
///
/// use turnbuckle_server::middleware::Cache;
/// use turnbuckle_server::{Group, Tool};
///
/// let cache = Cache::new().ttl(Duration::from_secs(30));
/// let group = Group::new().layer(cache.clone()).tool(Tool::builder("now").handler(|| "12:00"));
/// // When the data that the tools read has changed:
/// cache.clear();
/// ```
#[derive(Clone)]
#[must_use]
pub struct Cache {
    limits: CacheLimits,
    shared_between_principals: bool,
    results: Arc<Mutex<CachedResults>>,
}

/// The bounds of a cache.
#[derive(Debug, Clone, Copy)]
struct CacheLimits {
    max_entries: usize,
    max_bytes: usize,
    ttl: Duration,
}

impl Cache {
    /// Creates a cache of at most 1,024 results and 16 MiB, each kept for one minute.
    pub fn new() -> Self {
        Self {
            limits: CacheLimits {
                max_entries: 1024,
                max_bytes: 16 << 20,
                ttl: Duration::from_secs(60),
            },
            shared_between_principals: false,
            results: Arc::default(),
        }
    }

    setters! {
        /// Sets how many results are kept at most.
        max_entries(results: usize) { limits.max_entries = results }

        /// Sets how many bytes the kept results and their keys may have in JSON.
        max_bytes(bytes: usize) { limits.max_bytes = bytes }

        /// Sets for how long a result is kept.
        ttl(ttl: Duration) { limits.ttl = ttl }

        /// Answers all principals with the same results: for tools whose results do not depend on the
        /// caller.
        shared_between_principals() { shared_between_principals = true }
    }

    /// Drops all results. Clones of the cache share them.
    pub fn clear(&self) {
        *lock(&self.results) = CachedResults::default();
    }

    /// Returns the key of a call, if its result may be kept.
    fn key(&self, call: &CallRequest) -> Option<Box<[u8]>> {
        let is_retry = call.context().round().is_some();
        if call.kind() != CallKind::Tool || !call.is_read_only() || is_retry {
            return None;
        }
        let mut key = Vec::new();
        // The entry holds the handler, so that no other one has its address.
        let address = Arc::as_ptr(&call.target) as usize;
        key.extend_from_slice(&address.to_ne_bytes());
        if !self.shared_between_principals {
            push_principal(&mut key, call.principal());
        }
        let arguments = canonical_arguments(call.raw_arguments()).ok()?;
        key.extend_from_slice(arguments.as_bytes());
        Some(key.into())
    }
}

fn push_principal(key: &mut Vec<u8>, principal: Option<&Principal>) {
    let Some(principal) = principal else {
        return key.push(0);
    };
    // Each part after its length, so that no two principals have the same bytes.
    let mut push = |part: Option<&str>| {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        key.extend_from_slice(&length.to_ne_bytes());
        key.extend_from_slice(part.unwrap_or_default().as_bytes());
    };
    push(Some(&principal.issuer));
    push(Some(&principal.subject));
    push(principal.client.as_deref());
    push(principal.claims.as_ref().map(|claims| claims.as_str()));
    for scope in &principal.scopes {
        push(Some(scope));
    }
    push(None);
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

// The results may be confidential.
debug_fields!(Cache { limits });

impl Layer<CallService> for Cache {
    type Service = CacheService;

    fn layer(&self, inner: CallService) -> CacheService {
        CacheService {
            cache: self.clone(),
            next: Next::new(inner),
        }
    }
}

/// The service that answers from the cache, or asks the inner one.
#[derive(Debug, Clone)]
pub struct CacheService {
    cache: Cache,
    next: Next,
}

impl Middleware for CacheService {
    async fn respond(self, call: CallRequest) -> CallResponse {
        let Self { cache, next } = self;
        let Some(key) = cache.key(&call) else {
            return next.run(call).await;
        };
        let now = Instant::now();
        let cached = lock(&cache.results).get(&key, now, cache.limits.ttl);
        if let Some(result) = cached {
            return CallResponse::from_result(CallToolResult::clone(&result));
        }
        let handler = call.target.clone();
        let context = call.context().clone();
        let response = next.run(call).await;
        if !response.is_error()
            && !context.has_taken_peer()
            && let Some(result) = response.result::<CallToolResult>()
            && let Ok(json) = Json::encode(&result)
        {
            let entry = CachedResult {
                bytes: key.len() + json.as_str().len(),
                result: Arc::new(result),
                created: now,
                _handler: handler,
            };
            lock(&cache.results).put(key, entry, cache.limits);
        }
        response
    }
}

fn lock(results: &Mutex<CachedResults>) -> MutexGuard<'_, CachedResults> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kept results, by key and in the order of their creation.
#[derive(Default)]
struct CachedResults {
    by_key: HashMap<Arc<[u8]>, CachedResult>,
    oldest_first: VecDeque<Arc<[u8]>>,
    /// The size of all keys and results together.
    bytes: usize,
}

struct CachedResult {
    result: Arc<CallToolResult>,
    bytes: usize,
    created: Instant,
    /// The handler that gave the result, whose address is part of the key.
    _handler: Arc<LayeredHandler>,
}

impl CachedResults {
    /// Drops the results that are too old, and returns that of a key.
    fn get(&mut self, key: &[u8], now: Instant, ttl: Duration) -> Option<Arc<CallToolResult>> {
        while let Some(oldest) = self.oldest_first.front()
            && let Some(entry) = self.by_key.get(oldest)
            && now.saturating_duration_since(entry.created) >= ttl
        {
            self.drop_oldest();
        }
        let entry = self.by_key.get(key)?;
        let age = now.saturating_duration_since(entry.created);
        (age < ttl).then(|| entry.result.clone())
    }

    /// Keeps a result, and drops the oldest ones until all are within the limits.
    fn put(&mut self, key: Box<[u8]>, entry: CachedResult, limits: CacheLimits) {
        if entry.bytes > limits.max_bytes || self.by_key.contains_key(&*key) {
            return;
        }
        let key: Arc<[u8]> = key.into();
        self.bytes += entry.bytes;
        self.oldest_first.push_back(key.clone());
        self.by_key.insert(key, entry);
        while self.bytes > limits.max_bytes || self.by_key.len() > limits.max_entries {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let oldest = self.oldest_first.pop_front();
        let entry = oldest.and_then(|key| self.by_key.remove(&key));
        self.bytes -= entry.map_or(0, |entry| entry.bytes);
    }
}
