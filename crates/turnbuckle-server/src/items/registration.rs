//! The settings that surround items when they are registered: those of the server and of the groups
//! that contain them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use turnbuckle_schema::{Profile, SchemaLimits};
use turnbuckle_session::transport::HttpNeeds;
use turnbuckle_types::Schema;

use crate::error::BuildError;
use crate::handler::concurrency_limit::ConcurrencyLimit;
use crate::handler::{ErasedHandler, HandlerKind, HandlerSettings};
use crate::items::access::AccessRules;
use crate::items::group_settings::GroupSettings;
use crate::name_rules::{check_tool_name, is_long_tool_name};
use crate::request::extract::{HandlerRequirements, States};
use crate::schema::{EnforcedSchema, SchemaCache, check_constraints};
use crate::service::LayerTarget;
use crate::service::policy::{CallPolicy, apply_layers, apply_policies, masks_errors};

/// The settings that apply to the items of a server or a group when they are registered.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    pub(crate) states: Arc<States>,
    pub(crate) schemas: SchemaOptions,
    /// Limits how many blocking handlers run at once.
    pub(crate) blocking: Arc<ConcurrencyLimit>,
    /// The parts of HTTP requests that handlers take.
    pub(crate) http_needs: Arc<SharedHttpNeeds>,
    /// The full prefix under which the items are mounted.
    pub(crate) mounted_as: MountPrefix,
    /// The compiled schemas of a provider, whose items are registered again for each request.
    pub(crate) compiled_schemas: Option<Arc<SchemaCache>>,
    /// True if the server has the extension for tasks.
    pub(crate) has_tasks: bool,
    /// The call policies, outermost first.
    policies: Vec<CallPolicy>,
    access: AccessRules,
    /// The beginning of the names of tools and prompts.
    prefix: String,
}

/// The parts of HTTP requests that the handlers of a server take. Items that are added to a running
/// server may need more.
#[derive(Debug, Default)]
pub(crate) struct SharedHttpNeeds {
    head: AtomicBool,
    extensions: AtomicBool,
}

impl SharedHttpNeeds {
    pub(crate) fn add(&self, needs: HttpNeeds) {
        self.head.fetch_or(needs.head, Ordering::Relaxed);
        self.extensions
            .fetch_or(needs.extensions, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> HttpNeeds {
        HttpNeeds {
            head: self.head.load(Ordering::Relaxed),
            extensions: self.extensions.load(Ordering::Relaxed),
        }
    }
}

/// The full prefix under which an item was mounted; `None` for items of the server itself.
pub(crate) type MountPrefix = Option<Arc<str>>;

/// Options for the schemas of Rust types and for schemas written by hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaOptions {
    /// The dialect in which clients see schemas of Rust types.
    pub(crate) profile: Profile,
    /// True if arguments that almost match are repaired.
    pub(crate) lenient: bool,
    /// The bounds of schemas written by hand.
    pub(crate) limits: SchemaLimits,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            lenient: true,
            limits: SchemaLimits::default(),
        }
    }
}

impl Registration {
    /// Creates the settings of a server on which up to `blocking` blocking handlers run at once.
    pub(crate) fn for_server(
        settings: GroupSettings,
        schemas: SchemaOptions,
        blocking: usize,
    ) -> Result<Self, BuildError> {
        let empty = Self {
            states: Arc::default(),
            schemas,
            blocking: Arc::new(ConcurrencyLimit::new(
                blocking,
                "ServerBuilder::max_blocking",
            )),
            http_needs: Arc::default(),
            mounted_as: None,
            compiled_schemas: None,
            has_tasks: false,
            policies: Vec::new(),
            access: AccessRules::default(),
            prefix: String::new(),
        };
        empty.for_group(settings, None)
    }

    /// Returns the settings for a group inside this one, with a name prefix if it is mounted.
    pub(crate) fn for_group(
        &self,
        settings: GroupSettings,
        mount: Option<&str>,
    ) -> Result<Self, BuildError> {
        if let Some(name) = settings.duplicate_state {
            return Err(BuildError::new(format!(
                "there are two states of the type {name}: give each a type of its own"
            )));
        }
        let mut inner = self.clone();
        inner.states = Arc::new(settings.states.merge_outer(&self.states));
        inner.policies.push(settings.policy);
        inner.access = settings.access.merge_outer(&self.access);
        if let Some(prefix) = mount {
            check_tool_name(prefix).map_err(|error| {
                BuildError::new(format!(
                    "{prefix:?} cannot be a mount prefix, since it is no valid tool name: {error}"
                ))
            })?;
            let full = format!("{}{prefix}", self.prefix);
            inner.prefix = format!("{full}_");
            inner.mounted_as = Some(full.into());
        }
        Ok(inner)
    }

