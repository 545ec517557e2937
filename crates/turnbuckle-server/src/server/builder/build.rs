//! Building a server: registers its items and derives its capabilities.

#[cfg(feature = "store")]
use std::sync::Weak;
use std::sync::{Arc, Mutex};

#[cfg(feature = "store")]
use turnbuckle_cluster::Cluster;
use turnbuckle_session::internal::ServerIdentity;
use turnbuckle_types::{
    CacheScope, KeyRing, ListCapability, ResourcesCapability, ServerCapabilities, Settings,
};

use super::{ServerBuilder, ServerDraft};
use crate::Server;
use crate::catalog::registry::Registry;
use crate::error::BuildError;
use crate::items::registration::Registration;
use crate::request::context::ServerSettings;
#[cfg(not(feature = "store"))]
use crate::request::input::OnceRecords;
use crate::request::input::{InputRounds, StateKeys};
use crate::server::extension::Extension;
use crate::server::extension::registry::Extensions;
use crate::server::layered_lists::LayeredLists;
#[cfg(feature = "store")]
use crate::server::shared_store::{once_records, shared_store};
use crate::server::subscription::{SubscriptionHub, SubscriptionLimits};
#[cfg(feature = "tasks")]
use crate::server::tasks::TaskHandle;
use crate::server::{OwnServer, ServerInner};

impl ServerBuilder {
    /// Builds the server.
    ///
    /// Schemas of Rust types are made later, when a tool is first listed or called, so that a
    /// server with many tools starts fast. Only builds with debug assertions make and check them
    /// here; see [`Server::check`]. In a release build, a tool with an invalid schema is left out
    /// of lists, its calls are answered with an error that gives the reason, and the reason is
    /// logged. A tool whose only fault is a pattern that cannot be compiled stays in lists.
    ///
    /// # Errors
    /// When a definition is not valid, or two of a kind have the same name.
    pub fn build(self) -> Result<Server, BuildError> {
        let server = self.assemble()?;
        if cfg!(debug_assertions) {
            server.check()?;
        }
        Ok(server)
    }

    /// Builds the server without making the schemas of its types.
    pub(crate) fn assemble(self) -> Result<Server, BuildError> {
        self.draft.assemble()
    }
}

