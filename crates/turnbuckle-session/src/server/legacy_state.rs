//! The state that a handshake of the legacy era leaves behind. Requests of the session are served
//! as if each of them had carried it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::Notify;
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::{ClientCapabilities, Implementation, LoggingLevel};
use turnbuckle_wire::revision::Features;

use crate::server::roots_cache::RootsCache;
use crate::server::session_record::{SessionOwner, SessionRecord};
use crate::server::shared_state::SharedState;

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
    /// Set if other instances of the server serve the session too.
    shared: OnceLock<Box<SharedState>>,
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
            shared: OnceLock::new(),
        }
    }

    /// Returns the state of a session that a record describes. If `reachable` is false, its client
    /// cannot respond to requests.
    pub(crate) fn of_record(record: &SessionRecord, reachable: bool) -> Self {
        let (capabilities, info) = (record.capabilities.clone(), record.client_info.clone());
        let state = Self::new(record.revision.features(), capabilities, info);
        let state = state.with_reachable(reachable);
        state
            .log_level
            .store(record.log_level as u8, Ordering::Relaxed);
        state
            .initialized
            .store(record.initialized, Ordering::Release);
        state.take_over_change_position(record.change_position);
        state
    }

    /// Returns the record of the session, which belongs to `owner`.
    #[must_use]
    pub fn to_record(&self, owner: Option<SessionOwner>) -> SessionRecord {
        SessionRecord {
            revision: self.features.revision,
            capabilities: self.capabilities.clone(),
            client_info: self.client_info.clone(),
            log_level: self.log_level(),
            initialized: self.is_initialized(),
            owner,
            resources: self.shared.get().map_or_else(Vec::new, |shared| {
                shared.resources().iter().cloned().collect()
            }),
            change_position: self.change_position(),
            unsaved_since: None,
        }
    }

    fn shared_state(&self) -> &SharedState {
        self.shared.get_or_init(Box::default)
    }

    /// Counts changes from now on, because other instances of the server serve the session too.
    pub(crate) fn share(&self) {
        self.shared_state();
    }

    /// Returns the number of changes by the client of what other instances have to know. It is 0 unless
    /// the session is shared.
    #[must_use]
    pub fn changes(&self) -> u32 {
        self.shared.get().map_or(0, |shared| shared.changes())
    }

    /// Counts a change by the client.
    fn count_change(&self) {
        if let Some(shared) = self.shared.get() {
            shared.count_change();
        }
    }

    /// Records for other instances that the client is subscribed to a resource from now on.
    pub fn resource_subscribed(&self, uri: &str) {
        if let Some(shared) = self.shared.get() {
            shared.resource_subscribed(uri);
        }
    }

    /// Records for other instances that the client is no longer subscribed to a resource.
    pub fn resource_unsubscribed(&self, uri: &str) {
        if let Some(shared) = self.shared.get() {
            shared.resource_unsubscribed(uri);
        }
    }

    /// Returns the position in the log of changes up to which the client was told of everything, as far as
    /// this instance knows. `None` unless the session is shared.
    #[must_use]
    pub fn change_position(&self) -> Option<ChangePosition> {
        self.shared.get()?.position()
    }

    /// Sets the position up to which the client was told of everything, if the session is shared. Other
    /// instances learn it with [`count_change_position`](Self::count_change_position).
    pub fn set_change_position(&self, position: ChangePosition) {
        if let Some(shared) = self.shared.get() {
            shared.set_position(position);
        }
    }

    /// Counts the position as a change that other instances have to know, unless it is counted.
    pub fn count_change_position(&self) {
        if let Some(shared) = self.shared.get() {
            shared.count_position();
        }
    }

    /// Takes over the position that another instance recorded, unless the client reads here.
    fn take_over_change_position(&self, position: Option<ChangePosition>) {
        if let Some(position) = position {
            self.shared_state().take_over_position(position);
        }
    }

    /// Takes over what another instance recorded. Returns the resources that were added and removed.
    pub(crate) fn apply_record(&self, record: &SessionRecord) -> [Vec<Box<str>>; 2] {
        self.log_level
            .store(record.log_level as u8, Ordering::Relaxed);
        if record.initialized && !self.is_initialized() {
            self.conclude();
        }
        self.take_over_change_position(record.change_position);
        if record.resources.is_empty() && self.shared.get().is_none() {
            return Default::default();
        }
        self.shared_state().take_over_resources(&record.resources)
    }

    /// Drops the roots that the client sent, since they have changed. `by_client` says that the client
    /// told this instance.
    pub(crate) fn clear_roots(&self, by_client: bool) {
        let Some(roots) = self.roots_cache() else {
            return;
        };
        roots.clear();
        if by_client {
            self.count_change();
        }
    }

    /// Sets whether the client can respond to requests, which is the default.
    pub(crate) fn with_reachable(self, reachable: bool) -> Self {
        Self { reachable, ..self }
    }

    /// Returns the state of a client without a session, which declared nothing and cannot respond
    /// to requests.
    pub(crate) fn without_session(features: &'static Features) -> Self {
        Self::new(features, ClientCapabilities::new(), None).with_reachable(false)
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
        self.count_change();
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
        self.conclude();
        self.count_change();
    }

    fn conclude(&self) {
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
