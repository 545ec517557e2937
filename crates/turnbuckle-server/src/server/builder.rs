//! The builder of a server: its settings and the items that it starts with.

mod build;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_schema::{Profile, SchemaLimits};
use turnbuckle_session::handler::Peer;
#[cfg(feature = "store")]
use turnbuckle_store::Store;
use turnbuckle_types::base::{debug_fields, setters};
use turnbuckle_types::{Audit, CacheScope, Icon, Implementation, Json, KeyRing};

use crate::Server;
use crate::items::IntoItem;
use crate::items::cache_hint::CacheHint;
use crate::items::group::{Group, group_setters};
use crate::items::prompt::Prompt;
use crate::items::registration::SchemaOptions;
use crate::items::resource::Resource;
use crate::items::tool::Tool;
use crate::server::RootsChangedHook;
use crate::server::extension::Extension;
use crate::server::extension::registry::FallbackHandler;

/// Builds a [`Server`].
///
/// The capabilities of a server are fixed when it is built: a server declares tools if it has a
/// tool then, or if [`dynamic_tools`](Self::dynamic_tools) was called; the same holds for prompts,
/// resources and completions.
#[must_use]
pub struct ServerBuilder {
    /// Boxed, so that passing the builder from setter to setter moves one pointer.
    pub(in crate::server) draft: Box<ServerDraft>,
}

/// The settings of a server that is being built.
pub(in crate::server) struct ServerDraft {
    info: Implementation,
    instructions: Option<String>,
    group: Group,
    schemas: SchemaOptions,
    extensions: Vec<Extension>,
    experimental: Vec<(String, Json)>,
    dynamic_tools: bool,
    dynamic_prompts: bool,
    dynamic_resources: bool,
    unsubscribable_resources: bool,
    dynamic_completions: bool,
    logging: bool,
    server_info_in_results: bool,
    page_size: NonZeroUsize,
    list_cache: CacheHint,
    discovery_cache: CacheHint,
    keys: Option<KeyRing>,
    #[cfg(feature = "store")]
    store: Option<Arc<dyn Store>>,
    request_state_ttl_secs: u64,
    max_input_rounds: usize,
    max_subscriptions: usize,
    max_total_subscriptions: usize,
    max_blocking: usize,
    max_waiting: usize,
    roots_changed: Option<RootsChangedHook>,
    audit: Option<Arc<dyn Audit>>,
    redirecting_tool: Option<Box<str>>,
    pub(in crate::server) fallback: Option<FallbackHandler>,
}

/// The default number of items on a page of a list.
const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(100).unwrap();

impl Server {
    /// Starts building a server with this name and version.
    #[expect(
        clippy::new_ret_no_self,
        reason = "a server is what its builder builds"
    )]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name, version)
    }
}

