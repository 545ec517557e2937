//! Groups: items that share state, layers, access rules and limits; servers mounted in other
//! servers.

use turnbuckle_types::Principal;

use crate::items::IntoItem;
use crate::items::group_settings::GroupSettings;
use crate::items::prompt::Prompt;
use crate::items::provider::GroupProviders;
use crate::items::resource::Resource;
use crate::items::tool::Tool;

/// Tools, prompts, resources and nested groups that share state, layers, timeouts, limits and
/// access rules.
///
/// ```
/// use std::time::Duration;
/// use turnbuckle_server::{Group, Server, State, Tool};
///
/// let count = Tool::builder("count").handler(|words: State<Vec<String>>| words.len().to_string());
/// let group = Group::new()
///     .state(vec!["one".to_owned(), "two".to_owned()])
///     .timeout(Duration::from_secs(5))
///     .tool(count);
/// let server = Server::new("counting", "1.0.0").group(group).build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct Group {
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) providers: GroupProviders,
    /// Nested groups, each with the prefix under which it is mounted, if any.
    pub(crate) groups: Vec<(Option<String>, Group)>,
    pub(crate) settings: GroupSettings,
}

/// The setters of a group. `$set_by` names the type that has them, for error messages.
macro_rules! group_setters {
    ($set_by:literal, $this:ident => $group:expr) => {
        /// Adds a tool.
        pub fn tool(mut $this, tool: impl IntoItem<Tool>) -> Self {
            $group.tools.push(tool.into_item());
            $this
        }

        /// Adds tools; `tools![…]` of the `turnbuckle` crate lists those of functions with
        /// `#[tool]`.
        pub fn tools(
            mut $this,
            tools: impl IntoIterator<Item: IntoItem<Tool>>,
        ) -> Self {
            $group.tools.extend(tools.into_iter().map(IntoItem::into_item));
            $this
        }

        /// Adds a prompt.
        pub fn prompt(mut $this, prompt: impl IntoItem<Prompt>) -> Self {
            $group.prompts.push(prompt.into_item());
            $this
        }

        /// Adds prompts; `prompts![…]` of the `turnbuckle` crate lists those of functions with
        /// `#[prompt]`.
        pub fn prompts(
            mut $this,
            prompts: impl IntoIterator<Item: IntoItem<Prompt>>,
        ) -> Self {
            $group.prompts.extend(prompts.into_iter().map(IntoItem::into_item));
            $this
        }

        /// Adds a resource or resource template.
        pub fn resource(mut $this, resource: impl IntoItem<Resource>) -> Self {
            $group.resources.push(resource.into_item());
            $this
        }

        /// Adds resources and resource templates; `resources![…]` of the `turnbuckle` crate lists those of functions with
        /// `#[resource("…")]`.
        pub fn resources(
            mut $this,
            resources: impl IntoIterator<Item: IntoItem<Resource>>,
        ) -> Self {
            $group.resources.extend(resources.into_iter().map(IntoItem::into_item));
            $this
        }

        /// Adds a provider of tools, prompts or resources, which clients see after the registered
        /// ones; see [`Provider`](crate::Provider).
        pub fn provider<T: crate::ProvidedItem>(mut $this, provider: crate::Provider<T>) -> Self {
            <T as crate::items::provider::sealed::Sealed>::add_provider(
                provider,
                &mut $group.providers,
            );
            $this
        }

        /// Adds the items of a group, or of another server's builder with its state, layers,
        /// timeout and limits. A builder's extensions and server settings are not taken over.
        pub fn group(mut $this, group: impl IntoItem<crate::Group>) -> Self {
            $group.groups.push((None, group.into_item()));
            $this
        }

        /// Adds the items of a group, or of another server's builder, with `prefix` and an
        /// underscore before the names of tools and prompts: `github_search`. Resources keep their
        /// URIs.
        ///
        /// If a tool's name then has more than 64 characters, or a name or URI exists already,
        /// building the server returns an error.
        pub fn mount(mut $this, prefix: impl Into<String>, group: impl IntoItem<crate::Group>) -> Self {
            $group.groups.push((Some(prefix.into()), group.into_item()));
            $this
        }

        /// Adds state that handlers take as [`State<T>`](crate::State).
        ///
        /// If several groups around a handler have state of the same type, the handler gets that of
        /// the innermost.
        pub fn state<T: Send + Sync + 'static>(mut $this, state: T) -> Self {
            if !$group.settings.states.insert(state) {
                $group.settings.duplicate_state = Some(std::any::type_name::<T>());
            }
            $this
        }

        crate::service::policy::policy_setters!($set_by, $this => $group.settings.policy);
    };
}
pub(crate) use group_setters;

impl Group {
    /// Creates an empty group.
    pub fn new() -> Self {
        Self::default()
    }

    group_setters!("Group", self => self);

    /// Shows the group's items only to principals for whom `visible` returns true; for all others
    /// they do not exist.
    ///
    /// Rules of the items apply as well. `visible` must depend on the principal alone, so that the
    /// list of a principal does not change between requests.
    pub fn visible_to(
        mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.settings.access.add_visibility_rule(visible);
        self
    }

    /// Requires this OAuth scope for using the group's items, beside the scopes of each item. A
    /// principal without the scopes does not see the items in lists, unless
    /// [`list_without_scopes`](Self::list_without_scopes) is set.
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.settings.access.require_scope(scope.into());
        self
    }

    /// Lists the group's items also for principals that lack their scopes, so that their clients can
    /// ask for more.
    pub fn list_without_scopes(mut self) -> Self {
        self.settings.access.list_without_scopes();
        self
    }
}