impl ServerDraft {
    fn assemble(mut self: Box<Self>) -> Result<Server, BuildError> {
        let mut settings = std::mem::take(&mut self.group.settings);
        settings.states.insert(OwnServer::new());
        let mut registration = Registration::for_server(settings, self.schemas, self.max_blocking)?;
        registration.has_tasks = self.extensions.iter().any(Extension::is_tasks);
        let mut registry = Registry::new();
        for extension in &mut self.extensions {
            let items = extension.items.drain(..);
            self.group.groups.extend(items.map(|items| (None, items)));
        }
        registry.add_group(std::mem::take(&mut self.group), &registration)?;
        let mut extensions = Extensions::with_fallback(self.fallback.take());
        let mut capabilities = self.capabilities(&registry);
        #[cfg(feature = "tasks")]
        let task_options = self.extensions.iter().find_map(|it| it.tasks.clone());
        #[cfg(feature = "tasks")]
        if let Some(options) = &task_options {
            capabilities.tasks = Some(options.core_capability().into());
        }
        for extension in self.extensions {
            let (id, settings) = extension.register(&mut extensions)?;
            if capabilities.extensions.contains_key(&id) {
                return Err(BuildError::new(format!("there are two extensions {id:?}")));
            }
            capabilities.extensions.insert(id, settings);
        }
        for (name, settings) in self.experimental {
            if !settings.is_object() {
                return Err(BuildError::new(format!(
                    "the settings of the experimental capability {name:?} must be an object"
                )));
            }
            capabilities.experimental.insert(name, settings);
        }
        #[cfg(feature = "store")]
        if self.store.is_some() && self.keys.is_none() {
            return Err(BuildError::new(
                "the server has a store but no keys to seal what it keeps there: set \
                 ServerBuilder::keys, for example KeyRing::from_env(\"TURNBUCKLE_KEYS\")",
            ));
        }
        let has_shared_keys = self.keys.is_some();
        let keys = match self.keys {
            Some(keys) => keys,
            None => KeyRing::generate().map_err(|error| BuildError::new(error.to_string()))?,
        };
        #[cfg(feature = "store")]
        let store = self.store.map(|store| shared_store(store, &keys));
        #[cfg(feature = "store")]
        let cluster = store.clone().map(Cluster::new).transpose();
        #[cfg(feature = "store")]
        let cluster = cluster.map_err(|error| BuildError::new(error.to_string()))?;
        #[cfg(feature = "store")]
        let once = store.clone().map(once_records).unwrap_or_default();
        #[cfg(not(feature = "store"))]
        let once = OnceRecords::default();
        let settings = ServerSettings {
            max_waiting: self.max_waiting,
            masks_errors: registration.masks_errors(),
            input_rounds: InputRounds {
                keys: StateKeys::for_request_state(&keys),
                ttl_secs: self.request_state_ttl_secs,
                max: self.max_input_rounds,
                once,
            },
            result_types: std::mem::take(&mut extensions.result_types),
            states: registration.states.clone(),
        };
        let identity = ServerIdentity {
            info: self.info,
            capabilities,
            instructions: self.instructions,
            include_in_results: self.server_info_in_results,
            ttl_ms: self.discovery_cache.ttl_ms,
            public: self.discovery_cache.scope == CacheScope::Public,
        };
        #[cfg(feature = "tasks")]
        let tasks = task_options.map(|options| TaskHandle::new(options, store));
        let shared = ServerInner {
            #[cfg(feature = "tasks")]
            tasks,
            #[cfg(feature = "store")]
            cluster,
            server_info: identity.to_server_info(),
            identity,
            catalogs: registry.catalogs,
            update_lock: Mutex::default(),
            extensions,
            cursor_keys: StateKeys::for_cursors(&keys),
            keys,
            has_shared_keys,
            page_size: self.page_size,
            list_cache: self.list_cache,
            subscription_limits: SubscriptionLimits {
                per_subscriber: self.max_subscriptions,
                total: self.max_total_subscriptions,
            },
            roots_changed: self.roots_changed,
            audit: self.audit,
            redirecting_tool: self.redirecting_tool,
            subscriptions: SubscriptionHub::default(),
            on_subscription: std::sync::OnceLock::new(),
            layered_lists: LayeredLists::new(&registration),
            settings: Arc::new(settings),
            registration,
        };
        let server = Arc::new(shared);
        if let Some(own) = server.settings.states.get::<OwnServer>() {
            own.get_or_init(|| Arc::downgrade(&server));
        }
        #[cfg(feature = "tasks")]
        if let Some(tasks) = &server.tasks {
            tasks.set_settings(&server.settings);
        }
        #[cfg(feature = "store")]
        if let Some(cluster) = &server.cluster {
            let receiver: Weak<ServerInner> = Arc::downgrade(&server);
            cluster.changes().set_receiver(receiver);
        }
        Ok(Server(server))
    }

    /// Returns the capabilities to declare, from the registered items and the settings.
    fn capabilities(&self, registry: &Registry) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::new();
        let changing = || ListCapability::new().list_changed(true);
        let catalogs = &registry.catalogs;
        let providers = &catalogs.providers;
        if self.dynamic_tools || !catalogs.tools.is_empty() || !providers.tools.is_empty() {
            capabilities.tools = Some(changing());
        }
        let has_prompts = !catalogs.prompts.is_empty() || !providers.prompts.is_empty();
        if self.dynamic_prompts || has_prompts {
            capabilities.prompts = Some(changing());
        }
        let has_resources = !catalogs.resources.is_empty() || !catalogs.templates.is_empty();
        let provides = !providers.resources.is_empty();
        let can_subscribe =
            self.dynamic_resources || has_resources || (provides && !self.unsubscribable_resources);
        if can_subscribe || provides || self.unsubscribable_resources {
            let mut resources = ResourcesCapability::new().list_changed(true);
            resources.subscribe = can_subscribe.then_some(true);
            capabilities.resources = Some(resources);
        }
        if registry.completes || self.dynamic_completions {
            capabilities.completions = Some(Settings::new());
        }
        if self.logging {
            capabilities.logging = Some(Settings::new());
        }
        capabilities
    }
}
