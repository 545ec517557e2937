//! Capabilities: what each side says it can do.

use crate::meta::{MetaKeyError, check_extension_id};
use crate::object::object;
use crate::{Json, Map};

object! {
    /// A capability without settings of its own, or with settings that are not ours to read.
    pub struct Settings {}
}

object! {
    /// What a client can do for a server.
    ///
    /// Specification: basic/versioning (2026-07-28).
    pub struct ClientCapabilities {
        /// It can list roots.
        opt roots: RootsCapability = "roots",
        /// It can ask a model.
        opt sampling: SamplingCapability = "sampling",
        /// It can ask the user.
        opt elicitation: ElicitationCapability = "elicitation",
        /// Extensions by id, each with its settings.
        map extensions: Map<Json> = "extensions",
        /// Things outside the specification.
        map experimental: Map<Json> = "experimental",
    }
}

object! {
    /// The client can list roots.
    pub struct RootsCapability {
        /// It says when they change.
        opt list_changed: bool = "listChanged",
    }
}

object! {
    /// The client can ask a model.
    pub struct SamplingCapability {
        /// The model may be given tools.
        opt tools: Settings = "tools",
        /// The model may be given context of servers.
        opt context: Settings = "context",
    }
}

object! {
    /// The client can ask the user. Without either mode named, it means by form.
    pub struct ElicitationCapability {
        /// By form.
        opt form: Settings = "form",
        /// By sending the user to a URL.
        opt url: Settings = "url",
    }
}

impl ClientCapabilities {
    /// Whether roots can be listed.
    #[must_use]
    pub fn supports_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Whether a model can be asked.
    #[must_use]
    pub fn supports_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether a model can be asked and given tools.
    #[must_use]
    pub fn supports_sampling_tools(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether a model can be asked and given context of servers.
    #[must_use]
    pub fn supports_sampling_context(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.context.is_some())
    }

    /// Whether the user can be asked by form: named, or neither mode named.
    #[must_use]
    pub fn supports_elicitation_form(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Whether the user can be sent to a URL.
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

    /// What of `needed` is not declared here, down to the sub-capability; `None` if nothing is
    /// missing. Extensions count by their id; `experimental` is not compared.
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
    /// What a server can do for a client.
    ///
    /// Specification: server/discover (2026-07-28).
    pub struct ServerCapabilities {
        /// It has tools.
        opt tools: ListCapability = "tools",
        /// It has resources.
        opt resources: ResourcesCapability = "resources",
        /// It has prompts.
        opt prompts: ListCapability = "prompts",
        /// It completes arguments.
        opt completions: Settings = "completions",
        /// It sends log messages.
        opt logging: Settings = "logging",
        /// Extensions by id, each with its settings.
        map extensions: Map<Json> = "extensions",
        /// Things outside the specification.
        map experimental: Map<Json> = "experimental",
    }
}

object! {
    /// The server has a list of things.
    pub struct ListCapability {
        /// It says when the list changes.
        opt list_changed: bool = "listChanged",
    }
}

object! {
    /// The server has resources.
    pub struct ResourcesCapability {
        /// Single resources can be subscribed to.
        opt subscribe: bool = "subscribe",
        /// It says when the list changes.
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
