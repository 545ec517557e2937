//! The names of keys and channels in Redis. A part in braces decides the slot of a key, so that the keys of
//! one script have one slot.

use turnbuckle_store::{StoreError, StoreErrorKind, StoreKey};

/// The most bytes of a prefix.
const MAX_PREFIX_BYTES: usize = 64;

/// The names of the keys of a store.
#[derive(Debug)]
pub(crate) struct Keys {
    prefix: String,
    /// The beginning of the names of channels, which all databases of a Redis share.
    channels: String,
}

impl Keys {
    /// Checks the prefix.
    pub(crate) fn new(prefix: String, database: i64) -> Result<Self, StoreError> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if !(1..=MAX_PREFIX_BYTES).contains(&prefix.len()) || !prefix.bytes().all(is_valid) {
            let text = format!(
                "the prefix {prefix:?} of a store in Redis is no name: set 1 to {MAX_PREFIX_BYTES} ASCII \
                 letters, digits and -, _, ., : (RedisStoreOptions::prefix)"
            );
            return Err(StoreError::new(StoreErrorKind::Misconfigured, text));
        }
        let channels = format!("{prefix}:{database}:t:");
        Ok(Self { prefix, channels })
    }

    /// Returns the key of the version of the format.
    pub(crate) fn format(&self) -> String {
        format!("{}:format", self.prefix)
    }

    pub(crate) fn value(&self, key: &StoreKey) -> String {
        format!("{}:v:{{{key}}}", self.prefix)
    }

    pub(crate) fn log(&self, key: &StoreKey) -> String {
        format!("{}:l:{{{key}}}", self.prefix)
    }

    /// Returns the key of the sorted set of a queue.
    pub(crate) fn queue(&self, key: &StoreKey) -> String {
        format!("{}:q:{{{key}}}", self.prefix)
    }

    /// Returns the beginning of the keys of the jobs of a queue, which ids follow.
    pub(crate) fn jobs(&self, key: &StoreKey) -> String {
        format!("{}:j:{{{key}}}:", self.prefix)
    }

    pub(crate) fn channel(&self, topic: &StoreKey) -> String {
        format!("{}{topic}", self.channels)
    }

    /// Returns the topic of a channel.
    pub(crate) fn topic(&self, channel: &[u8]) -> Option<StoreKey> {
        let name = std::str::from_utf8(channel).ok()?;
        StoreKey::new(name.strip_prefix(&self.channels)?).ok()
    }
}
