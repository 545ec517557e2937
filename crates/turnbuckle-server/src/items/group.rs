//! Groups: items that share state, layers, access rules and limits; servers mounted in other
//! servers.

use turnbuckle_types::Principal;
use turnbuckle_types::base::setters;

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

/// The setters of a group. `$set_by` names the type that has them, for error messages, and `$at` the
/// field that holds the group, if it is not the type itself.
macro_rules! group_setters {
    ($set_by:literal $(, $($at:ident).+)?) => {
        setters! {
            /// Adds a tool.
            tool(tool: impl IntoItem<Tool>) {
                $($($at.)+)? tools.push(tool.into_item())
            }

            /// Adds tools; `tools![…]` of the `turnbuckle` crate lists those of functions with
            /// `#[tool]`.
            tools(tools: impl IntoIterator<Item: IntoItem<Tool>>) {
                $($($at.)+)? tools.extend(tools.into_iter().map(IntoItem::into_item))
            }

            /// Adds a prompt.
            prompt(prompt: impl IntoItem<Prompt>) {
                $($($at.)+)? prompts.push(prompt.into_item())
            }

            /// Adds prompts; `prompts![…]` of the `turnbuckle` crate lists those of functions with
            /// `#[prompt]`.
            prompts(prompts: impl IntoIterator<Item: IntoItem<Prompt>>) {
                $($($at.)+)? prompts.extend(prompts.into_iter().map(IntoItem::into_item))
            }

            /// Adds a resource or resource template.
            resource(resource: impl IntoItem<Resource>) {
                $($($at.)+)? resources.push(resource.into_item())
            }

            /// Adds resources and resource templates; `resources![…]` of the `turnbuckle` crate lists
            /// those of functions with `#[resource("…")]`.
            resources(resources: impl IntoIterator<Item: IntoItem<Resource>>) {
                $($($at.)+)? resources.extend(resources.into_iter().map(IntoItem::into_item))
            }

            /// Adds the items of a group, or of another server's builder with its state, layers,
            /// timeout and limits. A builder's extensions and server settings are not taken over.
            group(group: impl IntoItem<crate::Group>) {
                $($($at.)+)? groups.push((None, group.into_item()))
            }

            /// Adds the items of a group, or of another server's builder, with `prefix` and an
            /// underscore before the names of tools and prompts: `github_search`. Resources keep their
            /// URIs.
            ///
            /// If a tool's name then has more than 64 characters, or a name or URI exists already,
            /// building the server returns an error.
            mount(prefix: impl Into<String>, group: impl IntoItem<crate::Group>) {
                $($($at.)+)? groups.push((Some(prefix.into()), group.into_item()))
            }

            /// Leaves items that need a scope out of the lists of authenticated principals that lack
            /// it. By default they are listed, so that clients can ask for the scope when they use
            /// them.
            hide_without_scopes() { $($($at.)+)? settings.access.hide_without_scopes() }
        }

        /// Adds a provider of tools, prompts or resources, which clients see after the registered
        /// ones; see [`Provider`](crate::Provider).
        pub fn provider<T: crate::ProvidedItem>(mut self, provider: crate::Provider<T>) -> Self {
            T::add_provider(provider, &mut self.$($($at.)+)? providers);
            self
        }

        /// Adds state that handlers take as [`State<T>`](crate::State).
        ///
        /// If several groups around a handler have state of the same type, the handler gets that of
        /// the innermost.
        pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
            self.$($($at.)+)? settings.add_state(state);
            self
        }

        crate::service::policy::policy_setters!($set_by, $($($at.)+)? settings.policy);
    };
}
pub(crate) use group_setters;

impl Group {
    /// Creates an empty group.
    pub fn new() -> Self {
        Self::default()
    }

    group_setters!("Group");

    setters! {
        /// Shows the group's items only to principals for whom `visible` returns true; for all others
        /// they do not exist.
        ///
        /// Rules of the items apply as well. `visible` must depend on the principal alone, so that the
        /// list of a principal does not change between requests.
        visible_to(visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static) {
            settings.access.add_visibility_rule(visible)
        }

        /// Requires this OAuth scope for using the group's items, beside the scopes of each item. A
        /// principal without the scopes sees the items in lists, unless
        /// [`hide_without_scopes`](Self::hide_without_scopes) is set.
        scope(scope: impl Into<String>) { settings.access.require_scope(scope.into()) }
    }
}
