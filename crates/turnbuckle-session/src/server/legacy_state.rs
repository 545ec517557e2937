//! The state that a handshake of the legacy era leaves behind. Requests of the session are served
//! as if each of them had carried it.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::Notify;
use turnbuckle_types::{ClientCapabilities, Implementation, LoggingLevel};
use turnbuckle_wire::revision::Features;

use crate::server::roots_cache::RootsCache;

/// The state of a legacy session: the negotiated revision, and what the client declared.
#[derive(Debug)]
pub struct LegacyState {
    features: &'static Features,
    capabilities: ClientCapabilities,
    client_info: Option<Implementation>,
    log_level: AtomicU8,
    initialized: AtomicBool,
    ready: Notify,
    roots: RootsCache,
    /// True if the client has a session in which it could respond.
    reachable: bool,
}

impl LegacyState {
    pub(crate) fn new(
        features: &'static Features,
        capabilities: ClientCapabilities,
        client_info: Option<Implementation>,
    ) -> Self {
        Self {
            features,
            capabilities,
            client_info,
            log_level: AtomicU8::new(LoggingLevel::Info as u8),
            initialized: AtomicBool::new(false),
            ready: Notify::new(),
            roots: RootsCache::default(),
            reachable: true,
        }
    }

    /// Returns the state of a client without a session, which declared nothing and cannot respond
    /// to requests.
    pub(crate) fn without_session(features: &'static Features) -> Self {
        Self {
            reachable: false,
            ..Self::new(features, ClientCapabilities::new(), None)
        }
    }

    /// Returns whether requests can be sent to the client.
    pub(crate) fn can_be_asked(&self) -> bool {
        self.reachable
    }

    /// Returns the features of the negotiated revision.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.features
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Returns the client's description of itself.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.client_info.as_ref()
    }

    /// Returns the roots that the client sent, if it declared that it notifies of changes.
    #[must_use]
    pub fn roots_cache(&self) -> Option<&RootsCache> {
        let roots = self.capabilities.roots.as_ref()?;
        (roots.list_changed == Some(true)).then_some(&self.roots)
    }

    /// Sets the lowest level of log messages that the client gets. The default is `info`.
    pub fn set_log_level(&self, level: LoggingLevel) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    /// Returns the lowest level of log messages that the client gets.
    pub(crate) fn log_level(&self) -> LoggingLevel {
        let lowest = self.log_level.load(Ordering::Relaxed);
        let mut levels = LoggingLevel::ALL.iter().copied();
        levels
            .find(|level| *level as u8 == lowest)
            .unwrap_or(LoggingLevel::Info)
    }

    pub(crate) fn should_send_log(&self, level: LoggingLevel) -> bool {
        level as u8 >= self.log_level.load(Ordering::Relaxed)
    }

    pub(crate) fn set_initialized(&self) {
        self.initialized.store(true, Ordering::Release);
        self.ready.notify_waiters();
    }

    /// Returns whether the client has sent `notifications/initialized`.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Acquire)
    }

    /// Resolves once the client has sent `notifications/initialized`.
    pub(crate) async fn initialized(&self) {
        loop {
            let mut ready = std::pin::pin!(self.ready.notified());
            ready.as_mut().enable();
            if self.is_initialized() {
                return;
            }
            ready.await;
        }
    }
}
