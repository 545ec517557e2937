//! Results that may be used again, for as long as their server said.
//!
//! Specification: server/utilities/caching (2026-07-28).

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use turnbuckle_session::Change;
use turnbuckle_types::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, ReadResource,
};
use turnbuckle_types::{CacheScope, Request, meta};
use turnbuckle_wire::era::Project;

use crate::Client;
use crate::listening::concerns;
use crate::live::Live;
use crate::method::ServerMethod;

/// Results that are kept at once.
const MAX_ENTRIES: usize = 256;
/// Their JSON, and that of the parameters that they belong to, in bytes.
const MAX_BYTES: usize = 8 << 20;
/// No result is kept for longer, whatever it says.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl Client {
    /// Says that from now on requests are made on somebody else's behalf: what the server told the
    /// one before, and did not call public, is forgotten.
    ///
    /// Whoever changes the credentials that a connector sends has to call this.
    pub fn authorization_changed(&self) {
        self.shared.cache.forget_private();
    }
}

/// The results of one client that are kept.
#[derive(Default)]
pub(crate) struct Cache {
    off: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Key, Entry>,
    bytes: usize,
    /// Counts the uses of entries: whichever was not used for longest makes room.
    uses: u64,
    /// Counts what made entries invalid: a result that was asked for before is not kept after.
    invalidations: u64,
}

/// What a result answers: the method and its parameters, without what does not affect the result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    method: &'static str,
    params: String,
}

struct Entry {
    result: Arc<dyn Any + Send + Sync>,
    until: Instant,
    size: usize,
    public: bool,
    /// The resource that was read.
    uri: Option<Arc<str>>,
    used: u64,
}

/// Where the result of a request would be kept.
pub(crate) struct Place {
    key: Key,
    uri: Option<Arc<str>>,
    invalidations: u64,
}

impl Cache {
    /// A cache that keeps nothing.
    pub(crate) fn off() -> Self {
        Self {
            off: true,
            ..Self::default()
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the result of a request that is made now would be kept; `None` if it never is.
    pub(crate) fn place<M: ServerMethod>(&self, params: &M::Params) -> Option<Place> {
        if self.off || !M::Result::CACHEABLE {
            return None;
        }
        let uri = match M::METHOD == ReadResource::METHOD {
            true => M::about(params).name.map(Into::into),
            false => None,
        };
        Some(Place {
            key: Key {
                method: M::METHOD,
                params: canonical(params)?,
            },
            uri,
            invalidations: self.state().invalidations,
        })
    }

    /// The result that is kept there, as long as it may be used.
    pub(crate) fn get<M: ServerMethod>(&self, place: &Place) -> Option<M::Result> {
        let mut state = self.state();
        state.uses += 1;
        let used = state.uses;
        let entry = state.entries.get_mut(&place.key)?;
        if entry.until <= Instant::now() {
            state.remove(&place.key);
            return None;
        }
        entry.used = used;
        let result = entry.result.clone();
        drop(state);
        result.downcast_ref::<M::Result>().cloned()
    }

    /// Keeps a result whose JSON was `size` bytes, if its server says that it may be used again.
    pub(crate) fn keep<M: ServerMethod>(
        &self,
        live: &Live,
        place: Place,
        result: &M::Result,
        size: usize,
    ) {
        // Older revisions have no such fields: whatever stands under their names means nothing.
        if !live.speaks.features().result_envelope {
            return;
        }
        let (ttl, scope) = M::lifetime(result);
        let ttl = Duration::from_millis(ttl.unwrap_or(0)).min(LONGEST);
        let size = size + place.key.params.len();
        if size > MAX_BYTES {
            return;
        }
        let now = Instant::now();
        let mut state = self.state();
        state.remove(&place.key);
        if ttl.is_zero() || state.invalidations != place.invalidations {
            return;
        }
        state.make_room(size, now);
        state.uses += 1;
        let entry = Entry {
            result: Arc::new(result.clone()),
            until: now + ttl,
            size,
            public: scope == Some(&CacheScope::Public),
            uri: place.uri,
            used: state.uses,
        };
        state.bytes += size;
        state.entries.insert(place.key, entry);
    }

    /// What changed is asked for anew: a resource with its parts, and with what it is a part of.
    pub(crate) fn changed(&self, change: &Change) {
        self.state().forget(|key, entry| match change {
            Change::Tools => key.method == ListTools::METHOD,
            Change::Prompts => key.method == ListPrompts::METHOD,
            Change::Resources => {
                [ListResources::METHOD, ListResourceTemplates::METHOD].contains(&key.method)
            }
            Change::Resource(changed) => {
                let uri = entry.uri.as_deref();
                uri.is_some_and(|uri| concerns(changed, uri) || concerns(uri, changed))
            }
        });
    }

    /// A cursor turned out to be bad: all pages of its list are asked for anew.
    pub(crate) fn forget_pages(&self, method: &str) {
        self.state()
            .forget(|key, entry| key.method == method && entry.uri.is_none());
    }

    pub(crate) fn forget_everything(&self) {
        self.state().forget(|_, _| true);
    }

    fn forget_private(&self) {
        self.state().forget(|_, entry| !entry.public);
    }
}

impl State {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.size;
        }
    }

    fn forget(&mut self, invalid: impl Fn(&Key, &Entry) -> bool) {
        self.invalidations += 1;
        self.drop_all(invalid);
    }

    fn drop_all(&mut self, unwanted: impl Fn(&Key, &Entry) -> bool) {
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
        self.drop_all(|_, entry| entry.until <= now);
        while !self.has_room(size) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
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

/// What of `_meta` says nothing of a result: whom to tell of progress, what the request is a part of,
/// and who asks, which is the same for all of a client.
const AROUND: [&str; 8] = [
    meta::PROGRESS_TOKEN,
    "traceparent",
    "tracestate",
    "baggage",
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
];

/// Parameters in one spelling, without what says nothing of the result. `None` for those of a
/// retried request: its result depends on more than they tell.
fn canonical<P: serde::Serialize>(params: &P) -> Option<String> {
    let text = serde_json::to_string(params).ok()?;
    let odd = ["\"_meta\"", "\"inputResponses\"", "\"requestState\""];
    if !odd.iter().any(|name| text.contains(name)) {
        return Some(text);
    }
    let mut params: Value = serde_json::from_str(&text).ok()?;
    if let Value::Object(members) = &mut params {
        if let Some(Value::Object(meta)) = members.get_mut("_meta") {
            meta.retain(|key, _| !AROUND.contains(&key.as_str()));
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

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Cache")
            .field("entries", &state.entries.len())
            .field("bytes", &state.bytes)
            .finish_non_exhaustive()
    }
}
