//! An open connection to a server, and who uses it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use turnbuckle_client::{Client, EraKind};
use turnbuckle_types::LoggingLevel;
use turnbuckle_types::base::text::Escaped;

/// The time in which a legacy server answers that it has another log level. The request that follows
/// does not wait longer.
const SET_LEVEL_TIMEOUT: Duration = Duration::from_secs(5);

/// An open connection to a server.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) opened: Instant,
    server: Arc<str>,
    usage: Mutex<Usage>,
}

/// The use of a connection.
struct Usage {
    /// The requests that use the connection now.
    requests: usize,
    /// The time at which the last request ended.
    last_used: Instant,
    /// The log level of the legacy session, if it was set.
    log_level: Option<LoggingLevel>,
}

impl Connection {
    pub(crate) fn new(server: Arc<str>, client: Client) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            client,
            opened: now,
            server,
            usage: Mutex::new(Usage {
                requests: 0,
                last_used: now,
                log_level: None,
            }),
        })
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request that begins to use the connection.
    pub(super) fn begin_use(&self) {
        self.usage().requests += 1;
    }

    /// Counts a request that no longer uses the connection.
    pub(super) fn end_use(&self) {
        let mut usage = self.usage();
        usage.requests = usage.requests.saturating_sub(1);
        usage.last_used = Instant::now();
    }

    /// Returns whether no request has used the connection for this time.
    pub(crate) fn is_unused_for(&self, time: Duration) -> bool {
        let usage = self.usage();
        usage.requests == 0 && usage.last_used.elapsed() >= time
    }

    /// Waits until no request has used the connection for this time.
    pub(crate) async fn wait_until_unused_for(&self, time: Duration) {
        while !self.is_unused_for(time) {
            let last_used = match self.usage() {
                usage if usage.requests > 0 => Instant::now(),
                usage => usage.last_used,
            };
            sleep_until(last_used + time).await;
        }
    }

    /// Sets the log level of the session with a legacy server that has one, unless it is set. A server
    /// that refuses is asked once for each level.
    pub(crate) async fn set_log_level(&self, level: LoggingLevel) {
        {
            let mut usage = self.usage();
            if usage.log_level == Some(level) {
                return;
            }
            let has_level = self.client.server_info().is_some_and(|info| {
                info.era() == EraKind::Legacy && info.capabilities.logging.is_some()
            });
            if !has_level {
                return;
            }
            usage.log_level = Some(level);
        }
        let request = self.client.set_log_level(level);
        if let Err(error) = request.idle_timeout(SET_LEVEL_TIMEOUT).await {
            let server = &*self.server;
            tracing::debug!(server, error = %Escaped(&error), "the log level was not set");
        }
    }

    /// Forgets the log level of a session that has ended.
    pub(crate) fn forget_log_level(&self) {
        self.usage().log_level = None;
    }

    /// Returns whether the connection is lost.
    pub(super) fn is_lost(&self) -> bool {
        is_lost(&self.client)
    }

    /// Closes the connection, in a task of its own.
    pub(super) fn close_in_background(self: Arc<Self>, until_closed: impl Send + 'static) {
        tokio::spawn(async move {
            self.client.close().await;
            drop(until_closed);
        });
    }
}

/// Returns whether the connection of a client is lost.
pub(super) fn is_lost(client: &Client) -> bool {
    let mut lost = std::pin::pin!(client.wait_for_disconnect());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    lost.as_mut().poll(&mut context).is_ready()
}
