//! What a server's builder builds.

use std::sync::{Arc, Mutex};

use turnbuckle_session::Identity;
use turnbuckle_types::{
    CacheScope, ListCapability, ResourcesCapability, ServerCapabilities, Settings,
};

use super::{Draft, ServerBuilder};
use crate::Server;
use crate::error::BuildError;
use crate::extension::Extensions;
use crate::input::{Key, KeyRing, Rounds};
use crate::registry::Registry;
use crate::scope::Scope;
use crate::server::Shared;
use crate::subscription::Hub;

impl ServerBuilder {
    /// The server.
    ///
    /// The schemas that types make are not made yet, so that a server with many tools starts at
    /// once. Only a build with debug assertions makes and checks them here; see [`Server::check`].
    /// Elsewhere the calls of a tool whose schema is none that a tool can have are answered with an
    /// error that says why, and the log tells of it; unless only a pattern in it cannot be compiled,
    /// it is not listed either.
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

    /// The server, before a schema of its types is made.
    pub(crate) fn assemble(self) -> Result<Server, BuildError> {
        self.draft.assemble()
    }
}

impl Draft {
    fn assemble(mut self: Box<Self>) -> Result<Server, BuildError> {
        let common = std::mem::take(&mut self.group.common);
        let scope = Scope::of_server(common, self.schemas, self.max_blocking)?;
        let mut registry = Registry::new();
        std::mem::take(&mut self.group).register(&scope, &mut registry)?;
        let mut extensions = Extensions::default();
        let mut capabilities = self.capabilities(&registry);
        for extension in self.extensions {
            let (id, settings) = extensions.add(extension)?;
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
        let keys = match self.keys {
            Some(keys) => keys,
            None => KeyRing::new(Key::generate().map_err(|e| BuildError::new(e.to_string()))?),
        };
        let identity = Identity {
            info: self.info,
            capabilities,
            instructions: self.instructions,
            in_every_result: self.identify,
            ttl_ms: self.discovery_cache.ttl_ms,
            public: self.discovery_cache.scope == CacheScope::Public,
        };
        let shared = Shared {
            server_info: identity.stamp(),
            identity,
            tools: registry.tools,
            prompts: registry.prompts,
            resources: registry.resources,
            templates: registry.templates,
            changing: Mutex::default(),
            extensions,
            page_size: self.page_size,
            list_cache: self.list_cache,
            max_subscriptions: self.max_subscriptions,
            max_waiting: self.max_waiting,
            roots_changed: self.roots_changed,
            hub: Hub::default(),
            scope,
            rounds: Rounds {
                keys,
                lifetime: self.input_lifetime,
                max: self.max_rounds,
            },
        };
        Ok(Server(Arc::new(shared)))
    }

    fn capabilities(&self, registry: &Registry) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::new();
        let changing = || ListCapability::new().list_changed(true);
        if self.dynamic_tools || !registry.tools.is_empty() {
            capabilities.tools = Some(changing());
        }
        if self.dynamic_prompts || !registry.prompts.is_empty() {
            capabilities.prompts = Some(changing());
        }
        let reads = !registry.resources.is_empty() || !registry.templates.is_empty();
        if self.dynamic_resources || reads {
            let resources = ResourcesCapability::new()
                .list_changed(true)
                .subscribe(true);
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
