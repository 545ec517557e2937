//! The address of Redis, and connections to it that were checked.

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion,
    PushInfo,
};
use turnbuckle_store::{StoreError, StoreErrorKind};

use crate::error::{IS_CLUSTER, TOO_OLD, fault, to_store_error};
use crate::keys::Keys;
use crate::options::RedisStoreOptions;

/// The version of the form of what is kept. A store with a higher one was written by a newer release.
pub(crate) const FORMAT: u64 = 1;

/// The oldest major version of Redis.
const OLDEST: u64 = 7;

/// The way to one Redis.
pub(crate) struct Connector {
    client: Client,
    config: AsyncConnectionConfig,
    pub(crate) options: RedisStoreOptions,
    pub(crate) keys: Keys,
    /// The address without user and password, for errors.
    pub(crate) address: String,
}

impl Connector {
    /// Reads a URL, which may hold a password: no error repeats it.
    pub(crate) fn new(url: &str, options: RedisStoreOptions) -> Result<Self, StoreError> {
        let misconfigured = |text: &str| StoreError::new(StoreErrorKind::Misconfigured, text);
        let info = url.into_connection_info().map_err(|_| {
            misconfigured(
                "this is no URL of a Redis: write redis://user:password@host:port/database, rediss://… \
                 (with the feature tls), or unix:/path",
            )
        })?;
        if !info.addr().is_supported() {
            return Err(misconfigured(
                "rediss:// needs TLS, which this program was built without: turn on the feature tls of \
                 turnbuckle-redis",
            ));
        }
        #[cfg(feature = "tls")]
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            // The client takes the provider of the process. One that the program has installed stays.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let settings = info.redis_settings().clone();
        let database = settings.db();
        let address = match info.addr() {
            ConnectionAddr::Unix(path) => format!("{} (database {database})", path.display()),
            address => format!("{address}/{database}"),
        };
        let settings = settings
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("turnbuckle", env!("CARGO_PKG_VERSION"));
        let keys = Keys::new(options.prefix.clone(), database)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(Some(options.response_timeout));
        let client = Client::open(info.set_redis_settings(settings))
            .map_err(|error| to_store_error(&address, error))?;
        Ok(Self {
            client,
            config,
            options,
            keys,
            address,
        })
    }

