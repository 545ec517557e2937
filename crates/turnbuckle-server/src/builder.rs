//! How a server is put together.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use turnbuckle_session::{Identity, Peer};
use turnbuckle_types::{
    CacheScope, Icon, Implementation, Json, ListCapability, ResourcesCapability,
    ServerCapabilities, Settings,
};

use crate::Server;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::error::BuildError;
use crate::extension::{Extension, Extensions};
use crate::input::{Key, KeyRing, Rounds};
use crate::page::ListKind;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::server::{RootsChanged, Shared};
use crate::subscription::Hub;
use crate::tool::Tool;

/// Puts a [`Server`] together.
///
/// What a server can do is fixed when it is built: kinds that have items then, or that were asked
/// for (`dynamic_tools()` and its like).
#[must_use]
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    extensions: Vec<Extension>,
    experimental: Vec<(String, Json)>,
    dynamic_tools: bool,
    dynamic_prompts: bool,
    dynamic_resources: bool,
    dynamic_completions: bool,
    logging: bool,
    identify: bool,
    page_size: NonZeroUsize,
    list_cache: Cache,
    discovery_cache: Cache,
    keys: Option<KeyRing>,
    input_lifetime: u64,
    max_rounds: usize,
    max_subscriptions: usize,
    roots_changed: Option<RootsChanged>,
}

const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(100).unwrap();

impl Server {
    /// Begins a server of that name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name, version)
    }
}

impl ServerBuilder {
    fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            extensions: Vec::new(),
            experimental: Vec::new(),
            dynamic_tools: false,
            dynamic_prompts: false,
            dynamic_resources: false,
            dynamic_completions: false,
            logging: false,
            identify: true,
            page_size: PAGE_SIZE,
            list_cache: Cache::default(),
            discovery_cache: Cache::default(),
            keys: None,
            input_lifetime: crate::input::DEFAULT_LIFETIME,
            max_rounds: 16,
            max_subscriptions: 1024,
            roots_changed: None,
        }
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// What the server is.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Where to read about it.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// An icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.get_or_insert_default().push(icon);
        self
    }

    /// How to use the server, for a model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Offers a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Offers a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Offers a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Offers the resources of a template.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// Offers an extension.
    pub fn extension(mut self, extension: Extension) -> Self {
        self.extensions.push(extension);
        self
    }

    /// Declares an experimental capability.
    pub fn experimental(mut self, name: impl Into<String>, settings: Json) -> Self {
        self.experimental.push((name.into(), settings));
        self
    }

    /// Declares tools even though there may be none yet.
    pub fn dynamic_tools(mut self) -> Self {
        self.dynamic_tools = true;
        self
    }

    /// Declares prompts even though there may be none yet.
    pub fn dynamic_prompts(mut self) -> Self {
        self.dynamic_prompts = true;
        self
    }

    /// Declares resources even though there may be none yet.
    pub fn dynamic_resources(mut self) -> Self {
        self.dynamic_resources = true;
        self
    }

    /// Declares completions even though nothing may have any yet.
    pub fn dynamic_completions(mut self) -> Self {
        self.dynamic_completions = true;
        self
    }

    /// Declares that handlers send log messages to clients; without it none is sent.
    pub fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// Leaves out of modern results who answers.
    pub fn anonymous_results(mut self) -> Self {
        self.identify = false;
        self
    }

    /// How many items a page of a list holds. Default 100.
    pub fn page_size(mut self, size: NonZeroUsize) -> Self {
        self.page_size = size;
        self
    }

    /// For how long clients may keep lists, in milliseconds, and whether lists may be shared
    /// between users. Default: not at all. Lists of which different principals see different parts
    /// are never shared.
    pub fn list_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.list_cache = Cache { ttl_ms, scope };
        self
    }

    /// The same for what discovery says.
    pub fn discovery_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.discovery_cache = Cache { ttl_ms, scope };
        self
    }

    /// The keys under which the state of requests that ask for input is sealed: shared by all
    /// instances of a server. Default: a key of its own, for as long as it runs.
    pub fn state_keys(mut self, keys: KeyRing) -> Self {
        self.keys = Some(keys);
        self
    }

    /// How long a client may take to answer questions, in seconds. Default ten minutes.
    pub fn input_lifetime(mut self, seconds: u64) -> Self {
        self.input_lifetime = seconds;
        self
    }

    /// How many rounds of questions one request of a legacy client may have. Default 16.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// How many resources one subscriber may follow. Default 1,024.
    pub fn max_subscriptions(mut self, resources: usize) -> Self {
        self.max_subscriptions = resources;
        self
    }

    /// Runs `hook` when a legacy client says that its roots have changed: the one place outside a
    /// request where it can be asked for them.
    pub fn on_roots_changed<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.roots_changed = Some(Arc::new(move |peer| Box::pin(hook(peer))));
        self
    }

    /// The server.
    ///
    /// # Errors
    /// When a definition is not valid, or two of a kind have the same name.
    pub fn build(self) -> Result<Server, BuildError> {
        let mut extensions = Extensions::default();
        let mut capabilities = self.capabilities();
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
            tools: Catalog::new(ListKind::Tools),
            prompts: Catalog::new(ListKind::Prompts),
            resources: Catalog::new(ListKind::Resources),
            templates: Catalog::new(ListKind::ResourceTemplates),
            extensions,
            page_size: self.page_size,
            list_cache: self.list_cache,
            max_subscriptions: self.max_subscriptions,
            roots_changed: self.roots_changed,
            hub: Hub::default(),
            rounds: Rounds {
                keys,
                lifetime: self.input_lifetime,
                max: self.max_rounds,
            },
        };
        let twice =
            |kind: &str, name: &str| Err(BuildError::new(format!("there are two {kind} {name:?}")));
        for tool in self.tools {
            if let Some(before) = shared.tools.insert(tool.register()?) {
                return twice("tools", &before.definition.name);
            }
        }
        for prompt in self.prompts {
            if let Some(before) = shared.prompts.insert(prompt.register()?) {
                return twice("prompts", &before.definition.name);
            }
        }
        for resource in self.resources {
            if let Some(before) = shared.resources.insert(resource.register()?) {
                return twice("resources", &before.definition.uri);
            }
        }
        for template in self.templates {
            if let Some(before) = shared.templates.insert(template.register()?) {
                return twice("resource templates", &before.definition.uri_template);
            }
        }
        Ok(Server(Arc::new(shared)))
    }

    fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::new();
        let changing = || ListCapability::new().list_changed(true);
        if self.dynamic_tools || !self.tools.is_empty() {
            capabilities.tools = Some(changing());
        }
        if self.dynamic_prompts || !self.prompts.is_empty() {
            capabilities.prompts = Some(changing());
        }
        if self.dynamic_resources || !self.resources.is_empty() || !self.templates.is_empty() {
            let resources = ResourcesCapability::new()
                .list_changed(true)
                .subscribe(true);
            capabilities.resources = Some(resources);
        }
        let completes = self
            .prompts
            .iter()
            .any(|prompt| !prompt.completers.is_empty())
            || self
                .templates
                .iter()
                .any(|template| !template.completers.is_empty());
        if completes || self.dynamic_completions {
            capabilities.completions = Some(Settings::new());
        }
        if self.logging {
            capabilities.logging = Some(Settings::new());
        }
        capabilities
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("info", &self.info)
            .field("tools", &self.tools.len())
            .field("prompts", &self.prompts.len())
            .field("resources", &self.resources.len())
            .field("templates", &self.templates.len())
            .finish_non_exhaustive()
    }
}