    /// Checks that the server has the state that a handler takes, and notes whether the handler
    /// reads HTTP requests.
    pub(crate) fn check_requirements(&self, needs: &HandlerRequirements) -> Result<(), BuildError> {
        self.http_needs.add(needs.http);
        match self.states.missing(needs) {
            None => Ok(()),
            Some(name) => Err(BuildError::new(format!(
                "its handler takes State<{name}>, but the server was given no such state: add \
                 .state(…) to its builder"
            ))),
        }
    }

    /// Checks that the server has tasks if calls of a tool may become tasks.
    pub(crate) fn check_tasks(&self, needs_tasks: bool) -> Result<(), BuildError> {
        if !needs_tasks || self.has_tasks {
            return Ok(());
        }
        Err(BuildError::new(
            "its calls may become tasks, but the server has no tasks: add \
             .extension(Tasks::new()) to its builder",
        ))
    }

    /// Compiles a schema written by hand; `objects` requires values to be objects.
    ///
    /// # Errors
    /// If the schema is not valid, has a keyword that this build cannot check, or a constraint that
    /// never refuses a value. The last is accepted from a provider, whose schemas may be those of
    /// another server.
    pub(crate) fn compile_schema(
        &self,
        schema: &Schema,
        objects: bool,
    ) -> Result<EnforcedSchema, BuildError> {
        let limits = &self.schemas.limits;
        match &self.compiled_schemas {
            None => {
                let compiled = EnforcedSchema::written(schema, objects, limits)?;
                check_constraints(schema)?;
                Ok(compiled)
            }
            Some(cache) => cache.compile(schema, objects, limits),
        }
    }

    /// Returns the name of a tool or prompt without the prefix; `None` if it does not begin with the
    /// prefix.
    pub(crate) fn strip_prefix<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(self.prefix.as_str())
    }

    /// Returns the full name of a tool, with the prefix.
    pub(crate) fn tool_name(
        &self,
        name: Cow<'static, str>,
    ) -> Result<Cow<'static, str>, BuildError> {
        if self.prefix.is_empty() {
            return Ok(name);
        }
        let full = format!("{}{name}", self.prefix);
        if is_long_tool_name(&full) {
            let length = full.chars().count();
            return Err(BuildError::new(format!(
                "tool {name:?} is mounted as {full:?}, which has {length} characters; some clients \
                 refuse more than 64: choose a shorter prefix"
            )));
        }
        Ok(full.into())
    }

    /// Returns the full name of a prompt, with the prefix.
    pub(crate) fn prompt_name(&self, name: Cow<'static, str>) -> Cow<'static, str> {
        if self.prefix.is_empty() {
            name
        } else {
            format!("{}{name}", self.prefix).into()
        }
    }

    /// Returns an item's access rules, together with those of the groups around it.
    pub(crate) fn access(&self, own: AccessRules) -> AccessRules {
        own.merge_outer(&self.access)
    }

    /// Returns the settings of an item's handler.
    pub(crate) fn handler_settings(&self, asks: bool, own: &CallPolicy) -> HandlerSettings<'_> {
        HandlerSettings {
            states: &self.states,
            blocking: &self.blocking,
            asks,
            masks_errors: masks_errors(&self.policies, own),
        }
    }

    /// Returns whether errors are masked for something that has no settings of its own.
    pub(crate) fn masks_errors(&self) -> bool {
        masks_errors(&self.policies, &CallPolicy::default())
    }

    /// Wraps an item's handler in its limits, layers and timeout. `read_only` is whether the item
    /// declares that it changes nothing.
    pub(crate) fn wrap_handler<K: HandlerKind>(
        &self,
        call: Arc<dyn ErasedHandler>,
        name: &str,
        read_only: bool,
        own: &CallPolicy,
    ) -> Arc<dyn ErasedHandler> {
        apply_policies::<K>(call, name, read_only, &self.policies, own)
    }

    /// Wraps a completer of the item `name`, or a list request, in layers.
    pub(crate) fn wrap_in_layers(
        &self,
        call: Arc<dyn ErasedHandler>,
        target: LayerTarget,
        own: &CallPolicy,
    ) -> Arc<dyn ErasedHandler> {
        apply_layers(call, target, &self.policies, own)
    }

    /// Returns whether layers stand around everything in the group.
    pub(crate) fn has_layers(&self) -> bool {
        self.policies
            .iter()
            .any(|policy| !policy.layers().is_empty())
    }
}
