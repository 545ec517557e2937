//! What a handshake left behind: handed to each request as if the request had carried it.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::Notify;
use turnbuckle_types::{ClientCapabilities, Implementation, LoggingLevel};
use turnbuckle_wire::revision::Features;

/// The state of a legacy session.
#[derive(Debug)]
pub struct LegacyState {
    features: &'static Features,
    capabilities: ClientCapabilities,
    client_info: Option<Implementation>,
    log_level: AtomicU8,
    initialized: AtomicBool,
    ready: Notify,
    /// Whether answers of the client could ever come here.
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
            reachable: true,
        }
    }

    /// The state of a client that said nothing of itself, and whose answers come to nobody.
    pub(crate) fn unreachable(features: &'static Features) -> Self {
        Self {
            reachable: false,
            ..Self::new(features, ClientCapabilities::new(), None)
        }
    }

    /// Whether the client can be asked anything.
    pub(crate) fn is_reachable(&self) -> bool {
        self.reachable
    }

    /// What the negotiated revision knows.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.features
    }

    /// What the client declared.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Who the client says it is.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.client_info.as_ref()
    }

    /// Sets from which level on the client gets log messages; `info` until it asks.
    pub fn set_log_level(&self, level: LoggingLevel) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn wants(&self, level: LoggingLevel) -> bool {
        level as u8 >= self.log_level.load(Ordering::Relaxed)
    }

    pub(crate) fn set_initialized(&self) {
        self.initialized.store(true, Ordering::Release);
        self.ready.notify_waiters();
    }

    /// Whether the client has said that the handshake is over.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Acquire)
    }

    /// Resolves once the client has said that the handshake is over.
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