impl ServerBuilder {
    fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let draft = ServerDraft {
            info: Implementation::new(name, version),
            instructions: None,
            group: Group::new(),
            schemas: SchemaOptions::default(),
            extensions: Vec::new(),
            experimental: Vec::new(),
            dynamic_tools: false,
            dynamic_prompts: false,
            dynamic_resources: false,
            unsubscribable_resources: false,
            dynamic_completions: false,
            logging: false,
            server_info_in_results: true,
            page_size: PAGE_SIZE,
            list_cache: CacheHint::default(),
            discovery_cache: CacheHint::default(),
            keys: None,
            #[cfg(feature = "store")]
            store: None,
            request_state_ttl_secs: crate::request::input::DEFAULT_STATE_TTL_SECS,
            max_input_rounds: 16,
            max_subscriptions: 1024,
            max_total_subscriptions: 100_000,
            max_blocking: 64,
            max_waiting: 1024,
            roots_changed: None,
            audit: None,
            redirecting_tool: None,
            fallback: None,
        };
        Self {
            draft: Box::new(draft),
        }
    }

    setters! {
        /// Sets the name that clients show to people.
        title(title: impl Into<String>) { draft.info.title = Some(title.into()) }

        /// Sets a description of the server.
        description(description: impl Into<String>) {
            draft.info.description = Some(description.into())
        }

        /// Sets the URL of a page about the server.
        website(url: impl Into<String>) { draft.info.website_url = Some(url.into()) }

        /// Adds an icon.
        icon(icon: Icon) { draft.info.icons.get_or_insert_default().push(icon) }

        /// Sets instructions for a model on how to use the server.
        instructions(instructions: impl Into<String>) {
            draft.instructions = Some(instructions.into())
        }
    }

    setters! {
        /// Sets the name, the version and all further information at once.
        implementation(info: Implementation) { draft.info = info }
    }

    group_setters!("ServerBuilder", draft.group);

    setters! {
        /// Sets the form of JSON Schema in which the server sends the argument schemas of Rust types.
        ///
        /// Default: [`Profile::Portable`], which every known client and model accepts. Schemas written
        /// by hand are sent unchanged.
        schema_profile(profile: Profile) { draft.schemas.profile = profile }

        /// Sets the bounds of schemas written by hand, and of the work of validating against them.
        schema_limits(limits: SchemaLimits) { draft.schemas.limits = limits }

        /// Rejects arguments that do not match their schema exactly.
        ///
        /// By default, where the schema requires it, `"5"` is read as an integer, a string that holds
        /// JSON as an object or array, and `null` as an absent optional argument.
        strict_arguments() { draft.schemas.lenient = false }

        /// Adds a protocol extension.
        extension(extension: impl Into<Extension>) { draft.extensions.push(extension.into()) }

        /// Declares an experimental capability.
        experimental(name: impl Into<String>, settings: Json) {
            draft.experimental.push((name.into(), settings))
        }

        /// Declares the tools capability even if the server has no tool yet.
        dynamic_tools() { draft.dynamic_tools = true }

        /// Declares the prompts capability even if the server has no prompt yet.
        dynamic_prompts() { draft.dynamic_prompts = true }

        /// Declares the resources capability even if the server has no resource yet.
        dynamic_resources() { draft.dynamic_resources = true }

        /// Declares the resources capability even if the server has no resource yet, without subscriptions to
        /// single resources unless it has one.
        dynamic_unsubscribable_resources() { draft.unsubscribable_resources = true }

        /// Declares the completions capability even if no item has a completer yet.
        dynamic_completions() { draft.dynamic_completions = true }

        /// Declares the logging capability. Without it, no log message is sent to clients.
        logging() { draft.logging = true }

        /// Makes each call of `tool`, a tool of this server, a call of another one: that which the argument
        /// `name` names, with the argument `arguments`.
        ///
        /// Scopes, visibility, limits, layers, questions and the audit record are those of the tool that is
        /// called. The handler of `tool` gets only the calls that name no tool, or `tool` itself.
        redirect_calls(tool: impl Into<String>) { draft.redirecting_tool = Some(tool.into().into()) }

        /// Leaves the server's name and version out of the `_meta` of modern results.
        anonymous_results() { draft.server_info_in_results = false }

        /// Sets how many items a page of a list holds. Default: 100.
        page_size(size: NonZeroUsize) { draft.page_size = size }

        /// Sets for how long clients may cache lists, and whether caches may share them between users.
        ///
        /// `ttl` is sent in whole milliseconds. Default: not cached. Lists in which different
        /// principals see different items are never shared.
        list_cache(ttl: Duration, scope: CacheScope) {
            draft.list_cache = CacheHint::new(ttl, scope)
        }

        /// Sets for how long clients may cache the result of `server/discover`, and whether caches may
        /// share it. Default: not cached.
        discovery_cache(ttl: Duration, scope: CacheScope) {
            draft.discovery_cache = CacheHint::new(ttl, scope)
        }

        /// Sets the keys of everything that the server hands out and trusts when it comes back: the
        /// `requestState` of questions, the cursors of lists, and the nonces of DPoP.
        ///
        /// Give every instance of a server behind a load balancer the same keys. Default: a random key
        /// that lives as long as the process.
        keys(keys: KeyRing) { draft.keys = Some(keys) }
    }

    /// Sets instructions for a model, unless they were set before.
    pub fn default_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.draft
            .instructions
            .get_or_insert_with(|| instructions.into());
        self
    }

    /// Adds a protocol extension, unless one with its id was added before.
    pub fn default_extension(self, extension: impl Into<Extension>) -> Self {
        let extension = extension.into();
        let mut added = self.draft.extensions.iter();
        match added.any(|other| other.id() == extension.id()) {
            true => self,
            false => self.extension(extension),
        }
    }

    /// Sets the [`keys`](Self::keys), unless they were set before.
    pub fn default_keys(mut self, keys: KeyRing) -> Self {
        self.draft.keys.get_or_insert(keys);
        self
    }

    /// Sets the store that the instances of the server share: [`Ask::once`](crate::Ask::once) claims effects
    /// in it.
    ///
    /// The server encrypts all contents of the store under its [`keys`](Self::keys), which have to be set.
    /// Each operation ends within a second. While the store is slow or gone, requests that need it fail with an
    /// error that names it, and all others are served.
    #[cfg(feature = "store")]
    #[cfg_attr(docsrs, doc(cfg(feature = "store")))]
    pub fn store(mut self, store: impl Store) -> Self {
        self.draft.store = Some(Arc::new(store));
        self
    }

    /// Sets how long a sealed `requestState` is accepted, which is how long a client can take to
    /// answer questions.
    ///
    /// Rounded up to whole seconds. Default: ten minutes.
    pub fn request_state_ttl(mut self, ttl: Duration) -> Self {
        let partial_second = u64::from(ttl.subsec_nanos() > 0);
        self.draft.request_state_ttl_secs = ttl.as_secs().saturating_add(partial_second);
        self
    }

    setters! {
        /// Sets how many rounds of [`NeedsInput`](crate::NeedsInput) one request of a legacy client can
        /// have. Default: 16.
        ///
        /// Questions of an [`Ask`](crate::Ask) have a limit of their own (256 per request). Each round
        /// of a modern client is a request of its own and is not counted here.
        max_input_rounds(rounds: usize) { draft.max_input_rounds = rounds }

        /// Sets how many resources one subscriber can subscribe to. Default: 1,024.
        max_subscriptions(resources: usize) { draft.max_subscriptions = resources }

        /// Sets how many subscriptions to resources all subscribers can have together. One client has half of
        /// them at most: one principal, or one network address without a principal. Default: 100,000.
        max_total_subscriptions(subscriptions: usize) {
            draft.max_total_subscriptions = subscriptions
        }

        /// Sets how many blocking handlers ([`Tool::blocking`](crate::Tool::blocking) and
        /// the like) run at once. Default: 64; at least one.
        ///
        /// Up to [`max_waiting`](Self::max_waiting) further calls wait. The threads are those of the
        /// runtime's blocking pool, which may have fewer.
        max_blocking(handlers: usize) { draft.max_blocking = handlers }

        /// Sets the receiver of the records of all requests: a function of an
        /// [`AuditRecord`](turnbuckle_types::AuditRecord), or an [`Audit`].
        ///
        /// Each request is recorded once, when it ends: also one that was cancelled, or refused before
        /// its handler ran, for its scopes, its arguments, its name or a limit. Requests that the
        /// authorization in front of the server refuses are recorded by its own
        /// `ResourceServerBuilder::audit`. Default: none, at no cost.
        audit(audit: impl Audit) { draft.audit = Some(Arc::new(audit)) }

        /// Sets how many calls can wait at one limit set by `max_concurrent` or
        /// [`max_blocking`](Self::max_blocking). Further calls are refused. Default: 1,024.
        max_waiting(calls: usize) { draft.max_waiting = calls }
    }

    /// Runs `hook` when a legacy client notifies the server that its roots have changed.
    ///
    /// The hook gets the client as a [`Peer`], which can list the new roots.
    pub fn on_roots_changed<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.draft.roots_changed = Some(Arc::new(move |peer| Box::pin(hook(peer))));
        self
    }
}

debug_fields!(ServerBuilder {
    info = |builder| builder.draft.info.clone(),
    tools = |builder| builder.draft.group.tools.len(),
});

/// Returns the builder's items with their state, layers, timeout and limits, so that another server
/// can offer them. Extensions and server settings are left out.
impl IntoItem<Group> for ServerBuilder {
    fn into_item(self) -> Group {
        self.draft.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_state_ttl_rounds_up_to_whole_seconds() {
        for (lifetime, seconds) in [
            (Duration::ZERO, 0),
            (Duration::from_nanos(1), 1),
            (Duration::from_secs(1), 1),
            (Duration::from_millis(1001), 2),
            (Duration::MAX, u64::MAX),
        ] {
            let builder = Server::new("s", "1").request_state_ttl(lifetime);
            assert_eq!(
                builder.draft.request_state_ttl_secs, seconds,
                "{lifetime:?}"
            );
        }
    }
}
