//! Groups: items that share state, layers, rules and limits, and servers mounted in others.

use std::fmt;

use turnbuckle_types::Principal;

use crate::access::Access;
use crate::error::BuildError;
use crate::extract::States;
use crate::item::IntoItem;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::registry::Registry;
use crate::resource::Resource;
use crate::scope::Scope;
use crate::tool::Tool;

/// Tools, prompts, resources and further groups, with what holds for all of them: state, layers,
/// deadlines, limits, and who sees them.
///
/// ```
/// use std::time::Duration;
/// use turnbuckle_server::{Group, Server, State, Tool};
///
/// let count = Tool::builder("count").handler(|words: State<Vec<String>>| words.len().to_string());
/// let group = Group::new()
///     .state(vec!["one".to_owned(), "two".to_owned()])
///     .deadline(Duration::from_secs(5))
///     .tool(count);
/// let server = Server::new("counting", "1.0.0").group(group).build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct Group {
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) groups: Vec<(Option<String>, Group)>,
    pub(crate) common: Common,
}

/// What holds for everything in a group.
#[derive(Debug, Default)]
pub(crate) struct Common {
    pub(crate) states: States,
    /// A type of which there is more than one state.
    pub(crate) ambiguous: Option<&'static str>,
    pub(crate) policy: Policy,
    pub(crate) access: Access,
}

/// The setters of a group; `$set_by` names whose they are.
macro_rules! group_setters {
    ($set_by:literal, $this:ident => $group:expr) => {
        /// Offers a tool.
        pub fn tool(mut $this, tool: impl IntoItem<Tool>) -> Self {
            $group.tools.push(tool.into_item());
            $this
        }

        /// Offers a prompt.
        pub fn prompt(mut $this, prompt: impl IntoItem<Prompt>) -> Self {
            $group.prompts.push(prompt.into_item());
            $this
        }

        /// Offers a resource, or the resources of a template.
        pub fn resource(mut $this, resource: impl IntoItem<Resource>) -> Self {
            $group.resources.push(resource.into_item());
            $this
        }

        /// Offers what is in a group: also what is in another server's builder, with its state,
        /// its layers, its deadline and its limits. Its extensions and settings are not taken over.
        pub fn group(mut $this, group: impl IntoItem<crate::Group>) -> Self {
            $group.groups.push((None, group.into_item()));
            $this
        }

        /// Offers what is in a group, or in another server's builder, under names that begin with
        /// `prefix` and an underscore: `github_search`. Resources keep their URIs.
        ///
        /// A tool whose name is longer than 64 characters then, or a name or a URI that is there
        /// already, is an error when the server is built.
        pub fn mount(mut $this, prefix: impl Into<String>, group: impl IntoItem<crate::Group>) -> Self {
            $group.groups.push((Some(prefix.into()), group.into_item()));
            $this
        }

        /// Shares something with all handlers in it that take a [`State<T>`](crate::State) of its
        /// type. Where several groups around a handler have some, it gets that of the innermost.
        pub fn state<T: Send + Sync + 'static>(mut $this, state: T) -> Self {
            if !$group.common.states.insert(state) {
                $group.common.ambiguous = Some(std::any::type_name::<T>());
            }
            $this
        }

        crate::policy::policy_setters!($set_by, $this => $group.common.policy);
    };
}
pub(crate) use group_setters;

impl Group {
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    group_setters!("Group", self => self);

    /// Shows what is in it only to those principals for whom `visible` says so, and for whom each
    /// item's own rule does; to all others it does not exist. It may depend on the principal alone,
    /// so that a list is the same for as long as the principal is.
    pub fn visible_to(
        mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.common.access.show_to(visible);
        self
    }

    /// Lets only principals with this scope, and with those of each item, use what is in it. It is
    /// listed for everybody.
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.common.access.need_scope(scope.into());
        self
    }

    /// Registers what is in it. `scope` is its own already.
    pub(crate) fn register(self, scope: &Scope, registry: &mut Registry) -> Result<(), BuildError> {
        registry.reserve(self.tools.len(), self.prompts.len(), self.resources.len());
        for tool in self.tools {
            registry.add_tool(tool.register(scope)?, scope)?;
        }
        for prompt in self.prompts {
            registry.add_prompt(prompt.register(scope)?, scope)?;
        }
        for resource in self.resources {
            registry.add_resource(resource.register(scope)?, scope)?;
        }
        for (prefix, mut group) in self.groups {
            let common = std::mem::take(&mut group.common);
            group.register(&scope.inside(common, prefix.as_deref())?, registry)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("tools", &self.tools)
            .field("prompts", &self.prompts)
            .field("resources", &self.resources)
            .field("groups", &self.groups)
            .field("common", &self.common)
            .finish()
    }
}
