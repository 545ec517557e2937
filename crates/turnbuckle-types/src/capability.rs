//! Capabilities that each side declares.

use crate::meta_key::{MetaKeyError, check_extension_id};
use crate::object::object;
use crate::{Json, Map, TasksCapability};

object! {
    /// The settings of a capability that defines none, or none that are read here.
    pub struct Settings {}

    /// The capabilities of a client.
    ///
    /// Specification: basic/versioning (2026-07-28).
    pub struct ClientCapabilities {
        /// The client lists roots.
        opt roots: RootsCapability = "roots",
        /// The client asks a model.
        opt sampling: SamplingCapability = "sampling",
        /// The client asks the user.
        opt elicitation: ElicitationCapability = "elicitation",
        /// The tasks that the client runs for the server. Only the revision 2025-11-25 has this capability.
        opt tasks: Box<TasksCapability> = "tasks",
        /// Extensions by id, each with its settings.
        map extensions: Map<Json> = "extensions" is settings,
        /// Capabilities outside the specification.
        map experimental: Map<Json> = "experimental" is settings,
    }

    /// The capability of a client to list roots.
    pub struct RootsCapability {
        /// The client announces changes of its roots.
        opt list_changed: bool = "listChanged",
    }

    /// The capability of a client to ask a model.
    pub struct SamplingCapability {
        /// The model may be given tools.
        opt tools: Settings = "tools",
        /// The model may be given context of servers.
        opt context: Settings = "context",
    }

    /// The capability of a client to ask the user. Without either mode, it means by form.
    pub struct ElicitationCapability {
        /// Elicitation by form.
        opt form: Settings = "form",
        /// Elicitation by a URL that the user visits.
        opt url: Settings = "url",
    }
}

impl ClientCapabilities {
    /// Returns whether the client lists roots.
    #[must_use]
    pub fn supports_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Returns whether the client asks a model.
    #[must_use]
    pub fn supports_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// Returns whether the client asks a model that may use tools.
    #[must_use]
    pub fn supports_sampling_tools(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Returns whether the client asks a model with the context of servers.
    #[must_use]
    pub fn supports_sampling_context(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.context.is_some())
    }

    /// Returns whether the client asks the user by form: the mode is declared, or neither is.
    #[must_use]
    pub fn supports_elicitation_form(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Returns whether the client sends the user to a URL.
    #[must_use]
    pub fn supports_elicitation_url(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.url.is_some())
    }

    /// Declares an extension.
    ///
    /// # Errors
    /// If the id breaks the grammar, has no prefix or lies under a reserved one.
    pub fn extension(mut self, id: &str, settings: Json) -> Result<Self, MetaKeyError> {
        check_extension_id(id)?;
        self.extensions.insert(id, settings);
        Ok(self)
    }

    /// Returns the part of `needed` that is not declared here, down to the sub-capability; `None` if nothing is
    /// missing. Extensions count by their id; `tasks` and `experimental` are not compared.
    #[must_use]
    pub fn missing(&self, needed: &Self) -> Option<Self> {
        let mut missing = Self::new();
        if needed.roots.is_some() && !self.supports_roots() {
            missing.roots = needed.roots.clone();
        }
        if let Some(wanted) = &needed.sampling {
            let tools = wanted.tools.is_some() && !self.supports_sampling_tools();
            let context = wanted.context.is_some() && !self.supports_sampling_context();
            if !self.supports_sampling() || tools || context {
                let mut part = SamplingCapability::new();
                part.tools = wanted.tools.clone().filter(|_| tools);
                part.context = wanted.context.clone().filter(|_| context);
                missing.sampling = Some(part);
            }
        }
        if let Some(wanted) = &needed.elicitation {
            let form = needed.supports_elicitation_form() && !self.supports_elicitation_form();
            let url = needed.supports_elicitation_url() && !self.supports_elicitation_url();
            if form || url {
                let mut part = ElicitationCapability::new();
                // A client that has the other mode needs to be told which one is missing.
                let named = wanted.form.is_some() || url || self.elicitation.is_some();
                part.form = (form && named).then(|| wanted.form.clone().unwrap_or_default());
                part.url = wanted.url.clone().filter(|_| url);
                missing.elicitation = Some(part);
            }
        }
        for (id, settings) in needed.extensions.iter() {
            if !self.extensions.contains_key(id) {
                missing.extensions.insert(id, settings.clone());
            }
        }
        (missing != Self::new()).then_some(missing)
    }
}

object! {
    /// The capabilities of a server.
    ///
    /// Specification: server/discover (2026-07-28).
    pub struct ServerCapabilities {
        /// The server has tools.
        opt tools: ListCapability = "tools",
        /// The server has resources.
        opt resources: ResourcesCapability = "resources",
        /// The server has prompts.
        opt prompts: ListCapability = "prompts",
        /// The server completes arguments.
        opt completions: Settings = "completions",
        /// The server sends log messages.
        opt logging: Settings = "logging",
        /// The tasks that the server runs for the client. Only the revision 2025-11-25 has this capability.
        opt tasks: Box<TasksCapability> = "tasks",
        /// Extensions by id, each with its settings.
        map extensions: Map<Json> = "extensions" is settings,
        /// Capabilities outside the specification.
        map experimental: Map<Json> = "experimental" is settings,
    }

    /// The capability of a server with a list of tools or prompts.
    pub struct ListCapability {
        /// The server announces changes of the list.
        opt list_changed: bool = "listChanged",
    }

    /// The server has resources.
    pub struct ResourcesCapability {
        /// Single resources can be subscribed to.
        opt subscribe: bool = "subscribe",
        /// The server announces changes of the list.
        opt list_changed: bool = "listChanged",
    }
}

impl ServerCapabilities {
    /// Declares an extension.
    ///
    /// # Errors
    /// If the id breaks the grammar, has no prefix or lies under a reserved one.
    pub fn extension(mut self, id: &str, settings: Json) -> Result<Self, MetaKeyError> {
        check_extension_id(id)?;
        self.extensions.insert(id, settings);
        Ok(self)
    }
}
