//! The settings of a store in Redis.

use std::time::Duration;

/// The settings of a [`RedisStore`](crate::RedisStore).
#[derive(Debug, Clone)]
pub struct RedisStoreOptions {
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
}

impl Default for RedisStoreOptions {
    fn default() -> Self {
        Self {
            prefix: "turnbuckle".to_owned(),
            connect_timeout: Duration::from_millis(900),
            response_timeout: Duration::from_millis(900),
        }
    }
}

impl RedisStoreOptions {
    /// Returns the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the beginning of the names of all keys and channels, which lets several servers share one Redis:
    /// `turnbuckle` unless set, 1 to 64 ASCII letters, digits and `-`, `_`, `.`, `:`. Instances of one
    /// server have the same.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the time within which a connection is made: 900 ms unless set.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time within which Redis answers a command: 900 ms unless set. After it the command fails,
    /// and later ones use a new connection.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }
}
