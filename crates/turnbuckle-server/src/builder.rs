//! How a server is put together.

mod build;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_schema::{Profile, SchemaLimits};
use turnbuckle_session::Peer;
use turnbuckle_types::{CacheScope, Icon, Implementation, Json};

use crate::Server;
use crate::cache::Cache;
use crate::extension::Extension;
use crate::group::{Group, group_setters};
use crate::input::KeyRing;
use crate::item::IntoItem;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::scope::Schemas;
use crate::server::RootsChanged;
use crate::tool::Tool;

/// Puts a [`Server`] together.
///
/// What a server can do is fixed when it is built: kinds that have items then, or that were asked
/// for (`dynamic_tools()` and its like).
#[must_use]
pub struct ServerBuilder {
    /// Apart, so that it is handed on cheaply from setter to setter.
    draft: Box<Draft>,
}

/// What is said of a server.
struct Draft {
    info: Implementation,
    instructions: Option<String>,
    group: Group,
    schemas: Schemas,
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
    /// In seconds.
    input_lifetime: u64,
    max_rounds: usize,
    max_subscriptions: usize,
    max_blocking: usize,
    max_waiting: usize,
    roots_changed: Option<RootsChanged>,
}

const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(100).unwrap();

impl Server {
    /// Begins a server of that name and version.
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
        let draft = Draft {
            info: Implementation::new(name, version),
            instructions: None,
            group: Group::new(),
            schemas: Schemas::default(),
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
            max_blocking: 64,
            max_waiting: 1024,
            roots_changed: None,
        };
        Self {
            draft: Box::new(draft),
        }
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.draft.info.title = Some(title.into());
        self
    }

    /// What the server is.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.draft.info.description = Some(description.into());
        self
    }

    /// Where to read about it.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.draft.info.website_url = Some(url.into());
        self
    }

    /// An icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.draft.info.icons.get_or_insert_default().push(icon);
        self
    }

    /// How to use the server, for a model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.draft.instructions = Some(instructions.into());
        self
    }

    group_setters!("ServerBuilder", self => self.draft.group);

    /// How the argument schemas that types made are told to clients. Default
    /// [`Profile::Portable`]: what every known client and model takes. Schemas that are written by
    /// hand are sent as they are.
    pub fn schema_profile(mut self, profile: Profile) -> Self {
        self.draft.schemas.profile = profile;
        self
    }

    /// The bounds of schemas that are written by hand, and of the work that values make with them.
    pub fn schema_limits(mut self, limits: SchemaLimits) -> Self {
        self.draft.schemas.limits = limits;
        self
    }

    /// Refuses arguments that do not fit their schema to the letter. By default `"5"` is taken for
    /// an integer, a string that holds JSON for an object or array, and `null` for an optional
    /// argument that is absent, each only where the schema demands it.
    pub fn strict_arguments(mut self) -> Self {
        self.draft.schemas.lenient = false;
        self
    }

    /// Offers an extension.
    pub fn extension(mut self, extension: Extension) -> Self {
        self.draft.extensions.push(extension);
        self
    }

    /// Declares an experimental capability.
    pub fn experimental(mut self, name: impl Into<String>, settings: Json) -> Self {
        self.draft.experimental.push((name.into(), settings));
        self
    }

    /// Declares tools even though there may be none yet.
    pub fn dynamic_tools(mut self) -> Self {
        self.draft.dynamic_tools = true;
        self
    }

    /// Declares prompts even though there may be none yet.
    pub fn dynamic_prompts(mut self) -> Self {
        self.draft.dynamic_prompts = true;
        self
    }

    /// Declares resources even though there may be none yet.
    pub fn dynamic_resources(mut self) -> Self {
        self.draft.dynamic_resources = true;
        self
    }

    /// Declares completions even though nothing may have any yet.
    pub fn dynamic_completions(mut self) -> Self {
        self.draft.dynamic_completions = true;
        self
    }

    /// Declares that handlers send log messages to clients; without it none is sent.
    pub fn logging(mut self) -> Self {
        self.draft.logging = true;
        self
    }

    /// Leaves out of modern results who answers.
    pub fn anonymous_results(mut self) -> Self {
        self.draft.identify = false;
        self
    }

    /// How many items a page of a list holds. Default 100.
    pub fn page_size(mut self, size: NonZeroUsize) -> Self {
        self.draft.page_size = size;
        self
    }

    /// For how long clients may keep lists, in whole milliseconds, and whether lists may be shared
    /// between users. Default: not at all. Lists of which different principals see different parts
    /// are never shared.
    pub fn list_cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.draft.list_cache = Cache::new(ttl, scope);
        self
    }

    /// The same for what discovery says.
    pub fn discovery_cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.draft.discovery_cache = Cache::new(ttl, scope);
        self
    }

    /// The keys under which the state of requests that ask for input is sealed: shared by all
    /// instances of a server. Default: a key of its own, for as long as it runs.
    pub fn state_keys(mut self, keys: KeyRing) -> Self {
        self.draft.keys = Some(keys);
        self
    }

    /// How long a client may take to answer questions, in whole seconds: a part of one counts as
    /// one. Default ten minutes.
    pub fn input_lifetime(mut self, lifetime: Duration) -> Self {
        let begun = u64::from(lifetime.subsec_nanos() > 0);
        self.draft.input_lifetime = lifetime.as_secs().saturating_add(begun);
        self
    }

    /// How many rounds of [`NeedsInput`](crate::NeedsInput) one request of a legacy client may have.
    /// Default 16. The questions of an [`Ask`](crate::Ask) count on their own, up to 256, and the
    /// rounds of a modern client are requests, each for itself.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.draft.max_rounds = rounds;
        self
    }

    /// How many resources one subscriber may follow. Default 1,024.
    pub fn max_subscriptions(mut self, resources: usize) -> Self {
        self.draft.max_subscriptions = resources;
        self
    }

    /// How many handlers that block ([`ToolBuilder::blocking`](crate::ToolBuilder::blocking) and
    /// its like) run at once. Further calls wait, up to [`max_waiting`](Self::max_waiting) of them.
    /// Default 64, and at least one; the threads are those of the runtime, which may have less.
    pub fn max_blocking(mut self, handlers: usize) -> Self {
        self.draft.max_blocking = handlers;
        self
    }

    /// How many calls may wait for one turn, where `max_concurrent` or
    /// [`max_blocking`](Self::max_blocking) let only so many run; one more is refused. Default 1,024.
    pub fn max_waiting(mut self, calls: usize) -> Self {
        self.draft.max_waiting = calls;
        self
    }

    /// Runs `hook` when a legacy client says that its roots have changed: the one place outside a
    /// request where it can be asked for them.
    pub fn on_roots_changed<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.draft.roots_changed = Some(Arc::new(move |peer| Box::pin(hook(peer))));
        self
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("info", &self.draft.info)
            .field("group", &self.draft.group)
            .finish_non_exhaustive()
    }
}

/// Its items, with its state, its layers, its deadline and its limits: to be offered by another
/// server too.
impl IntoItem<Group> for ServerBuilder {
    fn into_item(self) -> Group {
        self.draft.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_second_is_one_to_answer_in() {
        for (lifetime, seconds) in [
            (Duration::ZERO, 0),
            (Duration::from_nanos(1), 1),
            (Duration::from_secs(1), 1),
            (Duration::from_millis(1001), 2),
            (Duration::MAX, u64::MAX),
        ] {
            let builder = Server::new("s", "1").input_lifetime(lifetime);
            assert_eq!(builder.draft.input_lifetime, seconds, "{lifetime:?}");
        }
    }
}