    /// Connects to Redis, and checks that a store can use it. `receive` is called with messages of topics,
    /// and once the connection is lost.
    pub(crate) async fn connect(
        &self,
        receive: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, StoreError> {
        let receive = move |message| {
            receive(message);
            Ok::<(), redis::aio::SendError>(())
        };
        let config = &self.config.clone().set_push_sender(receive);
        let connect = async {
            let connection = self
                .client
                .get_multiplexed_async_connection_with_config(config);
            let mut connection = connection.await?;
            let mut checks = redis::pipe();
            checks.cmd("INFO").arg("server").cmd("INFO").arg("memory");
            checks.cmd("GET").arg(self.keys.format());
            let found: (String, String, Option<String>) =
                checks.query_async(&mut connection).await?;
            Ok((connection, found))
        };
        let connected = tokio::time::timeout(self.options.connect_timeout, connect).await;
        let Ok(connected) = connected else {
            let text = "no connection within RedisStoreOptions::connect_timeout: check the address, and \
                        that Redis runs";
            return Err(fault(StoreErrorKind::Unavailable, &self.address, text));
        };
        let (connection, found) =
            connected.map_err(|error| to_store_error(&self.address, error))?;
        self.check(&found.0, &found.1, found.2.as_deref())?;
        Ok(connection)
    }

    /// Checks the version of Redis, its part in a cluster, and the version of the format.
    fn check(&self, server: &str, memory: &str, format: Option<&str>) -> Result<(), StoreError> {
        let misconfigured = |text| fault(StoreErrorKind::Misconfigured, &self.address, text);
        let version = info(server, "redis_version");
        let major = version.and_then(|it| it.split('.').next()?.parse::<u64>().ok());
        if major.is_none_or(|major| major < OLDEST) {
            return Err(misconfigured(TOO_OLD));
        }
        if matches!(info(server, "redis_mode"), Some("cluster" | "sentinel")) {
            return Err(misconfigured(IS_CLUSTER));
        }
        if may_evict(memory) {
            tracing::warn!(
                target: "turnbuckle",
                "Redis may drop state while it is needed: set its maxmemory-policy to noeviction"
            );
        }
        match format.map(str::parse::<u64>) {
            None | Some(Ok(..=FORMAT)) => Ok(()),
            Some(Ok(version)) => {
                let text = format!(
                    "what it holds has version {version} of the format, and this release knows version \
                     {FORMAT}: use the release that wrote it, or another prefix \
                     (RedisStoreOptions::prefix)"
                );
                Err(fault(StoreErrorKind::NewerVersion, &self.address, &text))
            }
            Some(Err(_)) => {
                let text = format!(
                    "{} holds no version of a format: remove it, or choose another prefix \
                     (RedisStoreOptions::prefix)",
                    self.keys.format()
                );
                Err(fault(StoreErrorKind::Corrupt, &self.address, &text))
            }
        }
    }
}

/// Returns whether Redis makes room by removing what has not expired.
fn may_evict(memory: &str) -> bool {
    info(memory, "maxmemory").is_some_and(|it| it != "0")
        && info(memory, "maxmemory_policy").is_some_and(|it| it != "noeviction")
}

/// Returns a field of what `INFO` prints.
fn info<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the reason for which an engine is refused.
    fn refusal(server: &str, format: Option<&str>) -> Option<(StoreErrorKind, String)> {
        let options = RedisStoreOptions::default();
        let connector = Connector::new("redis://host/", options).unwrap();
        let refused = connector.check(server, "", format).err();
        refused.map(|error| (error.kind(), error.to_string()))
    }

    #[test]
    fn engines_that_a_store_cannot_use_are_refused_by_name() {
        let misconfigured = StoreErrorKind::Misconfigured;
        for (server, words) in [
            (
                "# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n",
                "too old",
            ),
            ("# Server\r\nredis_mode:standalone\r\n", "too old"),
            ("redis_version:seven\r\n", "too old"),
            ("", "too old"),
            (
                "redis_version:7.4.1\r\nredis_mode:cluster\r\n",
                "Redis Cluster",
            ),
            ("redis_version:8.0.0\r\nredis_mode:sentinel\r\n", "Sentinel"),
        ] {
            let (kind, text) = refusal(server, None).unwrap();
            assert_eq!(kind, misconfigured, "{server}");
            assert!(
                text.contains(words) && text.contains("host:6379/0"),
                "{text}"
            );
        }
        for server in [
            "redis_version:7.0.15\r\nredis_mode:standalone\r\n",
            "redis_version:8.2.0\r\n",
            "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.0\r\n",
            "redis_version:10.0.0\r\n",
        ] {
            assert_eq!(refusal(server, None), None);
            assert_eq!(refusal(server, Some("1")), None);
            let (kind, text) = refusal(server, Some("12")).unwrap();
            assert_eq!(kind, StoreErrorKind::NewerVersion);
            assert!(
                text.contains("version 12") && text.contains("version 1:"),
                "{text}"
            );
            let (kind, _) = refusal(server, Some("-1")).unwrap();
            assert_eq!(kind, StoreErrorKind::Corrupt);
        }
    }

    #[test]
    fn an_engine_that_may_drop_state_is_found() {
        let memory =
            |most, policy| format!("# Memory\r\nmaxmemory:{most}\r\nmaxmemory_policy:{policy}\r\n");
        assert!(may_evict(&memory(1000, "allkeys-lru")));
        assert!(may_evict(&memory(1000, "volatile-ttl")));
        assert!(!may_evict(&memory(0, "allkeys-lru")));
        assert!(!may_evict(&memory(1000, "noeviction")));
        assert!(!may_evict(""));
    }
}
