//! What surrounds the items of a server when they are registered: the server itself, and the groups
//! that they are in.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use turnbuckle_schema::{Profile, SchemaLimits};

use crate::access::Access;
use crate::error::BuildError;
use crate::extract::{Needs, States};
use crate::group::Common;
use crate::handler::{Callable, Kind};
use crate::name::{check_tool_name, is_long_tool_name};
use crate::policy::{Policy, guarded};
use crate::registry::Origin;
use crate::turns::Turns;

/// What is around an item.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) states: Arc<States>,
    pub(crate) schemas: Schemas,
    /// Where handlers run that block.
    pub(crate) blocking: Arc<Turns>,
    /// Whether a handler looks at HTTP requests.
    pub(crate) reads_http: Arc<AtomicBool>,
    /// Where its items come from.
    pub(crate) origin: Origin,
    /// The outermost first.
    policies: Vec<Policy>,
    access: Access,
    /// What the names of items begin with.
    prefix: String,
}

/// What is done with the schemas that types made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schemas {
    /// How they are told to clients.
    pub(crate) profile: Profile,
    /// Whether arguments that almost fit are mended.
    pub(crate) lenient: bool,
    /// The bounds of those that are written by hand.
    pub(crate) limits: SchemaLimits,
}

impl Default for Schemas {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            lenient: true,
            limits: SchemaLimits::default(),
        }
    }
}

impl Scope {
    /// What is around the items of a server, where up to `blocking` handlers block at once.
    pub(crate) fn of_server(
        common: Common,
        schemas: Schemas,
        blocking: usize,
    ) -> Result<Self, BuildError> {
        let nothing = Self {
            states: Arc::default(),
            schemas,
            blocking: Arc::new(Turns::new(blocking, "ServerBuilder::max_blocking")),
            reads_http: Arc::default(),
            origin: None,
            policies: Vec::new(),
            access: Access::default(),
            prefix: String::new(),
        };
        nothing.inside(common, None)
    }

    /// What is around the items of a group in it, mounted under a prefix or not.
    pub(crate) fn inside(&self, common: Common, mount: Option<&str>) -> Result<Self, BuildError> {
        if let Some(name) = common.ambiguous {
            return Err(BuildError::new(format!(
                "there are two states of the type {name}: give each a type of its own"
            )));
        }
        let mut inside = self.clone();
        inside.states = Arc::new(common.states.inside(&self.states));
        inside.policies.push(common.policy);
        inside.access = common.access.inside(&self.access);
        if let Some(prefix) = mount {
            check_tool_name(prefix).map_err(|error| {
                BuildError::new(format!(
                    "nothing can be mounted as {prefix:?}, which tools could not be named: {error}"
                ))
            })?;
            let full = format!("{}{prefix}", self.prefix);
            inside.prefix = format!("{full}_");
            inside.origin = Some(full.into());
        }
        Ok(inside)
    }

    /// Whether everything is there that a handler needs.
    pub(crate) fn provide(&self, needs: &Needs) -> Result<(), BuildError> {
        if needs.http {
            self.reads_http.store(true, Ordering::Relaxed);
        }
        match self.states.missing(needs) {
            None => Ok(()),
            Some(name) => Err(BuildError::new(format!(
                "its handler takes State<{name}>, but the server was given no such state: add \
                 .state(…) to its builder"
            ))),
        }
    }

    /// What a tool is named here.
    pub(crate) fn name_of_tool(
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
                "tool {name:?} is named {full:?} where it is mounted: {length} characters, and \
                 some clients refuse more than 64; choose a shorter prefix"
            )));
        }
        Ok(full.into())
    }

    /// What a prompt is named here.
    pub(crate) fn name_of(&self, name: Cow<'static, str>) -> Cow<'static, str> {
        match self.prefix.is_empty() {
            true => name,
            false => format!("{}{name}", self.prefix).into(),
        }
    }

    /// Who may see and use an item here.
    pub(crate) fn access(&self, own: Access) -> Access {
        own.inside(&self.access)
    }

    /// What is called when an item is.
    pub(crate) fn guard<K: Kind>(
        &self,
        call: Arc<dyn Callable>,
        name: &str,
        own: &Policy,
    ) -> Arc<dyn Callable> {
        guarded::<K>(call, name, &self.policies, own)
    }
}
