//! The `_meta` object.

use serde::{Deserialize, Serialize};

use crate::meta_key::check_key;
pub use crate::meta_key::{MetaKeyError, check_extension_id};
use crate::{
    ClientCapabilities, Implementation, Json, LoggingLevel, Map, ProgressToken, RelatedTask,
    RequestId,
};

/// `_meta` key: the token for progress notifications about this request.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// `_meta` key: the revision that a request speaks.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta` key: the client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta` key: what the client can do, for this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta` key: the lowest level of log message wanted for this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// `_meta` key: the server's name and version.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// `_meta` key: the subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// `_meta` key: the task of 2025-11-25 that a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Metadata beside a message or a piece of data: an ordered map of raw JSON.
///
/// Received members are kept without a check. Members added with [`Meta::set`] are checked. A key
/// that the specification reserves has a getter of its own, and a setter where a program writes it.
/// An empty map is not written.
///
/// Specification: basic/index, `_meta` (2026-07-28).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(Map<Json>);

macro_rules! reserved_keys {
    ($( $(#[$doc:meta])* $get:ident $(, $set:ident)?: $ty:ty = $key:ident; )+) => { $(
        $(#[$doc])*
        ///
        /// `None` if the key is absent or its value is something else.
        #[must_use]
        pub fn $get(&self) -> Option<$ty> {
            self.get($key)
        }

        $(
            #[doc = concat!("Sets what [`Meta::", stringify!($get), "`] reads.")]
            pub fn $set(&mut self, value: impl Into<$ty>) {
                // These types always serialise: they hold strings, numbers and raw JSON.
                if let Ok(json) = Json::encode(&value.into()) {
                    self.0.insert($key, json);
                }
            }
        )?
    )+ };
}

impl Meta {
    /// Creates an empty map, without an allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self(Map::new())
    }

    /// Returns whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the raw value under `key`.
    #[must_use]
    pub fn get_raw(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// Returns the value under `key` as a type; `None` if the key is absent or its value is something else.
    #[must_use]
    pub fn get<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        self.0.get(key)?.decode().ok()
    }

    /// Sets a key of the author's own.
    ///
    /// # Errors
    /// If the key breaks the grammar or is reserved for the protocol, or the value cannot be
    /// serialised.
    pub fn set<T: Serialize + ?Sized>(
        &mut self,
        key: impl Into<Box<str>>,
        value: &T,
    ) -> Result<&mut Self, MetaKeyError> {
        let key = key.into();
        check_key(&key)?;
        let value = Json::encode(value).map_err(|_| MetaKeyError::Value)?;
        self.0.insert(key, value);
        Ok(self)
    }

    /// Sets a key without a check: for relaying what arrived, and for extensions under a reserved
    /// prefix, whose keys the specification assigns.
    pub fn insert_unchecked(&mut self, key: impl Into<Box<str>>, value: Json) {
        self.0.insert(key, value);
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.0.remove(key)
    }

    /// Returns the keys and their raw values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Json)> + ExactSizeIterator {
        self.0.iter()
    }

    reserved_keys! {
        /// The token for progress notifications about this request.
        progress_token: ProgressToken = PROGRESS_TOKEN;
        /// The revision that the request speaks.
        protocol_version: String = PROTOCOL_VERSION;
        /// The client's name and version, as it says.
        client_info: Implementation = CLIENT_INFO;
        /// The capabilities of the client, for this request.
        client_capabilities: ClientCapabilities = CLIENT_CAPABILITIES;
        /// The lowest level of log message wanted for this request.
        log_level: LoggingLevel = LOG_LEVEL;
        /// The server's name and version, as it says.
        server_info, set_server_info: Implementation = SERVER_INFO;
        /// The subscription that a notification or the end of a stream belongs to.
        subscription_id, set_subscription_id: RequestId = SUBSCRIPTION_ID;
        /// The task of 2025-11-25 that the message belongs to.
        related_task, set_related_task: RelatedTask = RELATED_TASK;
    }
}

impl From<Map<Json>> for Meta {
    fn from(map: Map<Json>) -> Self {
        Self(map)
    }
}

impl From<Meta> for Map<Json> {
    fn from(meta: Meta) -> Self {
        meta.0
    }
}
